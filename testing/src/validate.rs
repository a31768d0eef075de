//! Checks the schedules of all ranks together: delivery of every byte, and freedom from deadlock.
//!
//! [`run`] executes the schedules without payload under **zero buffering**: every send, whatever its mode, finishes only
//! together with its matching receive. An operation that can finish stays able to finish when others do. So one order of
//! execution stands for all: if it stops before the end, every order does, and the schedules can deadlock.
//!
//! A rank that has started all it can **blocks** on the operation that [`Progress::awaited`] names, as the executor does, and
//! starts nothing before that operation has finished.
//!
//! Bytes are tracked as fragments (origin rank, offset), through staging buffers too, so exactly-once delivery is checked for
//! every byte.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use tributary::Rank;
use tributary::schedule::progress::Progress;
use tributary::schedule::{Action, Buffer, OpId, Schedule, Span};

/// Bytes that the schedules must move from one rank's send buffer to another rank's receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The rank that sends the bytes.
    pub from: Rank,
    /// Offset of the first byte in the [`Buffer::Send`] of rank `from`.
    pub from_offset: u64,
    /// The rank that receives the bytes.
    pub to: Rank,
    /// Offset of the first byte in the [`Buffer::Receive`] of rank `to`.
    pub to_offset: u64,
    /// Number of bytes.
    pub len: u64,
}

/// Counts of messages and waits in the execution of all schedules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Number of messages that all ranks sent, without copies.
    pub messages: u64,
    /// Maximum number of sends that any rank had outstanding.
    pub peak_sends: u32,
    /// Maximum number of receives that any rank had outstanding.
    pub peak_receives: u32,
    /// Number of times that a rank blocked on one operation.
    pub blocked: u64,
    /// Number of times that a rank had to poll all its operations instead.
    pub polled: u64,
}

/// A fault in schedules: the reason why they are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// No operation can start or finish, but some are unfinished.
    #[error("deadlock without buffering: rank {rank} has {unfinished} unfinished operations, the first: {first}")]
    Deadlock {
        /// Lowest rank that cannot go on.
        rank: Rank,
        /// Number of unfinished operations of this rank.
        unfinished: usize,
        /// First of these operations, as text.
        first: String,
    },
    /// A message is longer or shorter than the receive that it matches.
    #[error("rank {to} receives {expected} bytes from rank {from}, which sends {sent}")]
    Size {
        /// Rank that sends the message.
        from: Rank,
        /// Rank that receives the message.
        to: Rank,
        /// Number of bytes sent.
        sent: u64,
        /// Number of bytes that the receive expects.
        expected: u64,
    },
    /// A byte of a buffer was written twice.
    #[error("rank {rank}: byte {offset} of {buffer:?} is delivered twice")]
    Twice {
        /// Rank that owns the buffer.
        rank: Rank,
        /// Buffer of this rank.
        buffer: Buffer,
        /// Offset of the byte in the buffer.
        offset: u64,
    },
    /// An operation reads bytes that no operation has written.
    #[error("rank {rank} reads byte {offset} of {buffer:?} before it is there")]
    Unwritten {
        /// Rank that owns the buffer.
        rank: Rank,
        /// Buffer of this rank.
        buffer: Buffer,
        /// Offset of the byte in the buffer.
        offset: u64,
    },
    /// This delivery did not happen, or other bytes arrived.
    #[error("not delivered as wanted: {0:?}")]
    Missing(Delivery),
    /// More bytes were delivered to a rank than the deliveries say.
    #[error("rank {rank} received {received} bytes, {wanted} were wanted")]
    Surplus {
        /// Rank that received too many bytes.
        rank: Rank,
        /// Number of bytes that were written to the rank's receive buffer.
        received: u64,
        /// Number of bytes that the rank should have received.
        wanted: u64,
    },
}

/// Bytes of the send buffer of rank `origin`: `len` bytes at `offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fragment {
    origin: Rank,
    offset: u64,
    len: u64,
}

#[derive(Default)]
struct RankState {
    /// Fragments that were written to every buffer but `Send`, by offset in the buffer.
    memory: HashMap<Buffer, BTreeMap<u64, Fragment>>,
    sends: u32,
    receives: u32,
    /// Sends and receives that are started and not finished.
    in_flight: BTreeSet<OpId>,
    /// Operation that the rank is blocked on, if any.
    blocked_on: Option<OpId>,
}

