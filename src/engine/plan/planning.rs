//! Planning without running: counts what a collective write of any number of ranks would exchange.
//!
//! Ranks are flattened one at a time, so the memory is that of one rank and of the counters. All calls are local.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

use crate::access::Extents;
use crate::drivers::{Domains, Driver, Layout, Written};
use crate::engine::facts::Amount;
use crate::engine::lists::flatten::flatten_file;
use crate::engine::lists::flow::Flow;
pub use crate::engine::metadata::variable_exchange::{HEAD, LENGTH};
use crate::engine::plan::{HISTOGRAM, count_bytes};
use crate::engine::record::report::FanIn;
use crate::engine::setup::Setup;
use crate::error::Result;
use crate::hints::Hints;
use crate::topology::{Rank, Topology};

/// What a rank has for an aggregator, as it is sent.
pub struct OutgoingList {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Extents after flattening, as the aggregator receives them.
    pub extents: u64,
    /// Bytes of the list in a message.
    pub message_bytes: usize,
    flow: Flow,
}

/// What a rank has for an aggregator in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InWindow {
    /// The round of the window.
    pub round: u64,
    /// The first byte of the file that it has there, and one past the last.
    pub range: (u64, u64),
    /// Bytes.
    pub bytes: u64,
    /// Extents; one that lies in two windows counts in both.
    pub extents: u64,
}

/// The lists of a rank's access, one for each aggregator for which it has bytes, ascending. O(extents).
pub fn lists(file: &Extents, domains: &Domains) -> impl Iterator<Item = OutgoingList> {
    flatten_file(file, domains).map(|(aggregator, list)| OutgoingList {
        aggregator,
        extents: list.count(),
        message_bytes: list.wire_len(),
        flow: Flow::new(aggregator, list),
    })
}

impl OutgoingList {
    /// The windows in which it has bytes, ascending: one data message each. O(extents) for all.
    pub fn windows(mut self, domains: &Domains) -> impl Iterator<Item = InWindow> {
        std::iter::from_fn(move || {
            let (window, from) = (self.flow.window(domains)?, self.flow.next_offset()?);
            let passed = self.flow.pass(&window);
            let (bytes, extents) = (passed.bytes, passed.extents);
            Some(InWindow { round: window.index, range: (from, passed.end), bytes, extents })
        })
    }
}

/// The first pass: the range of all ranks and, for drivers that divide by density, a histogram of the bytes.
#[derive(Debug, Clone, Copy)]
pub struct Ranges(Amount);

impl Default for Ranges {
    fn default() -> Self {
        Self(Amount::NONE)
    }
}

impl Ranges {
    /// Adds one rank.
    pub fn add(&mut self, file: &Extents) {
        self.merge(Self(Amount::from_extents(file, 0)));
    }

    /// Adds the ranks that another has counted.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(&other.0);
    }

    /// The bytes of `file` in each of the 1,024 equal parts of the range.
    pub fn histogram(&self, file: &Extents) -> Vec<u64> {
        count_bytes(file, &self.0)
    }

    /// A histogram without bytes.
    pub fn empty_histogram(&self) -> Vec<u64> {
        vec![0; HISTOGRAM]
    }
}

/// Counts of the exchange of ranks, which can be added.
#[derive(Debug, Clone, Default)]
pub struct Exchanged {
    /// Extents after flattening, as aggregators receive them.
    pub extents: u64,
    /// Bytes of data.
    pub bytes: u64,
    /// Bytes of metadata messages: lists, and their lengths.
    pub metadata_bytes: u64,
    /// Metadata messages.
    pub metadata_messages: u64,
    /// Data messages.
    pub data_messages: u64,
    /// What each (aggregator, round) receives.
    windows: BTreeMap<(u32, u64), Received>,
}

/// What an aggregator receives in one round, also from itself; adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Ranks that have data for it.
    pub senders: u32,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Of the rank that has the least, in bytes.
    pub least: u64,
    /// Of the rank that has the most, in bytes.
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
    /// Most windows with data on any aggregator.
    pub fn rounds(&self) -> u64 {
        let mut windows = BTreeMap::<u32, u64>::new();
        self.windows.keys().for_each(|(aggregator, _)| *windows.entry(*aggregator).or_default() += 1);
        windows.into_values().max().unwrap_or(0)
    }

    /// The fan-in of the aggregators over all rounds.
    pub fn fan_in(&self) -> FanIn {
        let mut counts = BTreeMap::<u32, u64>::new();
        self.windows.values().for_each(|received| *counts.entry(received.senders).or_default() += 1);
        FanIn::of(counts)
    }

    /// What each aggregator receives in each round that has data, as (aggregator's index, round, what), in this order.
    pub fn windows(&self) -> impl Iterator<Item = (usize, u64, Received)> + '_ {
        self.windows.iter().map(|(&(aggregator, round), &received)| (aggregator as usize, round, received))
    }
}

/// The second pass: rank after rank, in any order, on any thread.
pub struct Planner {
    aggregators: Arc<[Rank]>,
    domains: Domains,
}

impl Planner {
    /// Divides the file. `histogram` is the sum of [`Ranges::histogram`] over all ranks, for drivers that divide by density.
    ///
    /// # Errors
    /// Bad hints.
    pub fn new(
        topology: Topology,
        layout: Layout,
        driver: Box<dyn Driver>,
        hints: Hints,
        ranges: Ranges,
        histogram: &[u64],
    ) -> Result<Self> {
        let setup = Setup::dry(0, topology, layout, driver, hints)?;
        let Amount { start, end, bytes, .. } = ranges.0;
        let written = Written { start: start.min(end), end, bytes, histogram };
        let aggregators = setup.roles(bytes).aggregators.clone();
        let domains = setup.driver.domains(&setup.layout, aggregators.len(), written, &setup.driver_hints);
        Ok(Self { aggregators, domains })
    }

    /// The aggregators.
    pub fn aggregators(&self) -> &[Rank] {
        &self.aggregators
    }

    /// The counts of `rank` with flat kernels: a head to every aggregator (and a second message if the list does not fit), then
    /// a message for each of its windows. O(extents) time.
    pub fn rank(&self, rank: Rank, file: &Extents) -> Exchanged {
        let aggregators = &self.aggregators;
        let mut all = Exchanged { bytes: file.bytes(), ..Exchanged::default() };
        let own = aggregators.binary_search(&rank).ok();
        let heads = aggregators.len() as u64 - u64::from(own.is_some());
        all.metadata_messages = heads;
        all.metadata_bytes = heads * LENGTH as u64;
        for list in lists(file, &self.domains) {
            let aggregator = list.aggregator;
            let to_itself = Some(aggregator) == own;
            all.extents += list.extents;
            if !to_itself {
                all.metadata_bytes += list.message_bytes as u64;
                all.metadata_messages += u64::from(list.message_bytes > HEAD);
            }
            for InWindow { round, bytes, .. } in list.windows(&self.domains) {
                let received = Received { senders: 1, bytes, least: bytes, most: bytes };
                all.windows.insert((aggregator as u32, round), received);
                all.data_messages += u64::from(!to_itself);
            }
        }
        all
    }
}
