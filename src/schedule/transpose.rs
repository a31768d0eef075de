//! Transposes a schedule: sends become receives, receives become sends, and the order is reversed.
//!
//! A collective read is a collective write with the roles reversed. If the schedules of all ranks move bytes from A to B,
//! their transposes move them from B to A, through the same staging buffers. **Why the transposes are free of deadlock if the
//! originals are**: all ranks chain their messages in one order ([`super::Builder::chain`]). The transposes use the reverse
//! of this order, which is also the same on all ranks. Throttles stay: a reversed batch is a batch, and a sliding limit keeps
//! its number.

use super::{Action, Buffer, Op, OpId, Schedule, SendMode, Span};

impl Schedule {
    /// Returns the transposed schedule, whose sends have the mode `mode`. [`Buffer::Send`] and [`Buffer::Receive`]
    /// change places, staging buffers keep their names. `None` if the schedule has a reduction, which cannot be
    /// reversed. O(operations + dependencies).
    pub fn transposed(&self, mode: SendMode) -> Option<Self> {
        let last = self.ops.len().checked_sub(1).map_or(0, |last| last as OpId);
        let mut waiting: Vec<Vec<OpId>> = vec![Vec::new(); self.ops.len()];
        for id in 0..self.ops.len() as OpId {
            self.dependencies(id).iter().for_each(|&before| waiting[before as usize].push(last - id));
        }
        let mut backwards = Self { sliding_limits: self.sliding_limits.clone(), ..Self::default() };
        for (op, mut before) in self.ops.iter().zip(waiting).rev() {
            let (action, span) = match op.action {
                Action::Send { to, .. } => (Action::Receive { from: to }, renamed(op.span)),
                Action::Receive { from } => (Action::Send { to: from, mode }, renamed(op.span)),
                Action::Copy { from } => (Action::Copy { from: renamed(op.span) }, renamed(from)),
                Action::Join => (Action::Join, op.span),
                Action::Reduce { .. } => return None,
            };
            let from = backwards.after.len() as u32;
            before.sort_unstable();
            backwards.after.extend(before);
            let after = (from, backwards.after.len() as u32);
            backwards.ops.push(Op { action, span, after, ..*op });
        }
        Some(backwards)
    }
}

fn renamed(span: Span) -> Span {
    let buffer = match span.buffer {
        Buffer::Send => Buffer::Receive,
        Buffer::Receive => Buffer::Send,
        stage => stage,
    };
    Span { buffer, ..span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Builder, ReduceOp, Throttle};

    fn span(buffer: Buffer, offset: u64) -> Span {
        Span::new(buffer, offset, 4)
    }

    #[test]
    fn the_transpose_of_the_transpose_is_the_schedule() {
        let mut builder = Builder::default();
        let stage = Buffer::Stage(0);
        let first = builder.receive(1, span(stage, 0), &[]);
        let joined = builder.join(&[first]);
        let copied = builder.copy(span(stage, 0), span(Buffer::Stage(1), 8), &[joined]);
        let sends: Vec<_> = (0..5)
            .map(|to| (Action::Send { to, mode: SendMode::Synchronous }, span(Buffer::Send, to as u64 * 4)))
            .collect();
        builder.chain(&sends, Throttle::sliding(2), &[copied]);
        builder.chain(&sends, Throttle::batch(2), &[]);
        let schedule = builder.finish();
        let backwards = schedule.transposed(SendMode::Standard).unwrap();
        assert_ne!(backwards, schedule);
        assert_eq!(backwards.sends(), 1);
        assert_eq!(backwards.transposed(SendMode::Synchronous).unwrap(), schedule);
    }

    #[test]
    fn a_transpose_as_text() {
        let mut builder = Builder::default();
        let first = builder.receive(1, span(Buffer::Stage(0), 0), &[]);
        let copied = builder.copy(span(Buffer::Stage(0), 0), span(Buffer::Stage(1), 8), &[first]);
        builder.send(2, SendMode::Standard, span(Buffer::Stage(1), 8), &[copied]);
        builder.copy(span(Buffer::Send, 0), span(Buffer::Receive, 12), &[]);
        let backwards = builder.finish().transposed(SendMode::Synchronous).unwrap();
        let expected = "0: copy receive[0..4] = send[12..16]\n\
                        1: recv stage(1)[8..12] <- 2\n\
                        2: copy stage(0)[0..4] = stage(1)[8..12] after [1]\n\
                        3: ssend stage(0)[0..4] -> 1 after [2]\n";
        assert_eq!(backwards.dump(), expected);
    }

    #[test]
    fn a_reduction_has_no_transpose() {
        let mut builder = Builder::default();
        let reduce = Action::Reduce { from: span(Buffer::Stage(0), 0), with: ReduceOp::Sum };
        builder.op(reduce, span(Buffer::Receive, 0), &[]);
        assert_eq!(builder.finish().transposed(SendMode::Standard), None);
        assert_eq!(Schedule::default().transposed(SendMode::Standard), Some(Schedule::default()));
    }
}
