//! The plan of an exchange: which bytes each rank sends to each aggregator; and the plans of earlier calls, which calls with the same
//! accesses reuse.
//!
//! [`planning`] counts what a write of any number of ranks would exchange, without running it.

pub mod planning;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::access::{BufferLayout, Extent, Extents};
use crate::collectives::{agree, allreduce};
use crate::drivers::Domains;
use crate::engine::facts::{AccessShift, Agreed, Amount, Reuse};
use crate::engine::lists::flatten::{ListsToSend, flatten};
use crate::engine::metadata::{Announced, Phase, announce};
use crate::engine::policy::learned::Learned;
use crate::engine::policy::{KEPT_REQUESTS, MOST_PLANS, ROUNDS_AHEAD};
use crate::engine::record::{Clock, Lap};
use crate::engine::roles::choice::Layering;
use crate::engine::roles::{AutoChoice, Phases};
use crate::engine::setup::Setup;
use crate::engine::setup::exchange::{Division, ExchangePlanner};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::pool::size_of_block;
use crate::schedule::ReduceOp::Sum;
use crate::topology::Rank;

/// Number of equal parts of the call's range of the file. Bytes are counted in each part, for drivers that choose file
/// domains by density.
pub const HISTOGRAM: usize = 1024;

/// The plan of an exchange on one rank. A later call with the same access can reuse it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// File domains: the parts of the file that belong to each aggregator.
    pub domains: Domains,
    /// Extents of the bytes that this rank sends (write) or wants (read), by aggregator.
    pub outgoing: Vec<ListsToSend>,
    /// Result of the metadata phase: the lists that this rank received.
    pub announced: Announced,
    /// Route of this rank's data messages, and the local aggregators.
    pub data: Arc<Phase>,
    /// Kernel that `auto` chose, or that two layers were not possible, for reports; `None` if there is nothing to
    /// report.
    pub auto: Option<AutoChoice>,
    /// Number of bytes of the call, of all ranks.
    pub bytes: u64,
    /// Number of windows of an aggregator that are in memory at a time.
    pub open_windows: usize,
    /// Layers of the call's messages.
    pub layers: Layering,
    /// Number of changes by what calls had shown when the plan was made.
    pub changes: u32,
}

impl Plan {
    /// Makes a plan: divides the file, flattens the access, and runs the metadata phase. Collective. `learned`
    /// is what earlier calls have shown, and `windows` is the number of window buffers that this aggregator has allocated.
    ///
    /// # Errors
    /// Errors of the message transport; an aggregator has no memory for a round (the same on all ranks).
    pub async fn make(
        endpoint: &mut Endpoint,
        setup: &Setup,
        (amount, learned): (&Amount, &Learned),
        (file, layout): (&Extents, &BufferLayout),
        windows: usize,
        clock: &mut Clock,
    ) -> Result<Self> {
        let mut histogram = Vec::new();
        if setup.exchange.needs_histogram(amount) {
            histogram = count_bytes(file, amount);
            clock.lap(Lap::Flatten);
            allreduce(endpoint, &[Sum; HISTOGRAM], &mut histogram).await?;
        }
        let Division { roles, domains, layers, open_windows } = setup.exchange.divide(amount, &histogram, learned);
        let new_windows = open_windows.saturating_sub(windows);
        clock.lap(Lap::Agreement);
        let outgoing = flatten(file, layout, &domains, amount.start..amount.end);
        clock.lap(Lap::Flatten);
        let mut layers = layers;
        let mut phases = roles.phases(layers, &setup.topology, &setup.hints)?;
        let mut auto = roles.taken(layers);
        if !phases.share_in_nodes(endpoint, &setup.topology, &setup.hints).await? {
            (phases, auto) = roles.without_memory(layers);
            layers = Layering::default();
        }
        let mut announced = announce_enough(endpoint, &phases, &domains, &outgoing, new_windows).await;
        // This error is the same on all ranks.
        if matches!(announced, Err(Error::NoMemory { .. })) && phases.shares_in_nodes() {
            (phases, auto) = roles.without_memory(layers);
            layers = Layering::default();
            announced = announce_enough(endpoint, &phases, &domains, &outgoing, new_windows).await;
        }
        clock.lap(Lap::Metadata);
        let announced = announced?;
        let (data, bytes, changes) = (phases.data, amount.bytes, learned.changes);
        Ok(Self { domains, outgoing, announced, data, auto, bytes, open_windows, layers, changes })
    }
}

