//! Any POSIX file system: ranges of equal bytes, one aggregator per node.

use std::path::Path;

use tributary_base::{Error, Rank, Result, Topology};

use crate::domains::Domains;
use crate::driver::{Driver, Layout, Written, window};
use crate::hints::DriverHints;
use crate::placement;
use crate::storage::{OpenStorage, Storage};

/// The unit of a file system that does not tell one, in bytes.
const PAGE: u64 = 4096;

pub struct Posix;

impl Driver for Posix {
    /// The unit is the hint `striping_unit`, or else what the file system calls its preferred size (`st_blksize`).
    fn layout(&self, _: &dyn OpenStorage, path: &Path, file: &dyn Storage, hints: &DriverHints) -> Result<Layout> {
        let told = file.preferred_size().map_err(|cause| Error::io(0, "stat", path, 0, &cause))?;
        let own = if told == 0 { PAGE } else { told };
        Ok(Layout { unit: hints.striping_unit.unwrap_or(own), factor: 1 })
    }

    fn aggregators(&self, topology: &Topology, _: &Layout, hints: &DriverHints) -> Result<Vec<Rank>> {
        placement::choose(topology, hints, placement::per_node(topology, hints, 1))
    }

    fn wants_histogram(&self) -> bool {
        true
    }

    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains {
        let Written { start, end, histogram } = written;
        Domains::equal_bytes(start, end, histogram, layout.unit, aggregators, window(layout, hints))
    }
}
