//! A part: a collective among the members of a group, as a step of a larger one: reduce + broadcast, a hierarchy, the engine's
//! agreement. An algorithm appends its operations for a part to a builder.
//!
//! **Why parts can follow one another.** When `before` is finished, the message lies in [`Part::message`] on every member that
//! has one. When the returned operations are finished, the result is there, scratch space (`Stage(1)`) is free, and all
//! receives of the part are finished; the message may be overwritten, or only read if the operation is a broadcast. Sends that
//! are not among the returned operations were ready no later than these. So the messages of two parts between the same two
//! ranks match in order without stages of their own.

use super::group::Group;
use crate::schedule::{Action, Buffer, Builder, OpId, ReduceOp, Span};
use crate::topology::Rank;

/// The space for words received from partners.
const SCRATCH: Buffer = Buffer::Stage(1);

/// How the 8-byte words of a message are combined.
#[derive(Debug, Clone, Copy)]
pub enum WordOps<'a> {
    /// One operation for all words.
    All(ReduceOp),
    /// One operation for each word.
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
    /// How a reduction combines words.
    pub words: WordOps<'a>,
    /// Bytes of a segment, for algorithms that cut messages; above 0, a multiple of 8.
    pub segment: u64,
}

impl<'a> Part<'a> {
    /// The part among all ranks, on the first `len` bytes of [`Buffer::Receive`], in one segment.
    pub fn of_all(rank: Rank, ranks: usize, root: Rank, len: u64, words: WordOps<'a>) -> Self {
        let message = Span::new(Buffer::Receive, 0, len);
        Self { group: Group::world(rank, ranks), root, message, words, segment: u64::MAX }
    }
}

impl Part<'_> {
    /// The group with the root as member 0.
    pub fn rooted(&self) -> Group {
        self.group.rotated(self.root)
    }

    /// The same message among the members of another group.
    pub fn among(&self, group: Group, root: usize) -> Part<'_> {
        Part { group, root, message: self.message, words: self.words, segment: self.segment }
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
        match self.words {
            _ if into.len == 0 => None,
            WordOps::All(with) => Some(add(0, into.len, with)),
            WordOps::Each(ops) => {
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

/// The operations to wait for: `new`, or `before` if `new` is empty.
pub fn or_before(new: Vec<OpId>, before: &[OpId]) -> Vec<OpId> {
    if new.is_empty() { before.to_vec() } else { new }
}