/// Runs the metadata phase. Then all ranks agree whether it succeeded everywhere and every rank has memory for the data
/// phase. Collective.
async fn announce_enough(
    endpoint: &mut Endpoint,
    phases: &Phases,
    domains: &Domains,
    outgoing: &[ListsToSend],
    new_windows: usize,
) -> Result<Announced> {
    let announced = announce(endpoint, &phases.metadata, &phases.data, domains, outgoing).await;
    // An error in decoding lists can be agreed, because all ranks have exchanged. A broken exchange cannot.
    match announced {
        Err(error) if error.is_unagreed() && !matches!(error, Error::Codec { .. }) => Err(error),
        announced => {
            let (rank, window) = (endpoint.rank(), domains.window_bytes());
            let enough = announced.and_then(|own| check_memory(rank, &own, window, new_windows).map(|()| own));
            agree(endpoint, enough).await
        }
    }
}

/// Checks that the system would give this aggregator memory for the rounds in flight now: all ranks can still agree on an
/// error. The check keeps no memory, and the system may promise more than it has. If memory is missing later, then a
/// window and a message that is sent are an error of the call on all ranks alike (`no_memory_of` in [`crate::engine::data`]);
/// a message that cannot be received ends the job.
fn check_memory(rank: Rank, announced: &Announced, window: u64, new_windows: usize) -> Result<()> {
    let incoming = announced.incoming.iter().fold(0u64, |sum, (_, list)| sum.saturating_add(list.summary().bytes));
    let bytes = memory_of_rounds(incoming, window, new_windows);
    let tried = usize::try_from(bytes).map(|bytes| Vec::<u8>::new().try_reserve_exact(bytes));
    if matches!(tried, Ok(Ok(()))) {
        return Ok(());
    }
    let what = "windows and their messages; a smaller cb_buffer_size needs less".to_string();
    Err(Error::NoMemory { rank, bytes, what })
}

/// Returns the maximum number of bytes that an aggregator needs for the rounds in flight of a call with `incoming` bytes:
/// for `new_windows` windows, and for messages with the bytes of a window each. All of them are in blocks: a block of a
/// message may be nearly twice as large as the message.
fn memory_of_rounds(incoming: u64, window: u64, new_windows: usize) -> u64 {
    let window = incoming.min(window).max(1);
    let rounds = incoming.div_ceil(window);
    let block = usize::try_from(window).ok().and_then(size_of_block).map_or(u64::MAX, |block| block as u64);
    let windows = block.saturating_mul(rounds.min(new_windows as u64));
    windows.saturating_add(window.saturating_mul(2 * rounds.clamp(1, ROUNDS_AHEAD as u64)))
}

/// Returns the number of bytes of `file` in each of [`HISTOGRAM`] equal parts of the agreed range. O(extents + parts
/// with data).
pub fn count_bytes(file: &Extents, amount: &Amount) -> Vec<u64> {
    let width = (amount.end - amount.start).div_ceil(HISTOGRAM as u64).max(1);
    let mut parts = vec![0; HISTOGRAM];
    // An extent is usually in the part of the extent before it, and needs no division.
    let (mut part, mut from, mut until) = (0, 0, 0);
    file.iter().for_each(|mut extent| {
        let before = amount.start.saturating_sub(extent.offset).min(extent.len);
        extent = Extent { offset: extent.offset + before, len: extent.len - before };
        extent.len = extent.len.min(amount.end.saturating_sub(extent.offset));
        while extent.len > 0 {
            if extent.offset < from || extent.offset >= until {
                part = ((extent.offset - amount.start) / width) as usize;
                from = amount.start + part as u64 * width;
                until = from + width;
            }
            let len = extent.len.min(until - extent.offset);
            parts[part] += len;
            extent = Extent { offset: extent.offset + len, len: extent.len - len };
        }
    });
    parts
}

/// Checks this rank's arguments before anything is sent.
pub fn check_access(file: &Extents, layout: &BufferLayout, buffer: usize) -> Result<()> {
    layout.check(file.bytes(), buffer)?;
    match file.span() {
        Some((_, end)) if end > i64::MAX as u64 => Err(Error::argument("extent end", end, "2^63 - 1 or less")),
        _ => Ok(()),
    }
}

/// The kept plans of a file: enough for several accesses that take turns, within bounds. All ranks have the same plans
/// in the same order, because every exchange finds or makes one on all ranks.
#[derive(Default)]
pub struct Plans(Vec<Cached>);

