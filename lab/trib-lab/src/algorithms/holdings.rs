//! Determines, for pictures, the ranks whose bytes every rank has or has had after each round. The schedules are
//! interpreted byte by byte.

use std::collections::HashMap;

use crate::picture::messages::{Bar, Cell, Paint};
use tributary::Rank;
use tributary::schedule::{Action, Buffer, Schedule, Span};
use tributary_lab::timing::Step;

use super::case::Contents;

/// Content of a byte of a buffer: its position in [`Contents::parts`], and a bit for every rank that is combined in it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Byte {
    place: u32,
    ranks: u64,
}

/// Content of a byte that was not written.
const NOTHING: Byte = Byte { place: 0, ranks: 0 };

/// Maximum number of ranks: one bit each.
pub const MOST_RANKS: usize = 64;

struct Holdings<'a> {
    schedules: &'a [Schedule],
    buffers: HashMap<(Rank, Buffer), Vec<Byte>>,
    /// For each rank and position: the ranks combined in the byte that combined most ranks so far.
    had: Vec<Vec<u64>>,
}

/// Returns the bars by round boundary (before the first round, after the first, ...) and rank.
pub fn by_round(contents: &Contents, schedules: &[Schedule], steps: &[Step], rounds: usize) -> Vec<Vec<Bar>> {
    let mut holdings = Holdings::new(contents, schedules);
    let mut steps = steps.iter().peekable();
    let mut all = Vec::new();
    for round in 0..=rounds {
        while let Some(step) = steps.next_if(|step| end(step) <= round as f64) {
            holdings.apply(step);
        }
        all.push((0..schedules.len()).map(|rank| holdings.bar(contents, rank)).collect());
    }
    all
}

fn end(step: &Step) -> f64 {
    match *step {
        Step::Message { end, .. } | Step::Local { end, .. } => end,
    }
}

impl<'a> Holdings<'a> {
    fn new(contents: &Contents, schedules: &'a [Schedule]) -> Self {
        let total: u64 = contents.parts.iter().map(|(bytes, _)| bytes).sum();
        let had = vec![vec![0; total as usize]; schedules.len()];
        let mut holdings = Self { schedules, buffers: HashMap::new(), had };
        for (rank, ranges) in contents.brought.iter().enumerate() {
            let places = ranges.iter().flat_map(|&(first, end)| first..end);
            let bytes: Vec<_> = places.map(|place| Byte { place: place as u32, ranks: 1 << rank }).collect();
            holdings.write(rank, Span::new(Buffer::Send, 0, bytes.len() as u64), &bytes);
        }
        holdings
    }

    fn apply(&mut self, step: &Step) {
        let op = |(rank, op): (Rank, u32)| self.schedules[rank].ops()[op as usize];
        match *step {
            Step::Message { from, to, .. } => {
                let bytes = self.read(from.0, op(from).span);
                self.write(to.0, op(to).span, &bytes);
            }
            Step::Local { rank, op: id, .. } => {
                let op = op((rank, id));
                match op.action {
                    Action::Copy { from } => self.write(rank, op.span, &self.read(rank, from)),
                    Action::Reduce { from, .. } => {
                        let (mut bytes, others) = (self.read(rank, op.span), self.read(rank, from));
                        bytes.iter_mut().zip(others).for_each(|(byte, other)| byte.ranks |= other.ranks);
                        self.write(rank, op.span, &bytes);
                    }
                    Action::Send { .. } | Action::Receive { .. } | Action::Join => {}
                }
            }
        }
    }

    fn read(&self, rank: Rank, span: Span) -> Vec<Byte> {
        let buffer = self.buffers.get(&(rank, span.buffer)).map(Vec::as_slice).unwrap_or_default();
        let byte = |at: u64| buffer.get(at as usize).copied().unwrap_or(NOTHING);
        (span.offset..span.offset + span.len).map(byte).collect()
    }

    fn write(&mut self, rank: Rank, span: Span, bytes: &[Byte]) {
        let buffer = self.buffers.entry((rank, span.buffer)).or_default();
        let first = span.offset as usize;
        buffer.resize(buffer.len().max(first + bytes.len()), NOTHING);
        buffer[first..first + bytes.len()].copy_from_slice(bytes);
        for byte in bytes {
            let had = &mut self.had[rank][byte.place as usize];
            if byte.ranks.count_ones() > had.count_ones() {
                *had = byte.ranks;
            }
        }
    }

    /// Returns the bar of a rank. Adjoining bytes with the same colour are one cell.
    fn bar(&self, contents: &Contents, rank: Rank) -> Bar {
        let (first, end) = contents.shown[rank]?;
        let owners = contents.parts.iter().flat_map(|&(bytes, owner)| std::iter::repeat_n(owner, bytes as usize));
        let mut cells: Vec<Cell> = Vec::new();
        for (place, (owner, had)) in (0..end).zip(owners.zip(&self.had[rank])) {
            if place < first || *had == 0 {
                continue;
            }
            let paint = match contents.combines {
                true => Paint::Combined(had.count_ones() as usize),
                false => Paint::Rank(owner),
            };
            match cells.last_mut() {
                Some(last) if last.end == place - first && last.paint == paint => last.end += 1,
                _ => cells.push(Cell { first: place - first, end: place - first + 1, paint }),
            }
        }
        Some(cells)
    }
}
