//! The plan of an exchange: which bytes each rank sends to each aggregator.

use std::sync::Arc;

use crate::access::{AccessStats, BufferLayout, Extent, Extents};
use crate::collectives::{agree, allreduce};
use crate::drivers::Domains;
use crate::engine::choose::ROUNDS_AHEAD;
use crate::engine::choose::learned::Learned;
use crate::engine::exchange::flatten::{ListsToSend, flatten};
use crate::engine::exchange::metadata::{Announced, Phase, announce};
use crate::engine::exchange::planner::{Division, ExchangePlanner};
use crate::engine::exchange::roles::Phases;
use crate::engine::io::terms::FileTerms;
use crate::engine::trace::clock::{Clock, Lap};
use crate::engine::trace::path::{AutoChoice, Layering};
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
    /// For reports: the kernel that `auto` chose, or the fact that two layers were not possible; `None` if there is nothing
    /// to report.
    pub auto: Option<AutoChoice>,
    /// Number of bytes of the call, of all ranks.
    pub bytes: u64,
    /// Number of windows of an aggregator that are in memory at a time.
    pub open_windows: usize,
    /// Layers of the call's messages.
    pub layers: Layering,
    /// Value of [`Learned::changes`] when the plan was made.
    pub changes: u32,
}

impl Plan {
    /// Makes a plan: divides the file, flattens the access, and runs the metadata phase. Collective. `learned` was
    /// learned from earlier calls, and `windows` is the number of window buffers that this aggregator has allocated.
    ///
    /// # Errors
    /// Errors of the message transport; an aggregator has no memory for a round (the same on all ranks).
    pub async fn make(
        endpoint: &mut Endpoint,
        (planner, file_terms): (&ExchangePlanner, &FileTerms),
        (amount, learned): (&AccessStats, &Learned),
        (file, layout): (&Extents, &BufferLayout),
        windows: usize,
        clock: &mut Clock,
    ) -> Result<Self> {
        let FileTerms { topology, hints, .. } = file_terms;
        let mut histogram = Vec::new();
        if planner.needs_histogram(amount) {
            histogram = count_bytes(file, amount);
            clock.lap(Lap::Flatten);
            allreduce(endpoint, &[Sum; HISTOGRAM], &mut histogram).await?;
        }
        let Division { roles, domains, layers, open_windows } = planner.divide(amount, &histogram, learned);
        let new_windows = open_windows.saturating_sub(windows);
        clock.lap(Lap::Agreement);
        let outgoing = flatten(file, layout, &domains, amount.start..amount.end);
        clock.lap(Lap::Flatten);
        let mut layers = layers;
        let mut phases = roles.phases(layers, topology, hints)?;
        let mut auto = roles.taken(layers);
        if !phases.share_in_nodes(endpoint, topology, hints).await? {
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

/// Checks that the system would give this aggregator memory for the rounds in flight now, because all ranks can still agree
/// on an error. The check keeps no memory, and the system may promise more than it has. If memory for a window, or for a
/// message to send, is missing later, the call returns an error on all ranks (`no_memory_of` in [`crate::engine::exchange`]).
/// If memory for a message to receive is missing later, the job ends.
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
pub fn count_bytes(file: &Extents, amount: &AccessStats) -> Vec<u64> {
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
