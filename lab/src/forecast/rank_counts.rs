//! Counts the messages that one rank sends in a collective write, as the engine would send them.

use super::matrix::PeerAmount;
use super::message_counts::{FileDivision, Held, MetadataForm};
use tributary::access::Extents;
use tributary::engine::AccessStats;
use tributary::engine::layers::Touched;
use tributary::engine::planning::lists;
use tributary::error::{Error, Result};

/// Counts of the messages of one rank.
pub(super) struct RankCounts {
    /// Number of extents that the rank sends.
    pub(super) requests: u64,
    /// Number of bytes of metadata for each aggregator.
    pub(super) lists: Vec<PeerAmount>,
    /// Number of bytes of data, by counted round and aggregator.
    pub(super) rounds: Vec<Vec<PeerAmount>>,
    pub(super) amount: AccessStats,
}

/// Number of bytes of an offset-length pair, as ROMIO sends it for every request.
const PAIR: u64 = 16;

impl RankCounts {
    /// Returns the messages of an access in the `chosen` rounds. Adds the written parts of windows to `windows`, for
    /// `weight` ranks that have these counts. O(extents).
    pub(super) fn of(
        (division, chosen): (&FileDivision, &[u64]),
        access: &Extents,
        (windows, weight): (&mut [Vec<Held>], u64),
    ) -> Result<Self> {
        let domains = &division.file.domains;
        let amount = AccessStats::from_extents(access, Touched::new(domains).by(access));
        let mut counts = Self { requests: 0, lists: Vec::new(), rounds: vec![Vec::new(); chosen.len()], amount };
        for list in lists(access, domains) {
            let (aggregator, extents) = (list.aggregator, list.extents);
            counts.requests += extents;
            counts.lists.push(cell(
                aggregator,
                match division.lists {
                    MetadataForm::Pairs => extents * PAIR,
                    MetadataForm::Packed => list.message_bytes as u64,
                },
            )?);
            for window in list.windows(domains) {
                let Ok(round) = chosen.binary_search(&window.round) else { continue };
                let (from, to) = window.range;
                let held = Held { bytes: window.bytes, requests: window.extents, from, to };
                windows[round][aggregator].add(&held.times(weight));
                counts.rounds[round].push(cell(aggregator, window.bytes)?);
            }
        }
        Ok(counts)
    }
}

fn cell(aggregator: usize, bytes: u64) -> Result<PeerAmount> {
    let large = |_| Error::argument("a message", format!("{bytes} bytes"), "below 4 GiB");
    Ok(PeerAmount { peer: aggregator as u32, amount: u32::try_from(bytes).map_err(large)? })
}
