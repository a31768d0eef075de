//! The windows of an aggregator, one for each round, and the messages for each window.
//!
//! The metadata shows the sizes of the messages, the bytes with data, and overlaps of sources before any data is sent.

use crate::access::Extent;
use crate::drivers::{Domains, Window};
use crate::engine::facts::overlap::Tiling;
use crate::engine::lists::flow::{Advanced, Flow, Inflow, RoundQueue};
use crate::engine::metadata::variable_exchange::slot;
use crate::engine::plan::Plan;
use crate::engine::policy::LARGE_IN_WINDOW;
use crate::engine::storage::present::Coverage;
use crate::exchange::Transfer;
use crate::schedule::{Buffer, Span};
use crate::topology::Rank;

/// The windows of one aggregator. There are none on other ranks.
pub struct Windows {
    /// The bytes from each source rank, ascending by rank.
    inflows: Vec<Inflow>,
    round_queue: RoundQueue,
    /// Memory that the next window's coverage reuses.
    spare: Coverage,
    /// Hash that shows whether pieces tile a window.
    tiling: Tiling,
    /// True if the pieces of the next window are likely to tile it.
    may_tile: bool,
}

/// One window with data, and the messages for it.
#[derive(Debug)]
pub struct Opened {
    /// The window, trimmed to its first and last byte with data. (A window of several stripes begins at the start of
    /// the stripe.)
    pub window: Window,
    /// The bytes of the window that have data; `None` if there is no memory to mark them.
    pub coverage: Option<Coverage>,
    /// True if two sources have the same byte of the window.
    pub overlap: bool,
    /// Number of extents in the window.
    pub extents: u64,
    /// One message for each source, ascending by rank, in the slot of the source's inflow.
    pub messages: Vec<Transfer<Rank>>,
}

impl Opened {
    /// Returns true if the window should be written directly from its messages, without memory of its own: the pieces
    /// are large and fill the window.
    pub fn is_written_from_pieces(&self) -> bool {
        let is_full = self.coverage.as_ref().is_some_and(|coverage| coverage.covered() == self.window.len());
        is_full && !self.overlap && self.window.len() / self.extents.max(1) >= LARGE_IN_WINDOW
    }
}

/// Returns true if pieces may tile windows: always if aggregators own stripes in turn; otherwise if the sources
/// together have as many bytes as their range.
fn may_tile(inflows: &[Inflow], domains: &Domains) -> bool {
    let summaries = inflows.iter().map(|inflow| inflow.sizing.summary());
    let all = summaries.fold((u64::MAX, 0, 0), |(start, end, bytes): (u64, u64, u64), summary| {
        (start.min(summary.start), end.max(summary.end), bytes + summary.bytes)
    });
    matches!(domains, Domains::Cyclic { .. }) || all.1.saturating_sub(all.0) == all.2
}

/// Returns the highest end of the passed extents, and their number of bytes.
fn total(window: &Window, passed: &[Advanced]) -> (u64, u64) {
    let end = passed.iter().map(|passed| passed.end).max().unwrap_or(window.start);
    (end, passed.iter().map(|passed| passed.bytes).sum())
}

/// Moves the cursors of the inflows `due` past a window, and calls `note` with each extent in the window, at its
/// position in the window.
fn pass(inflows: &mut [Inflow], due: &[usize], window: &Window, mut note: impl FnMut(Extent)) -> Vec<Advanced> {
    let mut note = |extent: Extent| note(Extent { offset: window.position(extent.offset), len: extent.len });
    due.iter().map(|&id| inflows[id].sizing.pass_each(window, &mut note)).collect()
}

impl Windows {
    /// Returns the windows of aggregator `own`, before the first round of a plan.
    pub fn new(own: usize, plan: &Plan) -> Self {
        let inflow = |(source, packed): &(Rank, _)| Inflow::new(*source, own, Clone::clone(packed));
        let inflows: Vec<_> = plan.announced.incoming.iter().map(inflow).collect();
        let mut round_queue = RoundQueue::default();
        inflows.iter().enumerate().for_each(|(id, inflow)| round_queue.schedule(id, &inflow.sizing, &plan.domains));
        let may_tile = may_tile(&inflows, &plan.domains);
        Self { inflows, round_queue, spare: Coverage::default(), tiling: Tiling::random(), may_tile }
    }

    /// Returns the next round in which this aggregator has a window.
    pub fn next_round(&self) -> Option<u64> {
        self.round_queue.next_round()
    }

    /// Returns the window of `round`, if this aggregator has one, with its messages in `buffer`. Rounds must ascend.
    /// O(extents in the window).
    pub fn open(&mut self, round: u64, domains: &Domains, buffer: Buffer) -> Option<Opened> {
        let due = self.round_queue.take(round);
        let whole = self.inflows[*due.first()?].sizing.window(domains)?;
        let starts = due.iter().filter_map(|&id| self.inflows[id].sizing.next_offset());
        let from = starts.min().unwrap_or(whole.start);
        let window = whole.trimmed(from, whole.end);
        let (passed, coverage) = self.footprint(&due, &window);
        let mut messages = Vec::with_capacity(due.len());
        for (&id, passed) in due.iter().zip(&passed) {
            let inflow = &self.inflows[id];
            messages.push(Transfer { peer: inflow.source, span: Span::new(buffer, slot(id), passed.bytes) });
            self.round_queue.schedule(id, &inflow.sizing, domains);
        }
        let (to, bytes) = total(&window, &passed);
        let overlap = coverage.as_ref().is_some_and(|coverage| coverage.covered() < bytes);
        let extents = passed.iter().map(|passed| passed.extents).sum();
        Some(Opened { window: whole.trimmed(from, to), coverage, overlap, extents, messages })
    }

