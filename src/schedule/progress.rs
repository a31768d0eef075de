//! Finds out which operations of a schedule may start now. Every executor, the validators and the simulator use this.

use std::collections::{BTreeMap, VecDeque};

use super::{Action, OpId, Schedule};

/// The state of a schedule in execution. O(operations + dependencies) to set up, O(1) amortised per operation.
#[derive(Debug)]
pub struct Progress {
    schedule: Schedule,
    /// Number of unfinished dependencies of every operation, indexed by operation.
    missing: Vec<u32>,
    /// Index ranges into `waiting`: the operations that depend on operation i are `waiting[heads[i]..heads[i + 1]]`.
    heads: Vec<u32>,
    waiting: Vec<OpId>,
    sliding: Vec<SlidingState>,
    ready: VecDeque<OpId>,
    unfinished: usize,
}

#[derive(Debug, Default)]
struct SlidingState {
    members: Vec<OpId>,
    /// Index in `members` of the next operation to start.
    next: usize,
    in_flight: u32,
}

impl Progress {
    /// Creates the state of a schedule of which nothing has started.
    pub fn new(schedule: Schedule) -> Self {
        let count = schedule.ops.len();
        let missing: Vec<u32> = schedule.ops.iter().map(|op| op.after.1 - op.after.0).collect();
        let mut heads = vec![0u32; count + 1];
        schedule.after.iter().for_each(|&before| heads[before as usize + 1] += 1);
        for i in 0..count {
            heads[i + 1] += heads[i];
        }
        let mut waiting = vec![0; schedule.after.len()];
        let mut fill = heads.clone();
        let mut sliding: Vec<SlidingState> = schedule.sliding_limits.iter().map(|_| SlidingState::default()).collect();
        for (id, op) in schedule.ops.iter().enumerate() {
            for &before in schedule.dependencies(id as OpId) {
                waiting[fill[before as usize] as usize] = id as OpId;
                fill[before as usize] += 1;
            }
            if let Some(limit_index) = op.sliding_limit {
                sliding[limit_index as usize].members.push(id as OpId);
            }
        }
        let mut all = Self { schedule, missing, heads, waiting, sliding, ready: VecDeque::new(), unfinished: count };
        (0..count as OpId).filter(|&id| all.missing[id as usize] == 0).collect::<Vec<_>>().into_iter().for_each(|id| {
            all.released(id);
        });
        all
    }

    /// Returns the schedule that is executed.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the next operation to start; `None` if none may start now. Joins are finished here and never returned.
    /// The caller calls [`Progress::finish`] when the operation has finished.
    pub fn next_ready(&mut self) -> Option<OpId> {
        while let Some(id) = self.ready.pop_front() {
            if self.schedule.ops[id as usize].action != Action::Join {
                return Some(id);
            }
            self.finish(id);
        }
        None
    }

    /// Records that operation `id`, which [`Progress::next_ready`] returned, has finished.
    pub fn finish(&mut self, id: OpId) {
        self.unfinished -= 1;
        for at in self.heads[id as usize]..self.heads[id as usize + 1] {
            let waiter = self.waiting[at as usize];
            self.missing[waiter as usize] -= 1;
            if self.missing[waiter as usize] == 0 {
                self.released(waiter);
            }
        }
        if let Some(limit_index) = self.schedule.ops[id as usize].sliding_limit {
            self.sliding[limit_index as usize].in_flight -= 1;
            self.admit(limit_index);
        }
    }

