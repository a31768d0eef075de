//! Algorithms that work on one message in place, among any ranks: broadcast, reduce, allreduce.
//!
//! A [`Part`] is a collective among the members of a group, as a step of a larger one: reduce + broadcast, a hierarchy, the
//! engine's agreement. An algorithm appends its operations for a part to a builder.
//!
//! **Why parts can follow one another.** When `before` is finished, the message lies in [`Part::message`] on every member that
//! has one. When the returned operations are finished, the result is there, scratch space (`Stage(1)`) is free, and all
//! receives of the part are finished; the message may be overwritten, or only read if the operation is a broadcast. Sends that
//! are not among the returned operations were ready no later than these. So the messages of two parts between the same two
//! ranks match in order without stages of their own.

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::group::Group;
use crate::schedule::{Action, Buffer, Builder, OpId, ReduceOp, Schedule, Span};
use crate::topology::Rank;

/// The partial result of a reduction on ranks that do not keep it.
const FORWARDED: Buffer = Buffer::Stage(0);
/// The space for lanes received from partners.
const SCRATCH: Buffer = Buffer::Stage(1);

/// How the 8-byte lanes of a message are combined.
#[derive(Debug, Clone, Copy)]
pub enum Lanes<'a> {
    /// One operation for all lanes.
    All(ReduceOp),
    /// One operation for each lane.
    Each(&'a [ReduceOp]),
}

/// One collective among the members of a group. All fields but the group's own number and `message` are equal on all members.
pub struct Part<'a> {
    /// The members.
    pub group: Group,
    /// The member that has the message before a broadcast, or after a reduction.
    pub root: usize,
    /// The place of the message on this rank.
    pub message: Span,
    /// How a reduction combines lanes.
    pub lanes: Lanes<'a>,
    /// Bytes of a segment, for algorithms that cut messages; above 0, a multiple of 8.
    pub segment: u64,
}

/// Adds this rank's operations of a part, which start after the given ones. Returns the operations that must finish before the
/// next part.
pub type Append = fn(&Part<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// The time of an algorithm in the model, for a number of ranks, bytes of the message, and segments.
pub type Time = fn(&Rates, f64, f64, f64) -> f64;

/// An algorithm in place.
#[derive(Debug)]
pub struct InPlace {
    /// The registry's row.
    pub algorithm: Algorithm,
    /// Adds the operations among the members of a group.
    pub append: Append,
    /// The time in the model of the source.
    pub time: Time,
}

impl InPlace {
    /// One rank's schedule among all ranks: a copy from [`Buffer::Send`], then the algorithm.
    pub fn schedule(&self, problem: &Problem<'_>) -> Schedule {
        schedule(self.algorithm.operation, problem, self.append)
    }
}

/// One rank's schedule among all ranks, with the operations that `append` adds.
pub fn schedule(
    operation: Operation,
    problem: &Problem<'_>,
    append: impl Fn(&Part<'_>, &mut Builder, &[OpId]) -> Vec<OpId>,
) -> Schedule {
    let is_root = problem.rank == problem.root;
    let keeps = operation != Operation::Reduce || is_root;
    let gives = operation != Operation::Broadcast || is_root;
    let part = Part {
        group: Group::world(problem.rank, problem.ranks()),
        root: problem.root,
        message: problem.message(if keeps { Buffer::Receive } else { FORWARDED }),
        lanes: Lanes::All(problem.with),
        segment: problem.segment,
    };
    let mut builder = Builder::default();
    let mut before = Vec::new();
    if gives && part.message.len > 0 {
        before.push(builder.copy(problem.message(Buffer::Send), part.message, &[]));
    }
    append(&part, &mut builder, &before);
    builder.finish()
}

impl<'a> Part<'a> {
    /// The part among all ranks, on the first `len` bytes of [`Buffer::Receive`], in one segment.
    pub fn of_all(rank: Rank, ranks: usize, root: Rank, len: u64, lanes: Lanes<'a>) -> Self {
        let message = Span::new(Buffer::Receive, 0, len);
        Self { group: Group::world(rank, ranks), root, message, lanes, segment: u64::MAX }
    }
}

impl Part<'_> {
    /// The group with the root as member 0.
    pub fn rooted(&self) -> Group {
        self.group.rotated(self.root)
    }

    /// The same message among the members of another group.
    pub fn among(&self, group: Group, root: usize) -> Part<'_> {
        Part { group, root, message: self.message, lanes: self.lanes, segment: self.segment }
    }

    /// `len` bytes of the message.
    pub fn portion(&self, offset: u64, len: u64) -> Span {
        Span::new(self.message.buffer, self.message.offset + offset, len)
    }

    /// `len` bytes of scratch space.
    pub fn scratch(&self, offset: u64, len: u64) -> Span {
        Span::new(SCRATCH, offset, len)
    }

    /// The message in segments of [`Part::segment`] bytes; the last may be shorter.
    pub fn segments(&self) -> Vec<Span> {
        segments(self.message, self.segment)
    }

    /// Combines `from` into `into`; both stand for the bytes of the message from `at` on. Adds nothing for an empty span.
    pub fn combine(&self, builder: &mut Builder, at: u64, from: Span, into: Span, after: &[OpId]) -> Option<OpId> {
        let mut add = |offset: u64, len: u64, with: ReduceOp| {
            let cut = |span: Span| Span::new(span.buffer, span.offset + offset, len);
            builder.op(Action::Reduce { from: cut(from), with }, cut(into), after)
        };
        match self.lanes {
            _ if into.len == 0 => None,
            Lanes::All(with) => Some(add(0, into.len, with)),
            Lanes::Each(ops) => {
                let ops = &ops[at as usize / 8..(at + into.len) as usize / 8];
                let mut offset = 0;
                let mut ids = Vec::new();
                for same in ops.chunk_by(|a, b| a == b) {
                    let len = same.len() as u64 * 8;
                    ids.push(add(offset, len, same[0]));
                    offset += len;
                }
                joined(builder, &ids)
            }
        }
    }

    /// Receives `portion` of the message from member `from` into scratch space at `place`, after `free`, and combines it with
    /// this rank's, after `still` too. Adds nothing for an empty span.
    pub fn receive_and_combine(
        &self,
        builder: &mut Builder,
        group: &Group,
        from: usize,
        (portion, place): (Span, u64),
        (free, still): (&[OpId], &[OpId]),
    ) -> Option<OpId> {
        let scratch = self.scratch(place, portion.len);
        let arrived = group.receive(builder, from, scratch, free)?;
        let after: Vec<_> = still.iter().copied().chain([arrived]).collect();
        self.combine(builder, portion.offset - self.message.offset, scratch, portion, &after)
    }
}

