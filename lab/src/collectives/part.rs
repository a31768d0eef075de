//! A part is one collective among the members of a group, as a step of a larger operation: reduce + broadcast, a
//! hierarchy. An algorithm appends its operations for a part to a builder.
//!
//! **Why parts can follow one another.** When `before` is finished, the message lies in [`Part::message`] on every
//! member that has one. When the returned operations are finished, the result is there, scratch space (`Stage(1)`) is
//! free, and all receives of the part are finished; the message may be overwritten, or only read if the operation is a
//! broadcast. Sends that are not among the returned operations were ready no later than these. So the messages of two
//! parts between the same two ranks match in order without stages of their own.

use crate::collectives::group::Group;
use tributary::schedule::{Action, Buffer, Builder, OpId, ReduceOp, Span};
use tributary::topology::Rank;

/// Buffer for words received from other members.
const SCRATCH: Buffer = Buffer::Stage(1);

/// The operations that reduce the 8-byte words of a message.
#[derive(Debug, Clone, Copy)]
pub enum WordOps<'a> {
    /// The same operation for all words.
    All(ReduceOp),
    /// A separate operation for each word.
    Each(&'a [ReduceOp]),
}

/// One collective among the members of a group. All fields are equal on all members, except the member number in the
/// group and `message`.
pub struct Part<'a> {
    /// Ranks that take part.
    pub group: Group,
    /// Number of the member that has the message before a broadcast, or after a reduction.
    pub root: usize,
    /// Buffer, offset and length of the message on this rank.
    pub message: Span,
    /// Operations of a reduction.
    pub words: WordOps<'a>,
    /// Number of bytes of a segment, for algorithms that cut messages; above 0, a multiple of 8.
    pub segment: u64,
}

impl<'a> Part<'a> {
    /// Returns the part among all ranks, on the first `len` bytes of [`Buffer::Receive`], in one segment.
    pub fn of_all(rank: Rank, ranks: usize, root: Rank, len: u64, words: WordOps<'a>) -> Self {
        let message = Span::new(Buffer::Receive, 0, len);
        Self { group: Group::world(rank, ranks), root, message, words, segment: u64::MAX }
    }
}

impl Part<'_> {
    /// Returns the group with the root as member 0.
    pub fn rooted(&self) -> Group {
        self.group.rotated(self.root)
    }

    /// Returns a part with the same message among the members of another group.
    pub fn among(&self, group: Group, root: usize) -> Part<'_> {
        Part { group, root, message: self.message, words: self.words, segment: self.segment }
    }

    /// Returns the span of `len` bytes of the message from `offset` on.
    pub fn portion(&self, offset: u64, len: u64) -> Span {
        Span::new(self.message.buffer, self.message.offset + offset, len)
    }

    /// Returns the span of `len` bytes of scratch space from `offset` on.
    pub fn scratch(&self, offset: u64, len: u64) -> Span {
        Span::new(SCRATCH, offset, len)
    }

    /// Returns the message in segments of [`Part::segment`] bytes; the last may be shorter.
    pub fn segments(&self) -> Vec<Span> {
        segments(self.message, self.segment)
    }

    /// Adds an operation that reduces `from` into `into`; both have the bytes of the message from `at` on. Adds nothing
    /// for an empty span.
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

    /// Adds a receive of `portion` of the message from member `from` into scratch space at `place`, after the
    /// operations `free`, and its reduction into this rank's portion, after the operations `still` too. Adds nothing
    /// for an empty span.
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

/// Cuts `span` into segments of `len` bytes; the last may be shorter.
pub fn segments(span: Span, len: u64) -> Vec<Span> {
    let count = span.len.div_ceil(len);
    let cut = |index| Span::new(span.buffer, span.offset + index * len, len.min(span.len - index * len));
    (0..count).map(cut).collect()
}

/// Returns one operation that is finished when all of `ids` are; `None` if there are none.
pub fn joined(builder: &mut Builder, ids: &[OpId]) -> Option<OpId> {
    match ids {
        [] => None,
        [id] => Some(*id),
        _ => Some(builder.join(ids)),
    }
}

/// Returns the operations to wait for: `new`, or `before` if `new` is empty.
pub fn or_before(new: Vec<OpId>, before: &[OpId]) -> Vec<OpId> {
    if new.is_empty() { before.to_vec() } else { new }
}
