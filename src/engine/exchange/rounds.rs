//! The state of a rank in the data phase of a write or a read: its part in each round. On an aggregator also its windows, one
//! for each round, and the messages for each window.
//!
//! A rank takes part only in the rounds for which it has data, or owns a window with data. All ranks number rounds
//! alike and take them in ascending order. So all ranks that take part in the lowest unfinished round have reached it,
//! and the exchange cannot deadlock across rounds.
//!
//! The metadata shows the sizes of the messages, the bytes with data, and overlaps of sources before any data is sent.

use crate::access::{Direction, Extent, Tiling};
use crate::collectives::FIRST_FREE_TAG;
use crate::drivers::{Domains, Window};
use crate::engine::choose::{LARGE_IN_WINDOW, LONG_MESSAGE, ROUNDS_AHEAD};
use crate::engine::exchange::lists::{Advanced, Flow, Inflow, Outflow, RoundQueue};
use crate::engine::exchange::metadata::{Phase, slot};
use crate::engine::exchange::node::NodeMember;
use crate::engine::exchange::plan::Plan;
use crate::engine::io::present::Coverage;
use crate::engine::trace::counts::DataCounts;
use crate::engine::trace::watchdog::{CallStage, StallWatchdog};
use crate::error::Error;
use crate::exchange::two_layer::Share;
use crate::exchange::{Route, Transfer};
use crate::fabric::{InFlight, Message};
use crate::schedule::{Buffer, Schedule, Span, ThrottleMode};
use crate::topology::Rank;
use crate::world;

/// Tag of the messages of the data phase.
pub const DATA: u16 = FIRST_FREE_TAG + 2;

/// Returns the error of a rank that has no memory for a message of a round. The rank sends an empty message instead: the
/// other ranks already wait for it. The receiver knows that bytes are missing, and keeps the error until the agreement at the
/// end of the call.
pub fn no_memory_of(rank: Rank, bytes: u64) -> Error {
    Error::NoMemory { rank, bytes, what: "a message; a smaller cb_buffer_size needs less".to_string() }
}

/// Returns true if a message shows that its sender had no memory for it ([`no_memory_of`]).
pub fn is_missing(span: Span, message: &Message) -> bool {
    message.is_empty() && span.len > 0
}

/// The state of one rank over all rounds of the data phase.
pub struct Rounds<'a> {
    /// Route of the data messages, and the local aggregators.
    pub phase: &'a Phase,
    /// File domains: the parts of the file that belong to each aggregator.
    pub domains: &'a Domains,
    /// The bytes that this rank sends (write) or wants (read), one outflow for each aggregator, ascending.
    pub outflows: Vec<Outflow>,
    /// The outflows, sorted by the next round in which they have bytes.
    pub leaving: RoundQueue,
    /// The windows of this aggregator.
    pub windows: Windows,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<NodeMember<'a>>,
    /// Counts of this rank's messages, bytes and times so far.
    pub counts: DataCounts,
    /// The stall watchdog, which knows the round that this rank is in.
    watchdog: &'a StallWatchdog,
}

impl<'a> Rounds<'a> {
    /// Starts the data phase of a plan. With `times`, records the times of rounds in which this rank owns a window.
    pub fn new(plan: &'a Plan, direction: Direction, watchdog: &'a StallWatchdog, times: bool) -> Self {
        let (domains, phase) = (&plan.domains, &*plan.data);
        let own = phase.route.receivers.binary_search(&phase.route.rank).unwrap_or_default();
        let outflow = |o: &crate::engine::exchange::flatten::ListsToSend| {
            Outflow::new(o.aggregator, o.file.clone(), o.memory.clone())
        };
        let outflows: Vec<_> = plan.outgoing.iter().map(outflow).collect();
        let windows = Windows::new(own, plan);
        let mut leaving = RoundQueue::default();
        outflows.iter().enumerate().for_each(|(id, out)| leaving.schedule(id, &out.file, domains));
        let counts = DataCounts { rounds: times.then(Vec::new), ..DataCounts::default() };
        let inside = plan.announced.in_memory.as_ref().map(|plan| NodeMember::new(plan, direction, domains));
        Self { phase, domains, outflows, leaving, windows, inside, counts, watchdog }
    }

