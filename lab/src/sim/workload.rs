//! The input of the simulator: schedules, made rank by rank when they are needed.

use std::sync::Mutex;

use super::storage::Step;
use tributary::schedule::{Action, Buffer, Builder, Schedule, SendMode, Span, Throttle};
use tributary::topology::Rank;

/// The work of all ranks, in parts. A rank begins its next part when it has finished the one before.
pub trait Workload {
    /// Part number `part` of `rank`; `None` after its last. Called once for each part, in order.
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart>;

    /// Message number `index` of one side of a part that is [`WorkPart::Chains`]. The default suits work without such parts:
    /// nobody asks for it.
    fn message(&self, rank: Rank, _part: u32, _side: ChainSide, _index: u32) -> ChainMessage {
        ChainMessage { peer: rank, bytes: 0, mode: SendMode::Standard }
    }

    /// The phase that a part belongs to, below [`super::phases::PHASES`]; `None` counts no phases.
    fn phase(&self, _part: u32) -> Option<usize> {
        None
    }
}

/// One part of a rank's work.
#[derive(Debug)]
pub enum WorkPart {
    /// Any schedule. Its memory is held while the rank runs it.
    Schedule(Schedule),
    /// The schedule [`Chains::schedule`] without its memory: messages are asked for when they are due.
    Chains(Chains),
    /// No messages.
    Step(Step),
}

/// A copy, a chain of receives and a chain of sends, as [`tributary::schedule::Builder::chain`] makes them of flat exchange
/// kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chains {
    /// Bytes that the rank has for itself.
    pub own: Option<u64>,
    /// Number of receives.
    pub receives: u32,
    /// Number of sends.
    pub sends: u32,
    /// The throttle of both.
    pub throttle: Throttle,
}

impl Chains {
    /// The schedule that this part of `rank` stands for. O(messages).
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

/// Which of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainSide {
    /// The sends.
    Send,
    /// The receives.
    Receive,
}

/// A message of a chain, as its rank sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainMessage {
    /// The other side.
    pub peer: Rank,
    /// Its size.
    pub bytes: u64,
    /// When its send is finished.
    pub mode: SendMode,
}

/// One schedule a rank, given as they are.
#[derive(Debug)]
pub struct Schedules(Vec<Mutex<Option<Schedule>>>);

impl Schedules {
    /// The schedules of ranks 0, 1, ...
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
