//! Plans without running: counts what a collective write of any number of ranks would exchange.
//!
//! Ranks are flattened one at a time, so it needs memory for one rank and for the counters. All functions are local.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

use crate::access::{AccessStats, Extents};
use crate::drivers::{Domains, Driver, Layout};
use crate::engine::choose::learned::Learned;
use crate::engine::exchange::flatten::flatten_file;
use crate::engine::exchange::lists::Flow;
pub use crate::engine::exchange::metadata::list_messages;
pub use crate::engine::exchange::plan::{HISTOGRAM, count_bytes};
use crate::engine::exchange::planner::{Division, ExchangePlanner};
use crate::engine::trace::report::FanIn;
use crate::error::Error;
use crate::exchange::cost::Costs;
use crate::hints::Hints;
use crate::topology::{Rank, Topology};

/// The list of extents that one rank sends to one aggregator in the metadata phase.
pub struct OutgoingList {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Number of extents in the list, after flattening.
    pub extents: u64,
    /// Length of the encoded list in bytes.
    pub message_bytes: usize,
    flow: Flow,
}

/// The data of one rank for one aggregator in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InWindow {
    /// Round in which the window is exchanged, from 0.
    pub round: u64,
    /// Range of the data in the file: offset of the first byte, and end of the last.
    pub range: (u64, u64),
    /// Number of bytes of data.
    pub bytes: u64,
    /// Number of extents. An extent in two windows counts in both.
    pub extents: u64,
}

/// Returns the lists of a rank's access, one for each aggregator for which the rank has bytes, ascending. O(extents).
pub fn lists(file: &Extents, domains: &Domains) -> impl Iterator<Item = OutgoingList> {
    flatten_file(file, domains).map(|(aggregator, list)| OutgoingList {
        aggregator,
        extents: list.count(),
        message_bytes: list.wire_len(),
        flow: Flow::new(aggregator, list),
    })
}

impl OutgoingList {
    /// Iterates over the windows in which the rank has bytes, ascending. The rank sends one data message for each.
    /// O(extents) for all.
    pub fn windows(mut self, domains: &Domains) -> impl Iterator<Item = InWindow> {
        std::iter::from_fn(move || {
            let (window, from) = (self.flow.window(domains)?, self.flow.next_offset()?);
            let passed = self.flow.pass(&window);
            let (bytes, extents) = (passed.bytes, passed.extents);
            Some(InWindow { round: window.index, range: (from, passed.end), bytes, extents })
        })
    }
}

/// Counts of the messages and bytes that one or more ranks exchange. Counts of different ranks add up.
#[derive(Debug, Clone, Default)]
pub struct Exchanged {
    /// Number of extents after flattening, as aggregators receive them.
    pub extents: u64,
    /// Number of bytes of data.
    pub bytes: u64,
    /// Number of bytes of metadata messages: lists, and their lengths.
    pub metadata_bytes: u64,
    /// Number of metadata messages.
    pub metadata_messages: u64,
    /// Number of data messages.
    pub data_messages: u64,
    /// Data that each aggregator receives in each round, by (index of the aggregator, round).
    windows: BTreeMap<(u32, u64), Received>,
}

/// The data that one aggregator receives in one round, including its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Number of ranks that have data for the aggregator.
    pub senders: u32,
    /// Number of bytes from all ranks.
    pub bytes: u64,
    /// Minimum number of bytes from a rank that has data.
    pub least: u64,
    /// Maximum number of bytes from a rank.
    pub most: u64,
}

impl AddAssign for Received {
    fn add_assign(&mut self, other: Self) {
        self.senders += other.senders;
        self.bytes += other.bytes;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }
}

impl AddAssign for Exchanged {
    fn add_assign(&mut self, other: Self) {
        self.extents += other.extents;
        self.bytes += other.bytes;
        self.metadata_bytes += other.metadata_bytes;
        self.metadata_messages += other.metadata_messages;
        self.data_messages += other.data_messages;
        for (window, received) in other.windows {
            self.windows.entry(window).and_modify(|all| *all += received).or_insert(received);
        }
    }
}

impl Exchanged {
    /// Returns the maximum over aggregators of the number of windows with data.
    pub fn rounds(&self) -> u64 {
        let mut windows = BTreeMap::<u32, u64>::new();
        self.windows.keys().for_each(|(aggregator, _)| *windows.entry(*aggregator).or_default() += 1);
        windows.into_values().max().unwrap_or(0)
    }

    /// Returns the fan-in of the aggregators over all rounds.
    pub fn fan_in(&self) -> FanIn {
        let mut counts = BTreeMap::<u32, u64>::new();
        self.windows.values().for_each(|received| *counts.entry(received.senders).or_default() += 1);
        FanIn::of(counts)
    }

    /// Iterates over the data of each aggregator in each round, as (index of the aggregator, round, data), ascending.
    pub fn windows(&self) -> impl Iterator<Item = (usize, u64, Received)> + '_ {
        self.windows.iter().map(|(&(aggregator, round), &received)| (aggregator as usize, round, received))
    }
}

/// Counts the exchange of each rank. Ranks may come in any order, on any thread.
pub struct Planner {
    /// Ranks of the aggregators, ascending.
    pub aggregators: Arc<[Rank]>,
    /// File domains of the aggregators.
    pub domains: Domains,
    /// Number of windows of an aggregator that are in memory at a time.
    pub open_windows: usize,
}

impl Planner {
    /// Divides the file between the aggregators. `amount` are the access statistics of all ranks. `histogram` returns the sum
    /// of [`count_bytes`] over all ranks; it is called only if the driver divides by density.
    ///
    /// # Errors
    /// Bad hints; errors of `histogram`.
    pub fn new<E: From<Error>>(
        topology: Topology,
        layout: Layout,
        driver: Box<dyn Driver>,
        hints: Hints,
        amount: &AccessStats,
        histogram: impl FnOnce() -> Result<Vec<u64>, E>,
    ) -> Result<Self, E> {
        hints.check(topology.ranks())?;
        let planner = ExchangePlanner::new(0, &topology, layout, driver, &hints, Costs::CLUSTER)?;
        let histogram = if planner.needs_histogram(amount) { histogram()? } else { Vec::new() };
        let Division { roles, domains, open_windows, .. } = planner.divide(amount, &histogram, &Learned::default());
        Ok(Self { aggregators: roles.aggregators.clone(), domains, open_windows })
    }

    /// Returns the counts of `rank` with flat kernels: the messages with its lists, then one data message for each
    /// window in which the rank has bytes. O(extents + aggregators) time.
    pub fn rank(&self, rank: Rank, file: &Extents) -> Exchanged {
        let own = self.aggregators.binary_search(&rank).ok();
        let mut all = Exchanged { bytes: file.bytes(), ..Exchanged::default() };
        let mut lengths = Vec::new();
        for list in lists(file, &self.domains) {
            let aggregator = list.aggregator;
            all.extents += list.extents;
            lengths.push((aggregator, list.message_bytes));
            for InWindow { round, bytes, .. } in list.windows(&self.domains) {
                let received = Received { senders: 1, bytes, least: bytes, most: bytes };
                all.windows.insert((aggregator as u32, round), received);
                all.data_messages += u64::from(Some(aggregator) != own);
            }
        }
        let sent = list_messages(self.aggregators.len(), lengths.into_iter());
        for message in sent.iter().flatten().filter(|message| Some(message.peer.0) != own) {
            all.metadata_messages += 1;
            all.metadata_bytes += message.span.len;
        }
        all
    }
}
