//! Which operations may start now: the bookkeeping that every executor, the validators and the simulator share.

use std::collections::VecDeque;

use super::ir::{Action, OpId, Schedule};

/// A schedule in execution. O(operations + dependencies) to set up, O(1) amortised per operation.
#[derive(Debug)]
pub struct Progress {
    schedule: Schedule,
    /// Unfinished dependencies of every operation.
    missing: Vec<u32>,
    /// Who waits for operation i: `waiting[heads[i]..heads[i + 1]]`.
    heads: Vec<u32>,
    waiting: Vec<OpId>,
    windows: Vec<WindowState>,
    ready: VecDeque<OpId>,
    unfinished: usize,
}

#[derive(Debug, Default)]
struct WindowState {
    members: Vec<OpId>,
    /// Index in `members` of the next to start.
    next: usize,
    in_flight: u32,
}

impl Progress {
    /// Nothing started yet.
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
        let mut windows: Vec<WindowState> = schedule.windows.iter().map(|_| WindowState::default()).collect();
        for (id, op) in schedule.ops.iter().enumerate() {
            for &before in schedule.dependencies(id as OpId) {
                waiting[fill[before as usize] as usize] = id as OpId;
                fill[before as usize] += 1;
            }
            if let Some(window) = op.window {
                windows[window as usize].members.push(id as OpId);
            }
        }
        let mut all = Self { schedule, missing, heads, waiting, windows, ready: VecDeque::new(), unfinished: count };
        (0..count as OpId).filter(|&id| all.missing[id as usize] == 0).collect::<Vec<_>>().into_iter().for_each(|id| {
            all.released(id);
        });
        all
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The next operation to start, joins excepted (they are done here). The caller reports it with
    /// [`Progress::finish`] when it is finished.
    pub fn next_ready(&mut self) -> Option<OpId> {
        while let Some(id) = self.ready.pop_front() {
            if self.schedule.ops[id as usize].action != Action::Join {
                return Some(id);
            }
            self.finish(id);
        }
        None
    }

    /// Operation `id`, handed out before, is finished.
    pub fn finish(&mut self, id: OpId) {
        self.unfinished -= 1;
        for at in self.heads[id as usize]..self.heads[id as usize + 1] {
            let waiter = self.waiting[at as usize];
            self.missing[waiter as usize] -= 1;
            if self.missing[waiter as usize] == 0 {
                self.released(waiter);
            }
        }
        if let Some(window) = self.schedule.ops[id as usize].window {
            self.windows[window as usize].in_flight -= 1;
            self.admit(window);
        }
    }

    /// Whether everything is finished.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// How many operations are not finished.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// All that `id` depends on is finished.
    fn released(&mut self, id: OpId) {
        match self.schedule.ops[id as usize].window {
            Some(window) => self.admit(window),
            None => self.ready.push_back(id),
        }
    }

    /// Starts members of a window, in order, while it has room.
    fn admit(&mut self, window: u16) {
        let limit = self.schedule.windows[window as usize];
        let state = &mut self.windows[window as usize];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Buffer, Builder, Span, Throttle};

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
    fn a_batch_waits_for_all_of_it() {
        let mut progress = chain(Throttle::batch(2));
        assert_eq!(drain(&mut progress), [0, 1]);
        progress.finish(1);
        assert!(drain(&mut progress).is_empty());
        progress.finish(0);
        assert_eq!(drain(&mut progress), [3, 4]);
    }

    #[test]
    fn a_window_moves_with_any() {
        let mut progress = chain(Throttle::window(2));
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
}
