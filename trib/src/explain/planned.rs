//! Who sends how much to whom in a call: the engine's own planning over the extents of the capture.
//!
//! Planned is an exchange of messages by flat kernels. A call that went another way has the same domains, but no messages.

use std::str::FromStr;

use serde::Serialize;
use tributary::drivers::{Layout, driver};
use tributary::engine::FanIn;
use tributary::engine::capture::{Call, Header};
use tributary::engine::planning::{Exchanged, Planner, Ranges};
use tributary::hints::DriverName;
use tributary::{Extents, Hints, Rank, Topology};

use crate::Failure;

/// What aggregators would receive in one call.
#[derive(Debug, Clone, Serialize)]
pub struct Planned {
    /// The call.
    pub call: usize,
    /// The aggregators.
    pub aggregators: Vec<Rank>,
    /// Ranks that an aggregator receives from in a round, itself included.
    pub fan_in: FanIn,
    /// Most rounds of an aggregator.
    pub rounds: u64,
    /// Messages of lists.
    pub metadata_messages: u64,
    /// Bytes of lists.
    pub metadata_bytes: u64,
    /// Messages of data between different ranks.
    pub data_messages: u64,
    /// Each aggregator in each round that has data, in this order.
    pub windows: Vec<Window>,
}

/// One aggregator in one round.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Window {
    /// The aggregator.
    pub aggregator: Rank,
    /// The round, as domains number it.
    pub round: u64,
    /// Ranks with data for it, itself included.
    pub senders: u32,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the smallest message.
    pub least: u64,
    /// Bytes of the largest message.
    pub most: u64,
}

/// The hints of a capture.
pub struct InForce {
    /// Those that this version knows.
    pub hints: Hints,
    /// Those that it does not, or not with that value.
    pub unknown: Vec<(String, String)>,
}

impl InForce {
    /// Those of a header. One that this version does not know is set aside.
    pub fn of(header: &Header) -> Self {
        let (mut hints, mut unknown) = (Hints::default(), Vec::new());
        for (key, value) in &header.hints {
            // An option that is not set has no value.
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

/// Plans one call of all ranks.
///
/// # Errors
/// A driver or a layout that there is not; hints that do not fit the ranks.
pub fn plan(header: &Header, topology: &Topology, hints: &Hints, call: (usize, &[&Call])) -> Result<Planned, Failure> {
    let (number, ranks) = call;
    let named = DriverName::from_str(&header.driver).ok().filter(|name| *name != DriverName::Auto);
    let bad = |what: &str, value: &str, allowed: &str| Failure::new(format!("{what}: {value}; allowed: {allowed}"));
    let name = named.ok_or_else(|| bad("driver of the capture", &header.driver, "posix, lustre, gpfs"))?;
    if header.unit == 0 {
        return Err(bad("unit of the capture", "0", "1 or more bytes"));
    }
    let driver = driver(name, "".as_ref());
    let mut ranges = Ranges::default();
    ranks.iter().for_each(|call| ranges.add(&call.file));
    let mut histogram = Vec::new();
    if driver.wants_histogram() {
        histogram = ranges.empty_histogram();
        for call in ranks.iter().filter(|call| call.file.count() > 0) {
            histogram.iter_mut().zip(ranges.histogram(&call.file)).for_each(|(all, own)| *all += own);
        }
    }
    let direct_from = hints.for_driver().direct_from(false);
    let layout = Layout { direct_from, ..Layout::of(header.unit, header.factor) };
    let planner = Planner::new(topology.clone(), layout, driver, hints.clone(), ranges, &histogram)?;
    let mut exchanged = Exchanged::default();
    for (rank, call) in ranks.iter().enumerate() {
        let file: &Extents = &call.file;
        exchanged += planner.rank(rank, file);
    }
    let aggregators = planner.aggregators().to_vec();
    let window = |(index, round, received): (usize, u64, tributary::engine::planning::Received)| Window {
        aggregator: aggregators[index],
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
        aggregators,
    })
}