impl Plans {
    /// Returns how an access relates to the accesses of the plans, and the plan that may fit. O(encoded size of the
    /// access) for each plan with a similar access.
    pub fn again(&self, file: &Extents, layout: &BufferLayout) -> (AccessShift, Option<&Cached>) {
        let shifts =
            self.0.iter().enumerate().filter_map(|(plan, cached)| Some((plan, cached, cached.again(file, layout)?)));
        let (mut plans, mut first) = (0, None);
        for (plan, cached, by) in shifts {
            let (_, same) = *first.get_or_insert((cached, by));
            plans |= u64::from(same == by) << plan;
        }
        match first {
            None => (AccessShift::No, None),
            Some((cached, _)) if file.count() == 0 => (AccessShift::Nothing(plans), Some(cached)),
            Some((cached, by)) => (AccessShift::Shifted(plans, by), Some(cached)),
        }
    }

    /// Selects the plan on which all ranks agreed for this call, if the shift fits the layout of the file, and nothing was
    /// learned since the plan was made. Returns the shift in bytes.
    pub fn find(&mut self, agreed: &Agreed, planner: &ExchangePlanner, learned: &Learned) -> Option<i64> {
        let Reuse { plan, shift } = agreed.reuse?;
        let cached = self.0.get(plan)?;
        let fits = cached.plan.changes == learned.changes && cached.fits(shift, &agreed.left, planner);
        if fits {
            let found = self.0.remove(plan);
            self.0.push(found);
        }
        fits.then_some(shift)
    }

    /// Keeps a plan that this call has made. Removes the plan on which all ranks agreed, if it did not fit, and the plans unused for longest if there are too many.
    pub fn keep(&mut self, cached: Cached, agreed: &Agreed) {
        if let Some(Reuse { plan, .. }) = agreed.reuse
            && plan < self.0.len()
        {
            self.0.remove(plan);
        }
        self.0.push(cached);
        let requests = |plans: &[Cached]| plans.iter().fold(0u64, |sum, cached| sum.saturating_add(cached.requests));
        while self.0.len() > MOST_PLANS || (self.0.len() > 1 && requests(&self.0) > KEPT_REQUESTS) {
            self.0.remove(0);
        }
    }

    /// Returns the plan of this call, or of the last call that had one.
    pub fn current(&self) -> Option<&Arc<Plan>> {
        self.0.last().map(|cached| &cached.plan)
    }
}

/// A kept plan, and this rank's access for which it was made.
pub struct Cached {
    file: Extents,
    layout: BufferLayout,
    /// Agreed end of the call's bytes in the file.
    end: u64,
    /// Number of extents of all ranks.
    requests: u64,
    /// This rank's part of [`Amount::touched`], after its first use.
    touched: OnceCell<u64>,
    plan: Arc<Plan>,
}

impl Cached {
    /// Makes an entry for a plan of this rank's access. `left` is the amount of all ranks.
    pub fn new(file: &Extents, layout: &BufferLayout, left: &Amount, plan: Arc<Plan>) -> Self {
        let (end, requests) = (left.end, left.requests);
        Self { file: file.clone(), layout: layout.clone(), end, requests, touched: OnceCell::new(), plan }
    }

    /// Returns the number of bytes by which an access is shifted from the access of this plan; `None` if it differs
    /// otherwise. O(encoded size of the access).
    fn again(&self, file: &Extents, layout: &BufferLayout) -> Option<i64> {
        file.shift_from(&self.file).filter(|_| self.layout == *layout)
    }

    /// Returns true if a shift, the same on all ranks, fits the layout of the file.
    fn fits(&self, by: i64, left: &Amount, planner: &ExchangePlanner) -> bool {
        let is_whole = planner.fits(by, left.bytes);
        is_whole && left.end == self.end.wrapping_add(by as u64)
    }

    /// Returns about the number of windows that the access touches. `count` computes the number at the first use.
    /// (Needed for every call that may repeat: if the plan does not fit on another rank, a new plan needs the sum over
    /// all ranks.)
    pub fn touched(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.touched.get_or_init(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows and messages of any sizes fit in the bytes that the check asks for.
    #[test]
    fn the_memory_of_rounds_is_that_of_their_blocks() {
        let block = |len: u64| size_of_block(len as usize).unwrap() as u64;
        for window in [1, 65_535, 65_537, 1 << 20, (1 << 20) + 1, 48 << 20] {
            for (rounds, new_windows) in [(1, 1), (1, 4), (3, 2), (9, 0), (9, 4)] {
                let windows = block(window) * new_windows.min(rounds);
                for parts in [1, 2, 3, 7, 16, 1000] {
                    let messages: u64 =
                        (0..parts).map(|part| block(window * (part + 1) / parts - window * part / parts)).sum();
                    let need = windows + messages * rounds.min(ROUNDS_AHEAD as u64);
                    let asked = memory_of_rounds(window * rounds, window, new_windows as usize);
                    assert!(need <= asked, "{asked} bytes for {rounds} rounds of {window}, {need} in {parts} messages");
                }
            }
        }
    }
}