/// `span` in segments of `len` bytes; the last may be shorter.
pub fn segments(span: Span, len: u64) -> Vec<Span> {
    let count = span.len.div_ceil(len);
    let cut = |index| Span::new(span.buffer, span.offset + index * len, len.min(span.len - index * len));
    (0..count).map(cut).collect()
}

/// One operation that is finished when all of `ids` are; `None` if there are none.
pub fn joined(builder: &mut Builder, ids: &[OpId]) -> Option<OpId> {
    match ids {
        [] => None,
        [id] => Some(*id),
        _ => Some(builder.join(ids)),
    }
}

/// Keeps the messages between two ranks in order when each waits for its own receive or combination. A fabric may finish
/// receives in any order; without this, messages could then start in another order and match the wrong receives.
pub struct InOrder(Vec<OpId>, bool);

impl InOrder {
    /// The first message waits for `before`.
    pub fn new(before: &[OpId]) -> Self {
        Self(before.to_vec(), false)
    }

    /// The operations that the next message waits for: `new`, and those that the last message waited for.
    pub fn after(&mut self, builder: &mut Builder, new: Option<OpId>) -> &[OpId] {
        if let Some(new) = new {
            self.0 = if self.1 { vec![builder.join(&[self.0[0], new])] } else { vec![new] };
            self.1 = true;
        }
        &self.0
    }

    /// The operations that the last message waits for.
    pub fn last(self) -> Vec<OpId> {
        self.0
    }
}

/// The operations to wait for: `new`, or `before` if `new` is empty.
pub fn or_before(new: Vec<OpId>, before: &[OpId]) -> Vec<OpId> {
    if new.is_empty() { before.to_vec() } else { new }
}

/// Adds a broadcast after which the message may be overwritten: the returned operations include its sends.
pub fn finished_broadcast(broadcast: &InPlace, part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let first = builder.next_id();
    let here = (broadcast.append)(part, builder, before);
    here.into_iter().filter(|&id| id < first).chain(first..builder.next_id()).collect()
}