    /// Moves the cursors past a window, and returns which bytes of the window have data. If pieces may tile the window,
    /// compares a sum of hashes first, which is cheaper than marking bits; if the sum differs, goes through the pieces
    /// again and marks bits.
    fn footprint(&mut self, due: &[usize], window: &Window) -> (Vec<Advanced>, Option<Coverage>) {
        let mut coverage = std::mem::take(&mut self.spare);
        coverage.clear();
        let Self { inflows, tiling, .. } = self;
        if self.may_tile {
            let before: Vec<Flow> = due.iter().map(|&id| inflows[id].sizing.clone()).collect();
            let mut sum = 0u64;
            let passed = pass(inflows, due, window, |piece| {
                sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
            });
            let len = window.trimmed(window.start, total(window, &passed).0).len();
            if sum == tiling.piece(0, len) {
                coverage.fill(len);
                return (passed, Some(coverage));
            }
            due.iter().zip(before).for_each(|(&id, before)| inflows[id].sizing = before);
        }
        let mut marked = Ok(());
        let passed = pass(inflows, due, window, |piece| {
            if marked.is_ok() {
                marked = coverage.mark(piece.offset, piece.len);
            }
        });
        let coverage = marked.is_ok().then_some(coverage);
        // The next window is most likely like this one.
        let bytes = total(window, &passed).1;
        self.may_tile = coverage.as_ref().is_some_and(|all| all.is_full() && all.covered() == bytes);
        (passed, coverage)
    }

    /// Returns the inflow of a slot.
    pub fn inflow(&mut self, id: usize) -> Option<&mut Inflow> {
        self.inflows.get_mut(id)
    }

    /// Keeps the memory of a window's coverage for the next window.
    pub fn recycle(&mut self, coverage: Coverage) {
        self.spare = coverage;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Packed;
    use crate::engine::storage::present::Present;
    use proptest::prelude::*;

    fn windows(sources: &[Vec<Extent>], domains: &Domains, may_tile: bool) -> Windows {
        let packed = |pieces: &Vec<Extent>| pieces.iter().copied().collect::<Packed>();
        let inflow = |(source, pieces)| Inflow::new(source, 0, packed(pieces));
        let inflows: Vec<_> = sources.iter().enumerate().map(inflow).collect();
        let mut round_queue = RoundQueue::default();
        inflows.iter().enumerate().for_each(|(id, inflow)| round_queue.schedule(id, &inflow.sizing, domains));
        Windows { inflows, round_queue, spare: Coverage::default(), tiling: Tiling::random(), may_tile }
    }

    /// A window, its runs of bytes with data, whether sources overlap, and the number of bytes of each source.
    type Found = (Window, Vec<(u64, u64)>, bool, Vec<u64>);

    fn opened(mut windows: Windows, domains: &Domains) -> Vec<Found> {
        let mut all = Vec::new();
        while let Some(round) = windows.next_round() {
            let Opened { window, coverage, overlap, messages, .. } =
                windows.open(round, domains, Buffer::Receive).unwrap();
            let coverage = coverage.unwrap();
            let runs = coverage.runs(0..window.len()).map(|run| (run.start, run.end)).collect();
            all.push((window, runs, overlap, messages.iter().map(|message| message.span.len).collect()));
            windows.recycle(coverage);
        }
        all
    }

    proptest! {
        #[test]
        fn a_sum_finds_what_bits_find(
            lens in prop::collection::vec(1u64..40, 1..60), owners in prop::collection::vec(0usize..3, 60),
            without in prop::collection::vec(0usize..60, 0..2), twice in prop::collection::vec(0usize..60, 0..2),
            cyclic: bool
        ) {
            let domains = match cyclic {
                true => Domains::Cyclic { stripe: 64, aggregators: 2, stripes: 3 },
                false => Domains::Ranges { bounds: vec![0, u64::MAX], window: 200 },
            };
            let mut sources = vec![Vec::new(); 4];
            let mut end = 0;
            for (at, len) in lens.into_iter().enumerate() {
                let mut piece = Extent { offset: end, len };
                end += len;
                // Keep the pieces of the first aggregator only, as flattening does.
                while piece.len > 0 {
                    let (owner, until) = domains.owner(piece.offset);
                    let part = Extent { offset: piece.offset, len: piece.len.min(until - piece.offset) };
                    piece = Extent { offset: part.end(), len: piece.len - part.len };
                    if owner == 0 && !without.contains(&at) {
                        sources[owners[at]].push(part);
                    }
                    if owner == 0 && twice.contains(&at) {
                        sources[3].push(part);
                    }
                }
            }
            let [summed, marked] = [true, false].map(|may_tile| opened(windows(&sources, &domains, may_tile), &domains));
            prop_assert_eq!(summed, marked);
        }
    }

    #[test]
    fn pieces_that_tile_a_window_mark_no_bits() {
        let domains = Domains::Ranges { bounds: vec![0, u64::MAX], window: 1 << 20 };
        let pieces = |first: u64| (0..1000).map(|at| Extent { offset: (2 * at + first) * 50, len: 50 }).collect();
        let mut all = windows(&[pieces(0), pieces(1)], &domains, false);
        all.may_tile = may_tile(&all.inflows, &domains);
        let coverage = all.open(0, &domains, Buffer::Receive).unwrap().coverage.unwrap();
        assert!(coverage.is_full() && !coverage.has_bits());
        let holes = windows(&[pieces(0)], &domains, true);
        assert!(!may_tile(&holes.inflows, &domains));
    }
}