    pub fn rank(&self) -> Rank {
        self.phase.route.rank
    }

    /// Tells the stall watchdog that the rank is now in stage `part` of the call.
    pub fn go_on(&self, part: CallStage) {
        self.watchdog.go_on(part);
    }

    /// Returns the next round that this rank takes part in.
    pub fn next_round(&self) -> Option<u64> {
        let inside = self.inside.as_ref().and_then(NodeMember::next_round);
        [self.leaving.next_round(), self.windows.next_round(), inside].into_iter().flatten().min()
    }

    /// Returns true if another round may start before the rounds of `flight` have ended. Only rounds with long messages may,
    /// and fewer of them at the beginning, so that the file gets its first windows soon. With two layers none may, because
    /// members share the memory of a round; with batches none may, because rounds would be one batch.
    pub fn may_run_ahead(&self, flight: &InFlight) -> bool {
        let Route { throttle, ranks, .. } = self.phase.route;
        let in_batches = throttle.limit.is_some() && throttle.mode == ThrottleMode::Batch;
        let is_long = self.domains.window_bytes() / ranks as u64 >= LONG_MESSAGE;
        let ahead = ROUNDS_AHEAD.min(1 + flight.ended());
        is_long && self.inside.is_none() && !in_batches && flight.len() < ahead && flight.may_join()
    }

    /// Returns the schedule of a round. `shares` are this rank's bytes for each aggregator, `receives` the messages to an
    /// aggregator.
    pub fn schedule(&mut self, round: u64, shares: &[Share], receives: &[Transfer<Rank>]) -> Schedule {
        let merged = self.inside.as_mut().map(|inside| inside.open(round, self.domains)).unwrap_or_default();
        self.phase.schedule(shares, &merged, receives)
    }

    /// Returns true if this rank is `aggregator`, so that its share for `aggregator` is not sent. (Through a local
    /// aggregator, the share is sent.)
    pub fn stays(&self, aggregator: usize) -> bool {
        self.phase.local.is_none() && self.phase.route.receivers[aggregator] == self.rank()
    }

    /// Returns the index of the outflow for an aggregator.
    pub fn outflow_of(outflows: &[Outflow], aggregator: usize) -> Option<usize> {
        outflows.binary_search_by_key(&aggregator, |outflow| outflow.file.aggregator()).ok()
    }

    /// Sorts the outflows of a finished round back into the queue, under the round of their next bytes.
    pub fn reschedule(&mut self, due: &[usize]) {
        for &id in due {
            self.leaving.schedule(id, &self.outflows[id].file, self.domains);
        }
    }
}

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

/// Returns true if pieces may tile windows: always if aggregators own stripes in turn; otherwise if the number of bytes of
/// all sources is the length of their range.
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
        world::work(extents, 0);
        Some(Opened { window: whole.trimmed(from, to), coverage, overlap, extents, messages })
    }

    /// Moves the cursors past a window, and returns which bytes of the window have data. If pieces may tile the window,
    /// compares a sum of hashes first, which is cheaper than marking bits; if the sum differs, repeats the pass over
    /// the pieces and marks bits.
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
        let bytes = total(window, &passed).1;
        // A guess: the next window tiles if this one does.
        self.may_tile = coverage.as_ref().is_some_and(|all| all.is_full() && all.covered() == bytes);
        (passed, coverage)
    }

    /// Returns the inflow whose messages lie in slot `id`; `None` for a slot without an inflow.
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
    use proptest::prelude::*;

    use super::*;
    use crate::access::Packed;
    use crate::engine::io::present::Present;

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