/// Sends (or receives) that are started and not matched, by sender, receiver and stage.
type UnmatchedOps = HashMap<(Rank, Rank, u8), VecDeque<OpId>>;

/// Executes the schedules of ranks 0, 1, ... and checks them: exactly the deliveries `wanted` happen, each byte once,
/// and the schedules end even if no message is buffered. The caller compares the maximum numbers of outstanding
/// messages in the result with its throttle. O(operations log operations).
///
/// # Errors
/// The first [`Violation`].
pub fn run(schedules: Vec<Schedule>, wanted: &[Delivery]) -> Result<Evidence, Violation> {
    run_blocking(schedules, wanted, await_one)
}

fn await_one(progress: &Progress, in_flight: &BTreeSet<OpId>) -> Option<OpId> {
    progress.awaited(in_flight.iter().copied())
}

/// Chooses the operation that a rank blocks on, among those in flight.
pub type Awaited = fn(&Progress, &BTreeSet<OpId>) -> Option<OpId>;

/// Does what [`run`] does, with another choice of the operations on which ranks block.
///
/// # Errors
/// The first [`Violation`].
pub fn run_blocking(schedules: Vec<Schedule>, wanted: &[Delivery], awaited: Awaited) -> Result<Evidence, Violation> {
    let mut execution = Execution {
        states: schedules.iter().map(|_| RankState::default()).collect(),
        progress: schedules.into_iter().map(Progress::new).collect(),
        sends: UnmatchedOps::new(),
        receives: UnmatchedOps::new(),
        active: VecDeque::new(),
        evidence: Evidence::default(),
    };
    execution.active.extend(0..execution.progress.len());
    while let Some(rank) = execution.active.pop_front() {
        if execution.is_blocked(rank) {
            continue;
        }
        while let Some(id) = execution.progress[rank].next_ready() {
            execution.start(rank, id)?;
        }
        execution.block(rank, awaited);
    }
    execution.finished()?;
    execution.delivered(wanted)?;
    Ok(execution.evidence)
}

struct Execution {
    progress: Vec<Progress>,
    states: Vec<RankState>,
    sends: UnmatchedOps,
    receives: UnmatchedOps,
    /// Ranks that may have an operation to start.
    active: VecDeque<Rank>,
    evidence: Evidence,
}

impl Execution {
    fn is_blocked(&self, rank: Rank) -> bool {
        let RankState { blocked_on, in_flight, .. } = &self.states[rank];
        blocked_on.is_some_and(|id| in_flight.contains(&id))
    }

    /// Blocks `rank`, which has nothing ready, on the operation that `awaited` names.
    fn block(&mut self, rank: Rank, awaited: Awaited) {
        let in_flight = &self.states[rank].in_flight;
        if in_flight.is_empty() {
            return;
        }
        let blocked_on = awaited(&self.progress[rank], in_flight);
        let count = if blocked_on.is_some() { &mut self.evidence.blocked } else { &mut self.evidence.polled };
        *count += 1;
        self.states[rank].blocked_on = blocked_on;
    }

    fn start(&mut self, rank: Rank, id: OpId) -> Result<(), Violation> {
        let op = self.progress[rank].schedule().ops()[id as usize];
        match op.action {
            Action::Send { to, .. } => {
                self.states[rank].in_flight.insert(id);
                let peak = &mut self.states[rank].sends;
                *peak += 1;
                self.evidence.peak_sends = self.evidence.peak_sends.max(*peak);
                self.sends.entry((rank, to, op.stage)).or_default().push_back(id);
                self.match_message(rank, to, op.stage)
            }
            Action::Receive { from } => {
                self.states[rank].in_flight.insert(id);
                let peak = &mut self.states[rank].receives;
                *peak += 1;
                self.evidence.peak_receives = self.evidence.peak_receives.max(*peak);
                self.receives.entry((from, rank, op.stage)).or_default().push_back(id);
                self.match_message(from, rank, op.stage)
            }
            Action::Copy { from } => {
                let fragments = self.read(rank, from)?;
                self.write(rank, op.span, fragments)?;
                self.progress[rank].finish(id);
                Ok(())
            }
            // A reduction changes values in place: no fragment moves.
            Action::Reduce { .. } | Action::Join => {
                self.progress[rank].finish(id);
                Ok(())
            }
        }
    }

