//! Builder of schedules for the staged allgathers, which gather in scratch space and copy to the receive buffer at the
//! end.
//!
//! A staged algorithm keeps its blocks in an order of its own, so that every message is one span; the final copy puts
//! them into rank order. Every send waits for all earlier receives and copies of its rank. Messages of a pair of ranks
//! therefore match in the order of the phases, with one stage for all. Receives do not wait.

use tributary::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span};
use tributary::topology::Rank;

/// Buffer in which a staged allgather gathers before the final copy.
const SCRATCH: Buffer = Buffer::Stage(0);

/// Sizes in bytes of contributions that are ordered in a circle. O(contributions) to build, O(1) per query.
pub struct Circle(Vec<u64>);

impl Circle {
    /// Creates a circle of contributions of these sizes, in bytes.
    pub fn new(sizes: impl IntoIterator<Item = u64>) -> Self {
        let mut ends = vec![0];
        let mut end = 0;
        ends.extend(sizes.into_iter().map(|size| {
            end += size;
            end
        }));
        Self(ends)
    }

    /// Returns the number of contributions.
    pub fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the number of bytes of the `count` contributions (at most all) from `first` on, wrapping around at the
    /// end.
    pub fn bytes(&self, first: usize, count: usize) -> u64 {
        let end = first + count;
        match end.checked_sub(self.count()) {
            None => self.0[end] - self.0[first],
            Some(round) => self.total() - self.0[first] + self.0[round],
        }
    }

    /// Returns the offset in bytes at which a contribution begins; for the index behind the last, the total.
    pub fn begin(&self, contribution: usize) -> u64 {
        self.0[contribution]
    }

    /// Returns the contributions that overlap the bytes `from..end`, each with begin and end of the overlap.
    /// O(log contributions + found).
    pub fn overlapping(&self, from: u64, end: u64) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let first = self.0.partition_point(|&begin| begin <= from).saturating_sub(1);
        (first..self.count())
            .take_while(move |&index| self.0[index] < end)
            .map(move |index| (index, self.0[index].max(from), self.0[index + 1].min(end)))
            .filter(|&(_, from, end)| from < end)
    }

    /// Returns the number of bytes of all contributions.
    pub fn total(&self) -> u64 {
        self.0[self.count()]
    }
}

/// Range of bytes that holds all contributions of a circle, one after the other from `first` on, wrapping around.
#[derive(Clone, Copy)]
pub struct Gathered {
    /// Range of bytes of all contributions.
    pub span: Span,
    /// Index of the contribution at the start of `span`.
    pub first: usize,
}

/// Builds a schedule in which every phase follows all phases before it.
#[derive(Default)]
pub struct Staged {
    builder: Builder,
    /// Receives and copies of earlier phases that the next sends and copies wait for.
    before: Vec<OpId>,
    scratch: u64,
}

impl Staged {
    /// Reserves `len` bytes of scratch space.
    pub fn scratch(&mut self, len: u64) -> Span {
        self.scratch += len;
        Span::new(SCRATCH, self.scratch - len, len)
    }

    /// Adds a send that waits for all earlier receives and copies.
    pub fn send(&mut self, to: Rank, span: Span) {
        if span.len > 0 {
            self.builder.send(to, SendMode::Standard, span, &self.before);
        }
    }

    /// Adds a receive; later sends and copies wait for it.
    pub fn receive(&mut self, from: Rank, span: Span) {
        if span.len > 0 {
            self.before.push(self.builder.receive(from, span, &[]));
        }
    }

    /// Adds copies from the first span of each pair to the second, after all earlier receives and copies; later
    /// operations wait for them.
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

    /// Copies the gathered contributions to `to`, rotated so that contribution 0 is first.
    pub fn rotate_into(&mut self, gathered: Gathered, circle: &Circle, to: Span) {
        let head = circle.bytes(gathered.first, circle.count() - gathered.first);
        let tail = circle.total() - head;
        let halves = [(0, tail, head), (head, 0, tail)];
        self.copy(halves.map(|(at, place, len)| (part(gathered.span, at, len), part(to, place, len))));
    }

    /// Copies blocks of ranks into the receive buffer in rank order, and finishes the schedule. At `from`, the blocks
    /// lie one after the other in the order of ranks `order`; rank r's block has `sizes[r]` bytes. O(ranks); blocks
    /// that are neighbours in both orders are one copy.
    pub fn place(mut self, sizes: &[u64], order: impl IntoIterator<Item = Rank>, from: Span) -> Schedule {
        let places = Circle::new(sizes.iter().copied());
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

/// Returns the range of the `len` bytes of `span` from byte `at` of the span on.
pub fn part(span: Span, at: u64, len: u64) -> Span {
    Span::new(span.buffer, span.offset + at, len)
}
