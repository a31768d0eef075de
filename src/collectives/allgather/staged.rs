//! What the staged allgathers share: scratch space, messages and copies that follow one another, the last copy into place.
//!
//! A staged algorithm keeps what it has in an order of its own, so that every message is one span; at the end blocks are
//! copied into rank order. Every send waits for all that came before it on its rank: messages of one pair of ranks
//! therefore match in the order of the phases, with one stage for all. Receives wait for nothing.

use crate::collectives::algorithm::Problem;
use crate::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span};
use crate::topology::Rank;

/// Where blocks wait.
const SCRATCH: Buffer = Buffer::Stage(0);

/// Bytes of contributions that stand in a circle. O(contributions) to set up, O(1) to ask.
pub struct Circle(Vec<u64>);

impl Circle {
    /// Contributions of these sizes.
    pub fn new(sizes: impl IntoIterator<Item = u64>) -> Self {
        let mut ends = vec![0];
        let mut end = 0;
        ends.extend(sizes.into_iter().map(|size| {
            end += size;
            end
        }));
        Self(ends)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// Bytes of the `count` contributions (at most all) from `first` on, going round at the end.
    pub fn bytes(&self, first: usize, count: usize) -> u64 {
        let end = first + count;
        match end.checked_sub(self.count()) {
            None => self.0[end] - self.0[first],
            Some(round) => self.total() - self.0[first] + self.0[round],
        }
    }

    /// Where a contribution begins, counted from the first; of the one after the last: where all end.
    pub fn begin(&self, contribution: usize) -> u64 {
        self.0[contribution]
    }

    /// The contributions that have some of the bytes `from..end`, and from where to where. O(log contributions + found).
    pub fn overlapping(&self, from: u64, end: u64) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let first = self.0.partition_point(|&begin| begin <= from).saturating_sub(1);
        (first..self.count())
            .take_while(move |&index| self.0[index] < end)
            .map(move |index| (index, self.0[index].max(from), self.0[index + 1].min(end)))
            .filter(|&(_, from, end)| from < end)
    }

    /// Bytes of all.
    pub fn total(&self) -> u64 {
        self.0[self.count()]
    }
}

/// All contributions of a circle, one after the other from `first` on, going round.
#[derive(Clone, Copy)]
pub struct Gathered {
    /// Where they lie.
    pub span: Span,
    /// Which is the first.
    pub first: usize,
}

/// A schedule in the making, in which every phase follows all before it.
#[derive(Default)]
pub struct Staged {
    builder: Builder,
    /// What everything from here on follows.
    before: Vec<OpId>,
    scratch: u64,
}

impl Staged {
    /// Scratch space that nothing else uses.
    pub fn scratch(&mut self, len: u64) -> Span {
        self.scratch += len;
        Span::new(SCRATCH, self.scratch - len, len)
    }

    /// Sends, after all that was received and copied before.
    pub fn send(&mut self, to: Rank, span: Span) {
        if span.len > 0 {
            self.builder.send(to, SendMode::Standard, span, &self.before);
        }
    }

    /// Receives; what follows waits for it.
    pub fn receive(&mut self, from: Rank, span: Span) {
        if span.len > 0 {
            self.before.push(self.builder.receive(from, span, &[]));
        }
    }

    /// Copies each first span to its second, after all that came before; what follows waits for the copies.
    pub fn copy(&mut self, copies: impl IntoIterator<Item = (Span, Span)>) {
        let mut done = Vec::new();
        for (from, to) in copies {
            if from.len > 0 {
                done.push(self.builder.copy(from, to, &self.before));
            }
        }
        if !done.is_empty() {
            self.before = done;
        }
    }

    /// Copies what was gathered to `to`, the first contribution of the circle first.
    pub fn turn(&mut self, gathered: Gathered, circle: &Circle, to: Span) {
        let head = circle.bytes(gathered.first, circle.count() - gathered.first);
        let tail = circle.total() - head;
        let halves = [(0, tail, head), (head, 0, tail)];
        self.copy(halves.map(|(at, place, len)| (part(gathered.span, at, len), part(to, place, len))));
    }

    /// Copies the blocks of `order`, which lie one after the other from the start of `from`, to their places in the
    /// receive buffer, and ends the schedule. O(ranks); neighbours in both orders are one copy.
    pub fn place(mut self, problem: &Problem<'_>, order: impl IntoIterator<Item = Rank>, from: Span) -> Schedule {
        let places = Circle::new(problem.sizes.iter().copied());
        let mut runs: Vec<(Rank, usize)> = Vec::new();
        for rank in order {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == rank => *count += 1,
                _ => runs.push((rank, 1)),
            }
        }
        let mut at = 0;
        let copies: Vec<_> = (runs.into_iter())
            .map(|(first, count)| {
                let len = places.bytes(first, count);
                at += len;
                (part(from, at - len, len), Span::new(Buffer::Receive, places.bytes(0, first), len))
            })
            .collect();
        self.copy(copies);
        self.builder.finish()
    }
}

/// `len` bytes of `span` from its byte `at` on.
pub fn part(span: Span, at: u64, len: u64) -> Span {
    Span::new(span.buffer, span.offset + at, len)
}