    /// Returns true if all operations are finished.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// Returns the number of operations that are not finished.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Returns the operation on which a rank may block (MPI_Wait): no message can start before this operation has
    /// finished, whatever other operations finish. Returns the earliest, if there are several. Returns `None` if the
    /// end of any of several operations may start a message: the rank must then poll all of them. `in_flight` are the
    /// operations that are started and not finished, ascending; no operation may be ready. O(1) if everything is
    /// started, else O(`in_flight` + operations that depend on them).
    ///
    /// **Why a rank that blocks on this operation cannot deadlock**: every message that the rank could start starts
    /// as early as if the rank had polled.
    pub fn awaited(
        &self,
        mut in_flight: impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator + Clone,
    ) -> Option<OpId> {
        if self.unfinished == in_flight.len() {
            return in_flight.next();
        }
        let mut ends = LookAhead::new(self);
        // In reverse order, so that this finds the first operation of a batch: the next batch waits for all of the batch.
        let last = in_flight.clone().rev().find(|&id| ends.start_a_message(id));
        let candidate = last.or_else(|| in_flight.clone().next())?;
        let mut ends = LookAhead::new(self);
        let mut others = in_flight.filter(|&id| id != candidate);
        (!others.any(|id| ends.start_a_message(id))).then_some(candidate)
    }

    /// Makes `id` ready, now that all its dependencies are finished; a sliding limit may still hold it back.
    fn released(&mut self, id: OpId) {
        match self.schedule.ops[id as usize].sliding_limit {
            Some(limit_index) => self.admit(limit_index),
            None => self.ready.push_back(id),
        }
    }

    /// Makes operations under a sliding limit ready, in order, up to the limit.
    fn admit(&mut self, limit_index: u16) {
        let limit = self.schedule.sliding_limits[limit_index as usize];
        let state = &mut self.sliding[limit_index as usize];
        while state.in_flight < limit
            && let Some(&next) = state.members.get(state.next)
            && self.missing[next as usize] == 0
        {
            state.next += 1;
            state.in_flight += 1;
            self.ready.push_back(next);
        }
    }
}

/// Computes which operations would start if others finished.
struct LookAhead<'a> {
    progress: &'a Progress,
    /// Number of unfinished dependencies, for operations that would have fewer than they have now.
    missing: BTreeMap<OpId, u32>,
}

impl<'a> LookAhead<'a> {
    fn new(progress: &'a Progress) -> Self {
        Self { progress, missing: BTreeMap::new() }
    }

