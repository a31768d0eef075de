//! State of a rank's program in the simulation; chooses the rank's next operation.

use smallvec::SmallVec;

use super::Time;
use super::host::Spent;
use super::message::Message;
use super::posted::PostedOperations;
use super::storage::Step;
use super::workload::{ChainMessage, ChainSide, Chains, WorkPart, Workload};
use tributary::schedule::{Action, OpId, Progress, SendMode, ThrottleMode};
use tributary::topology::Rank;

/// Index of an operation in the current part of a rank.
pub(super) type Handle = u32;
/// Handle of the copy of [`Chains`].
const OWN: Handle = Handle::MAX - 1;
/// Handle of a [`Step`].
const STEP: Handle = 0;

/// Work that an operation does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Send {
        to: Rank,
        mode: SendMode,
        bytes: u64,
        stage: u32,
    },
    Receive {
        from: Rank,
        stage: u32,
    },
    /// Copy or reduction in memory.
    Memory {
        bytes: u64,
    },
    /// Step that [`RankProgram::step`] returns.
    Step,
}

/// Part of its workload that a rank runs now.
#[derive(Debug)]
pub(super) enum RankProgram {
    /// The rank has no further part.
    Over,
    Chains(RunningChains),
    Schedule(Box<RunningSchedule>),
    Step(Box<RunningStep>),
    /// The rank runs elsewhere, and posts its operations one by one.
    Posted(Box<PostedOperations>),
}

/// Step in execution: the step, whether it has been started, and whether it is done.
#[derive(Debug)]
pub(super) struct RunningStep {
    step: Step,
    started: bool,
    done: bool,
}

impl RankProgram {
    pub(super) fn of(part: WorkPart, now: Time, posted: Time) -> Self {
        match part {
            WorkPart::Chains(chains) => Self::Chains(RunningChains::new(&chains)),
            WorkPart::Schedule(schedule) => {
                let inner = schedule.ops().iter().filter(|op| op.stage > 0 && op.action != Action::Join).count();
                let progress = Progress::new(schedule);
                Self::Schedule(Box::new(RunningSchedule { progress, inner, began: now, posted }))
            }
            WorkPart::Step(step) => Self::Step(Box::new(RunningStep { step, started: false, done: false })),
        }
    }