    /// Delivers the oldest message from `from` to `to` if both have started it.
    fn match_message(&mut self, from: Rank, to: Rank, stage: u8) -> Result<(), Violation> {
        let key = (from, to, stage);
        let (Some(sends), Some(receives)) = (self.sends.get_mut(&key), self.receives.get_mut(&key)) else {
            return Ok(());
        };
        if sends.is_empty() || receives.is_empty() {
            return Ok(());
        }
        let (Some(send), Some(receive)) = (sends.pop_front(), receives.pop_front()) else { return Ok(()) };
        let source = self.progress[from].schedule().ops()[send as usize].span;
        let target = self.progress[to].schedule().ops()[receive as usize].span;
        if source.len != target.len {
            return Err(Violation::Size { from, to, sent: source.len, expected: target.len });
        }
        let fragments = self.read(from, source)?;
        self.write(to, target, fragments)?;
        self.evidence.messages += 1;
        self.states[from].sends -= 1;
        self.states[to].receives -= 1;
        self.states[from].in_flight.remove(&send);
        self.states[to].in_flight.remove(&receive);
        self.progress[from].finish(send);
        self.progress[to].finish(receive);
        self.active.extend([from, to]);
        Ok(())
    }

    fn read(&self, rank: Rank, span: Span) -> Result<Vec<Fragment>, Violation> {
        if span.buffer == Buffer::Send || span.len == 0 {
            return Ok(vec![Fragment { origin: rank, offset: span.offset, len: span.len }]);
        }
        let (mut at, end) = (span.offset, span.offset + span.len);
        let mut found = Vec::new();
        let memory = self.states[rank].memory.get(&span.buffer);
        while at < end {
            let hit = memory.and_then(|m| m.range(..=at).next_back()).filter(|(start, f)| *start + f.len > at);
            let Some((&start, fragment)) = hit else {
                return Err(Violation::Unwritten { rank, buffer: span.buffer, offset: at });
            };
            let skip = at - start;
            let len = (fragment.len - skip).min(end - at);
            found.push(Fragment { origin: fragment.origin, offset: fragment.offset + skip, len });
            at += len;
        }
        Ok(found)
    }

    fn write(&mut self, rank: Rank, span: Span, fragments: Vec<Fragment>) -> Result<(), Violation> {
        let memory = self.states[rank].memory.entry(span.buffer).or_default();
        let mut at = span.offset;
        for fragment in fragments.into_iter().filter(|f| f.len > 0) {
            let end = at + fragment.len;
            if let Some((&start, other)) = memory.range(..end).next_back()
                && start + other.len > at
            {
                return Err(Violation::Twice { rank, buffer: span.buffer, offset: start.max(at) });
            }
            memory.insert(at, fragment);
            at = end;
        }
        Ok(())
    }

    fn finished(&self) -> Result<(), Violation> {
        let Some((rank, stuck)) = self.progress.iter().enumerate().find(|(_, p)| !p.is_done()) else {
            return Ok(());
        };
        let waits = |queue: &UnmatchedOps, side: fn(&(Rank, Rank, u8)) -> Rank| {
            queue.iter().find(|(key, ops)| side(key) == rank && !ops.is_empty()).map(|(key, _)| *key)
        };
        let first = match (waits(&self.sends, |k| k.0), waits(&self.receives, |k| k.1)) {
            (Some((_, to, _)), _) => format!("send to rank {to}"),
            (_, Some((from, _, _))) => format!("receive from rank {from}"),
            _ => "not started".to_string(),
        };
        Err(Violation::Deadlock { rank, unfinished: stuck.unfinished(), first })
    }

    fn delivered(&self, wanted: &[Delivery]) -> Result<(), Violation> {
        let mut expected = vec![0; self.states.len()];
        for delivery in wanted {
            expected[delivery.to] += delivery.len;
            let span = Span::new(Buffer::Receive, delivery.to_offset, delivery.len);
            let fragments = self.read(delivery.to, span).map_err(|_| Violation::Missing(*delivery))?;
            let mut at = delivery.from_offset;
            for fragment in fragments {
                if fragment.origin != delivery.from || fragment.offset != at {
                    return Err(Violation::Missing(*delivery));
                }
                at += fragment.len;
            }
        }
        for (rank, (state, wanted)) in self.states.iter().zip(expected).enumerate() {
            let received = state.memory.get(&Buffer::Receive).map_or(0, |m| m.values().map(|f| f.len).sum());
            if received != wanted {
                return Err(Violation::Surplus { rank, received, wanted });
            }
        }
        Ok(())
    }
}