    /// Returns true if a message might start if operation `id` finished too. Under a sliding limit, any operation's
    /// end may start the next.
    fn start_a_message(&mut self, id: OpId) -> bool {
        let Self { progress, missing } = self;
        let mut ended = vec![id];
        while let Some(id) = ended.pop() {
            let sliding =
                progress.schedule.ops[id as usize].sliding_limit.map(|index| &progress.sliding[index as usize]);
            if sliding.is_some_and(|state| state.next < state.members.len()) {
                return true;
            }
            for at in progress.heads[id as usize]..progress.heads[id as usize + 1] {
                let waiter = progress.waiting[at as usize];
                let missing = missing.entry(waiter).or_insert(progress.missing[waiter as usize]);
                *missing -= 1;
                match progress.schedule.ops[waiter as usize].action {
                    _ if *missing > 0 => {}
                    Action::Send { .. } | Action::Receive { .. } => return true,
                    Action::Copy { .. } | Action::Reduce { .. } | Action::Join => ended.push(waiter),
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Buffer, Builder, SendMode, Span, Throttle};

    fn drain(progress: &mut Progress) -> Vec<OpId> {
        std::iter::from_fn(|| progress.next_ready()).collect()
    }

    fn chain(throttle: Throttle) -> Progress {
        let mut builder = Builder::default();
        let ops: Vec<_> =
            (0..5).map(|from| (Action::Receive { from }, Span::new(Buffer::Receive, from as u64, 1))).collect();
        builder.chain(&ops, throttle, &[]);
        Progress::new(builder.finish())
    }

    #[test]
    fn the_next_batch_waits_for_the_whole_batch() {
        let mut progress = chain(Throttle::batch(2));
        assert_eq!(drain(&mut progress), [0, 1]);
        progress.finish(1);
        assert!(drain(&mut progress).is_empty());
        progress.finish(0);
        assert_eq!(drain(&mut progress), [3, 4]);
    }

    #[test]
    fn a_sliding_limit_moves_with_any_end() {
        let mut progress = chain(Throttle::sliding(2));
        assert_eq!(drain(&mut progress), [0, 1]);
        progress.finish(1);
        assert_eq!(drain(&mut progress), [2]);
        progress.finish(0);
        progress.finish(2);
        assert_eq!(drain(&mut progress), [3, 4]);
        progress.finish(3);
        assert!(!progress.is_done());
        progress.finish(4);
        assert!(progress.is_done());
    }

    #[test]
    fn no_throttle_starts_all() {
        assert_eq!(drain(&mut chain(Throttle::NONE)).len(), 5);
    }

    /// Starts everything that is ready and returns the operation to block on.
    fn awaited(progress: &mut Progress) -> Option<OpId> {
        let in_flight = drain(progress);
        progress.awaited(in_flight.into_iter())
    }

    #[test]
    fn the_first_of_a_batch_and_nothing_of_a_sliding_limit_is_awaited() {
        assert_eq!(awaited(&mut chain(Throttle::NONE)), Some(0));
        let mut batch = chain(Throttle::batch(2));
        assert_eq!(awaited(&mut batch), Some(0));
        batch.finish(0);
        assert_eq!(batch.awaited([1].into_iter()), Some(1));
        let mut sliding = chain(Throttle::sliding(2));
        assert_eq!(awaited(&mut sliding), None);
        sliding.finish(0);
        assert_eq!(drain(&mut sliding), [2]);
        sliding.finish(2);
        assert_eq!(drain(&mut sliding), [3]);
        sliding.finish(1);
        assert_eq!(drain(&mut sliding), [4]);
        assert_eq!(sliding.awaited([3, 4].into_iter()), Some(3), "all are started");
        assert_eq!(awaited(&mut chain(Throttle::sliding(1))), Some(0));
    }

    #[test]
    fn the_chain_with_further_messages_is_awaited() {
        let span = Span::new(Buffer::Receive, 0, 0);
        let receives: Vec<_> = (0..4).map(|from| (Action::Receive { from }, span)).collect();
        let sends: Vec<_> = (0..4).map(|to| (Action::Send { to, mode: SendMode::Standard }, span)).collect();
        for (receiving, sending, expected) in [(2, 2, None), (4, 2, Some(4)), (2, 4, Some(0)), (4, 4, Some(0))] {
            let mut builder = Builder::default();
            builder.chain(&receives, Throttle::batch(receiving), &[]);
            builder.chain(&sends, Throttle::batch(sending), &[]);
            let mut progress = Progress::new(builder.finish());
            let first_send = receives.len() as OpId + u32::from(receiving < 4) * 2;
            let expected = expected.map(|id| if id == 4 { first_send } else { id });
            assert_eq!(awaited(&mut progress), expected, "batches of {receiving} and {sending}");
        }
    }

    #[test]
    fn messages_after_copies_and_joins_count() {
        let span = Span::new(Buffer::Receive, 0, 0);
        let mut builder = Builder::default();
        let members: Vec<_> = (0..3).map(|from| builder.receive(from, span, &[])).collect();
        let other = builder.receive(7, span, &[]);
        let copies: Vec<_> = members.iter().map(|&member| builder.copy(span, span, &[member])).collect();
        let merged = builder.join(&copies);
        builder.send(9, SendMode::Standard, span, &[merged]);
        let mut progress = Progress::new(builder.finish());
        assert_eq!(drain(&mut progress), [0, 1, 2, 3]);
        assert_eq!(progress.awaited([0, 1, 2, other].into_iter()), Some(0));
        progress.finish(0);
        assert_eq!(drain(&mut progress), [4]);
        progress.finish(4);
        assert_eq!(progress.awaited([1, 2, other].into_iter()), Some(1));
    }
}
