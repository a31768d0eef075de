//! Input of the simulator: the work of every rank, made when it is needed.

use std::sync::Mutex;

use super::storage::Step;
use tributary::schedule::{Action, Buffer, Builder, Schedule, SendMode, Span, Throttle};
use tributary::topology::Rank;

/// Work of all ranks, in parts. A rank begins its next part when it has finished the one before.
pub trait Workload {
    /// Returns part number `part` of `rank`; `None` after the last. Called once for each part, in order.
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart>;

    /// Returns message number `index` of one side of a part that is [`WorkPart::Chains`]. The default is for workloads
    /// without such parts and is never called.
    fn message(&self, rank: Rank, _part: u32, _side: ChainSide, _index: u32) -> ChainMessage {
        ChainMessage { peer: rank, bytes: 0, mode: SendMode::Standard }
    }

    /// Returns the phase that a part belongs to, below [`super::phases::PHASES`]; `None` counts no phases.
    fn phase(&self, _part: u32) -> Option<usize> {
        None
    }
}

/// Part of a rank's work.
#[derive(Debug)]
pub enum WorkPart {
    /// Any schedule. Its memory is held while the rank runs it.
    Schedule(Schedule),
    /// The schedule [`Chains::schedule`] without its memory: the simulator asks for each message when it is due.
    Chains(Chains),
    /// Work without messages.
    Step(Step),
}

/// Copy, chain of receives and chain of sends, as [`tributary::schedule::Builder::chain`] makes them for flat exchange
/// kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chains {
    /// Number of bytes that the rank sends to itself by a copy.
    pub own: Option<u64>,
    /// Number of receives.
    pub receives: u32,
    /// Number of sends.
    pub sends: u32,
    /// Throttle of both chains.
    pub throttle: Throttle,
}

impl Chains {
    /// Returns the schedule that this part of `rank` stands for. O(messages).
    pub fn schedule<W: Workload>(&self, workload: &W, rank: Rank, part: u32) -> Schedule {
        let span = |bytes| Span::new(Buffer::Send, 0, bytes);
        let mut builder = Builder::default();
        if let Some(bytes) = self.own {
            builder.copy(span(bytes), span(bytes), &[]);
        }
        let chain = |side, count| -> Vec<(Action, Span)> {
            let message = |index| {
                let ChainMessage { peer, bytes, mode } = workload.message(rank, part, side, index);
                match side {
                    ChainSide::Send => (Action::Send { to: peer, mode }, span(bytes)),
                    ChainSide::Receive => (Action::Receive { from: peer }, span(bytes)),
                }
            };
            (0..count).map(message).collect()
        };
        builder.chain(&chain(ChainSide::Receive, self.receives), self.throttle, &[]);
        builder.chain(&chain(ChainSide::Send, self.sends), self.throttle, &[]);
        builder.finish()
    }
}

/// Side of a part with two chains: sends or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainSide {
    /// Chain of sends.
    Send,
    /// Chain of receives.
    Receive,
}

/// Message of a chain, as the rank that owns the chain sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainMessage {
    /// Rank at the other end of the message.
    pub peer: Rank,
    /// Number of bytes of the message.
    pub bytes: u64,
    /// Mode of the send, which says when the send is finished.
    pub mode: SendMode,
}

/// Workload of one schedule a rank.
#[derive(Debug)]
pub struct Schedules(Vec<Mutex<Option<Schedule>>>);

impl Schedules {
    /// Creates a workload from the schedules of ranks 0, 1, ...
    pub fn new(schedules: Vec<Schedule>) -> Self {
        Self(schedules.into_iter().map(|schedule| Mutex::new(Some(schedule))).collect())
    }
}

impl Workload for Schedules {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        let schedule = if part == 0 { self.0.get(rank)?.lock().ok()?.take() } else { None };
        schedule.map(WorkPart::Schedule)
    }
}
