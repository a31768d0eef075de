//! The driver for NFS, also for servers of flash memory such as VAST: ranges of equal bytes, several aggregators per node.
//!
//! If ranks run on several hosts, writes go past the host's cache
//! ([`writes_whole_pages`](crate::FileSystem::writes_whole_pages)), and nothing takes locks of the file: aggregators own
//! disjoint ranges.

use std::path::Path;

use tributary_base::{Rank, Result, Topology};

use crate::domains::Domains;
use crate::driver::{Driver, Layout, Written};
use crate::hints::{DriverHints, Placement};
use crate::placement;
use crate::posix::Posix;
use crate::storage::{FileSystem, OpenStorage, Storage};

/// Number of aggregators on a node. A write past the cache waits for the server, and an aggregator does not write while it
/// receives messages; so several aggregators keep the connection to the server busy. Sites with VAST tell users to make every
/// rank an aggregator (CSCS, 2026). Each aggregator needs windows in memory and more messages, so there are no more. (Not
/// measured on VAST yet.)
const AGGREGATORS: usize = 4;

pub struct Nfs;

impl Driver for Nfs {
    fn magic(&self) -> Option<u32> {
        Some(FileSystem::NFS)
    }

    fn layout(&self, files: &dyn OpenStorage, path: &Path, file: &dyn Storage, hints: &DriverHints) -> Result<Layout> {
        Posix.layout(files, path, file, hints)
    }

    /// Chooses [`AGGREGATORS`] on every node. Chooses one if there is one node, or if a placement is hinted, which may
    /// have no room for more.
    fn aggregators(&self, topology: &Topology, _: &Layout, hints: &DriverHints) -> Result<Vec<Rank>> {
        let usual = if topology.nodes() > 1 && hints.placement == Placement::Default { AGGREGATORS } else { 1 };
        placement::choose(topology, hints, placement::per_node(topology, hints, usual))
    }

    fn usual_window(&self, ranks: usize) -> u64 {
        Posix.usual_window(ranks)
    }

    fn wants_histogram(&self) -> bool {
        Posix.wants_histogram()
    }

    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains {
        Posix.domains(layout, aggregators, written, hints)
    }
}
