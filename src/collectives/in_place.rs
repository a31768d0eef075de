//! Algorithms that work on one message in place, among any ranks: broadcast, reduce, allreduce.
//!
//! A [`Part`] is a collective among the members of a group, as a step of a larger one: reduce + broadcast, a hierarchy,
//! the engine's agreement. An algorithm appends its operations for a part to a builder.
//!
//! **What composes.** The message lies in [`Part::message`] on every member that has one when `before` is finished; the
//! ids that come back mean that it is there afterwards, that scratch space (`Stage(1)`) is free again, that all
//! receives of the part are done, and that the message may be overwritten unless the operation is a broadcast, after
//! which it may be read only. All sends that are not among them were ready no later than they were. So the messages of
//! two parts between the same two ranks match in order, whatever the parts are, without a stage of their own.

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::group::Group;
use crate::schedule::{Action, Buffer, Builder, OpId, ReduceOp, Schedule, Span};
use crate::topology::Rank;

/// Where the result of a reduction grows on ranks that do not keep it.
const PASSING: Buffer = Buffer::Stage(0);
/// Where partners' lanes arrive.
const SCRATCH: Buffer = Buffer::Stage(1);

/// How the 8-byte lanes of a message are combined.
#[derive(Debug, Clone, Copy)]
pub enum Lanes<'a> {
    /// All alike.
    All(ReduceOp),
    /// Each in its own way.
    Each(&'a [ReduceOp]),
}

/// One collective among the members of a group; equal on all members but for the group's own place and `message`.
pub struct Part<'a> {
    /// Who takes part.
    pub group: Group,
    /// The member with the message before a broadcast, after a reduction.
    pub root: usize,
    /// Where this rank has the message.
    pub message: Span,
    /// How lanes are combined, where they are.
    pub lanes: Lanes<'a>,
    /// Bytes of a segment, for algorithms that cut messages; above 0, a multiple of 8.
    pub segment: u64,
}

/// Adds the operations of this rank's part, none of which starts before the given ones are finished; returns what must
/// finish before a following part.
pub type Append = fn(&Part<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// The time that theory gives an algorithm: for so many ranks, bytes of the message and segments of it.
pub type Time = fn(&Rates, f64, f64, f64) -> f64;

/// An algorithm in place.
#[derive(Debug)]
pub struct InPlace {
    /// What the registry holds.
    pub algorithm: Algorithm,
    /// Its operations among any ranks.
    pub append: Append,
    /// Its time in the model of its paper.
    pub time: Time,
}

impl InPlace {
    /// The schedule of one rank of all: a copy from [`Buffer::Send`], then the algorithm.
    pub fn schedule(&self, problem: &Problem<'_>) -> Schedule {
        schedule(self.algorithm.operation, problem, self.append)
    }
}

/// The schedule of one rank of all, with any way to append an operation.
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
        message: problem.message(if keeps { Buffer::Receive } else { PASSING }),
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
    /// On the first `len` bytes of [`Buffer::Receive`] of all ranks, in one segment.
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

    /// The same message among others.
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

    /// The message in segments: all of [`Part::segment`] bytes but the last.
    pub fn segments(&self) -> Vec<Span> {
        segments(self.message, self.segment)
    }

    /// Combines `from` into `into`, which stand for the same bytes of the message, from `at` on. Nothing for no bytes.
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
                one(builder, &ids)
            }
        }
    }

    /// Receives what `from` has of `portion` (bytes of the message) into scratch space at `place`, after `free`, and
    /// combines it, also after `still`. Nothing for no bytes.
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

/// `span` in segments of `len` bytes, the last of which may be shorter.
pub fn segments(span: Span, len: u64) -> Vec<Span> {
    let count = span.len.div_ceil(len);
    let cut = |index| Span::new(span.buffer, span.offset + index * len, len.min(span.len - index * len));
    (0..count).map(cut).collect()
}

/// One operation that stands for all of `ids`.
pub fn one(builder: &mut Builder, ids: &[OpId]) -> Option<OpId> {
    match ids {
        [] => None,
        [id] => Some(*id),
        _ => Some(builder.join(ids)),
    }
}

/// Sends to one rank (or receives from one), each of which waits for a receive or a combination: started in the order
/// of this, although a fabric may finish receives in any order. Without it the messages of a rank that is slow to see
/// one would match the wrong receives.
pub struct InOrder(Vec<OpId>, bool);

impl InOrder {
    /// The first of them wait for `before`.
    pub fn new(before: &[OpId]) -> Self {
        Self(before.to_vec(), false)
    }

    /// What the next of them waits for, if it has to wait for `new`, which follows `before`, as well as the last one
    /// did.
    pub fn after(&mut self, builder: &mut Builder, new: Option<OpId>) -> &[OpId] {
        if let Some(new) = new {
            self.0 = if self.1 { vec![builder.join(&[self.0[0], new])] } else { vec![new] };
            self.1 = true;
        }
        &self.0
    }

    /// What the last of them waits for.
    pub fn last(self) -> Vec<OpId> {
        self.0
    }
}

/// What to wait for: `new` if there is something new, else what was before.
pub fn or_before(new: Vec<OpId>, before: &[OpId]) -> Vec<OpId> {
    if new.is_empty() { before.to_vec() } else { new }
}

/// Adds a broadcast after which the message may be overwritten: what comes back are its sends as well.
pub fn wholly(broadcast: &InPlace, part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let first = builder.next_id();
    let here = (broadcast.append)(part, builder, before);
    here.into_iter().filter(|&id| id < first).chain(first..builder.next_id()).collect()
}
