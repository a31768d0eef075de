//! Computes which rank sends how much data to which aggregator in a call, with the engine's own planning and the
//! extents of the capture.
//!
//! The plan is an exchange of messages by flat kernels. A call that took another path has the same file domains, but no
//! messages.

use std::str::FromStr;

use serde::Serialize;
use tributary::drivers::{Layout, driver};
use tributary::engine::capture::{Call, Header};
use tributary::engine::planning::{Exchanged, HISTOGRAM, Planner, Received, count_bytes};
use tributary::engine::{AccessStats, FanIn};
use tributary::hints::DriverName;
use tributary::{Error, Hints, Rank, Topology};

use crate::Failure;

/// Data and messages that aggregators would receive in one call.
#[derive(Debug, Clone, Serialize)]
pub struct Planned {
    /// Number of the call on the file, from 0.
    pub call: usize,
    /// Ranks of the aggregators, ascending.
    pub aggregators: Vec<Rank>,
    /// Fan-in: number of ranks, itself included, that an aggregator receives data from in a round.
    pub fan_in: FanIn,
    /// Maximum over aggregators of the number of rounds with data.
    pub rounds: u64,
    /// Number of messages with lists of extents, of all ranks.
    pub metadata_messages: u64,
    /// Number of bytes of the messages with lists of extents.
    pub metadata_bytes: u64,
    /// Number of messages with data between different ranks.
    pub data_messages: u64,
    /// Data of each aggregator in each round with data, by aggregator and then by round.
    pub windows: Vec<Window>,
}

impl Planned {
    /// Returns the minimum and maximum number of bytes from one rank in a round; 0 if there are none.
    pub fn message_bytes(&self) -> (u64, u64) {
        let bytes = |of: fn(&Window) -> u64| self.windows.iter().map(of);
        (bytes(|window| window.least).min().unwrap_or(0), bytes(|window| window.most).max().unwrap_or(0))
    }
}

/// Data that one aggregator receives in one round.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Window {
    /// Rank of the aggregator.
    pub aggregator: Rank,
    /// Number of the round.
    pub round: u64,
    /// Number of ranks with data for the aggregator, itself included.
    pub senders: u32,
    /// Number of bytes from all these ranks.
    pub bytes: u64,
    /// Minimum number of bytes from one of these ranks.
    pub least: u64,
    /// Maximum number of bytes from one of these ranks.
    pub most: u64,
}

/// Hints in force in a capture.
pub struct InForce {
    /// Hints that this version knows.
    pub hints: Hints,
    /// Hints whose key or value this version does not know, as (key, value).
    pub unknown: Vec<(String, String)>,
}

impl InForce {
    /// Reads the hints of a capture's header.
    pub fn of(header: &Header) -> Self {
        let (mut hints, mut unknown) = (Hints::default(), Vec::new());
        for (key, value) in &header.hints {
            // A hint that is not set has an empty value.
            if value.is_empty() {
                continue;
            }
            if hints.get(key).is_none() || hints.set(key, value).is_err() {
                unknown.push((key.clone(), value.clone()));
            }
        }
        Self { hints, unknown }
    }
}

/// Plans one call, given as (number of the call, the call of each rank).
///
/// # Errors
/// The driver or the layout of the capture is not known; the hints do not fit the ranks.
pub fn plan(header: &Header, topology: &Topology, hints: &Hints, call: (usize, &[&Call])) -> Result<Planned, Failure> {
    let (number, ranks) = call;
    let named = DriverName::from_str(&header.driver).ok().filter(|name| *name != DriverName::Auto);
    let bad = |what: &str, value: &str, allowed: &str| Failure::new(format!("{what}: {value}; allowed: {allowed}"));
    let name = named.ok_or_else(|| bad("driver of the capture", &header.driver, "posix, lustre, gpfs, nfs"))?;
    if header.unit == 0 {
        return Err(bad("unit of the capture", "0", "1 or more bytes"));
    }
    let driver = driver(name, "".as_ref());
    let mut amount = AccessStats::NONE;
    ranks.iter().for_each(|call| amount.merge(&AccessStats::from_extents(&call.file, 0)));
    let histogram = || {
        let mut histogram = vec![0; HISTOGRAM];
        for call in ranks.iter().filter(|call| call.file.count() > 0) {
            histogram.iter_mut().zip(count_bytes(&call.file, &amount)).for_each(|(all, own)| *all += own);
        }
        Ok::<_, Error>(histogram)
    };
    let direct_from = hints.for_driver().direct_from(false);
    let layout = Layout { direct_from, ..Layout::of(header.unit, header.factor) };
    let planner = Planner::new(topology.clone(), layout, driver, hints.clone(), &amount, histogram)?;
    let mut exchanged = Exchanged::default();
    for (rank, call) in ranks.iter().enumerate() {
        exchanged += planner.rank(rank, &call.file);
    }
    let window = |(index, round, received): (usize, u64, Received)| Window {
        aggregator: planner.aggregators[index],
        round,
        senders: received.senders,
        bytes: received.bytes,
        least: received.least,
        most: received.most,
    };
    Ok(Planned {
        call: number,
        fan_in: exchanged.fan_in(),
        rounds: exchanged.rounds(),
        metadata_messages: exchanged.metadata_messages,
        metadata_bytes: exchanged.metadata_bytes,
        data_messages: exchanged.data_messages,
        windows: exchanged.windows().map(window).collect(),
        aggregators: planner.aggregators.to_vec(),
    })
}