    /// Returns the step that the rank runs now, if its part is a step.
    pub(super) fn step(&self) -> Option<&Step> {
        match self {
            Self::Step(running) => Some(&running.step),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Handle> {
        match self {
            Self::Over => None,
            Self::Chains(chains) => chains.next(),
            Self::Schedule(running) => running.progress.next_ready(),
            Self::Step(running) => (!std::mem::replace(&mut running.started, true)).then_some(STEP),
            Self::Posted(posted) => posted.next(),
        }
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Over | Self::Posted(_) => false,
            Self::Chains(chains) => chains.unfinished == 0,
            Self::Schedule(running) => running.progress.is_done(),
            Self::Step(running) => running.done,
        }
    }

    /// Finishes an operation at `now`. If that ends the gather inside the node, returns the gather's time without the
    /// time `spent` on posting.
    #[inline]
    pub(super) fn finish(&mut self, handle: Handle, now: Time, spent: &Spent) -> Option<Time> {
        match self {
            Self::Over => None,
            Self::Chains(chains) => {
                chains.finish(handle);
                None
            }
            Self::Schedule(running) => running.finish(handle, now, spent.posting()),
            Self::Step(running) => {
                running.done = true;
                None
            }
            Self::Posted(posted) => {
                posted.finish(handle, now);
                None
            }
        }
    }

    /// Notes which message is for a receive, if that is not clear from the program.
    #[inline]
    pub(super) fn matched(&mut self, receive: Handle, message: &Message) {
        if let Self::Posted(posted) = self {
            posted.matched(receive, message);
        }
    }

    /// Returns the number of sends that must finish before the rank can continue; `None` if any one may suffice.
    #[inline]
    pub(super) fn sends_awaited(&self) -> Option<u32> {
        match self {
            Self::Chains(chains) if !chains.window => Some(chains.chains[1].in_flight),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn work<W: Workload>(&self, workload: &W, rank: Rank, part: u32, handle: Handle) -> Work {
        match self {
            Self::Over => Work::Memory { bytes: 0 },
            Self::Step(_) => Work::Step,
            Self::Chains(chains) if handle == OWN => Work::Memory { bytes: chains.own },
            Self::Chains(_) if handle.is_multiple_of(2) => {
                let ChainMessage { peer, .. } = workload.message(rank, part, ChainSide::Receive, handle / 2);
                Work::Receive { from: peer, stage: 0 }
            }
            Self::Chains(_) => {
                let ChainMessage { peer, bytes, mode } = workload.message(rank, part, ChainSide::Send, handle / 2);
                Work::Send { to: peer, mode, bytes, stage: 0 }
            }
            Self::Schedule(running) => running.work(handle),
            Self::Posted(posted) => posted.work(handle),
        }
    }
}

/// Schedule in execution, with the remaining operations inside the node.
#[derive(Debug)]
pub(super) struct RunningSchedule {
    progress: Progress,
    /// Number of unfinished operations of stages above 0: the gather inside the node.
    inner: usize,
    began: Time,
    posted: Time,
}

impl RunningSchedule {
    fn finish(&mut self, handle: OpId, now: Time, posted: Time) -> Option<Time> {
        let op = self.progress.schedule().ops()[handle as usize];
        self.progress.finish(handle);
        if op.stage == 0 {
            return None;
        }
        self.inner -= 1;
        (self.inner == 0).then(|| (now - self.began).saturating_sub(posted - self.posted))
    }

    fn work(&self, handle: OpId) -> Work {
        let op = &self.progress.schedule().ops()[handle as usize];
        let (bytes, stage) = (op.span.len, u32::from(op.stage));
        match op.action {
            Action::Send { to, mode } => Work::Send { to, mode, bytes, stage },
            Action::Receive { from } => Work::Receive { from, stage },
            Action::Copy { .. } | Action::Reduce { .. } => Work::Memory { bytes },
            Action::Join => Work::Memory { bytes: 0 },
        }
    }
}

/// [`Chains`] in execution. It starts operations in the order of [`Progress`], in a few words of memory.
#[derive(Debug)]
pub(super) struct RunningChains {
    /// Chain of receives, then chain of sends.
    chains: [Chain; 2],
    /// Run of operations that may start, encoded as 2 x length + chain.
    run: u32,
    /// Runs that may start after `run`.
    more: SmallVec<[u32; 4]>,
    unfinished: u32,
    limit: u32,
    window: bool,
    has_own: bool,
    own: u64,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    len: u32,
    /// Number of operations started.
    started: u32,
    /// Number of operations that may start or have started.
    released: u32,
    in_flight: u32,
}

impl RunningChains {
    fn new(part: &Chains) -> Self {
        let chain = |len| Chain { len, started: 0, released: 0, in_flight: 0 };
        let mut running = Self {
            chains: [chain(part.receives), chain(part.sends)],
            run: 0,
            more: SmallVec::new(),
            unfinished: part.receives + part.sends + u32::from(part.own.is_some()),
            limit: part.throttle.limit.unwrap_or(u32::MAX),
            window: part.throttle.mode == ThrottleMode::Sliding,
            has_own: part.own.is_some(),
            own: part.own.unwrap_or(0),
        };
        let limit = running.limit;
        (0..2).for_each(|side| running.release(side, limit));
        running
    }

    /// Allows up to `count` more operations of a chain to start.
    fn release(&mut self, side: usize, count: u32) {
        let chain = &mut self.chains[side];
        let count = count.min(chain.len - chain.released);
        if count == 0 {
            return;
        }
        chain.released += count;
        chain.in_flight += count;
        let run = 2 * count + side as u32;
        if self.run < 2 {
            self.run = run;
            return;
        }
        let last = self.more.last_mut().unwrap_or(&mut self.run);
        match *last as usize % 2 == side {
            true => *last += 2 * count,
            false => self.more.push(run),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Handle> {
        if std::mem::take(&mut self.has_own) {
            return Some(OWN);
        }
        if self.run < 2 {
            return None;
        }
        let side = self.run % 2;
        self.run -= 2;
        if self.run < 2 && !self.more.is_empty() {
            self.run = self.more.remove(0);
        }
        let chain = &mut self.chains[side as usize];
        chain.started += 1;
        Some(2 * (chain.started - 1) + side)
    }

    #[inline]
    fn finish(&mut self, handle: Handle) {
        self.unfinished -= 1;
        if handle == OWN {
            return;
        }
        let side = handle as usize % 2;
        self.chains[side].in_flight -= 1;
        if self.window {
            self.release(side, 1);
        } else if self.chains[side].in_flight == 0 {
            self.release(side, self.limit);
        }
    }
}
