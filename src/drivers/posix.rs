//! Any POSIX file system: ranges of equal bytes, one aggregator per node.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Domains, Driver, Layout, Written, placement, window};
use crate::error::{Error, Result};
use crate::hints::{DriverName, Hints};
use crate::topology::{Rank, Topology};

/// The unit of a file system that does not tell one, in bytes.
const PAGE: u64 = 4096;

pub(super) struct Posix;

impl Driver for Posix {
    fn name(&self) -> DriverName {
        DriverName::Posix
    }

    /// The unit is the hint `striping_unit`, or else what the file system calls its preferred size (`st_blksize`).
    fn layout(&self, path: &Path, file: &File, hints: &Hints) -> Result<Layout> {
        let told = file.metadata().map_err(|cause| Error::io(0, "stat", path, 0, &cause))?.blksize();
        let own = if told == 0 { PAGE } else { told };
        Ok(Layout { unit: hints.striping_unit.unwrap_or(own), factor: 1 })
    }

    fn aggregators(&self, topology: &Topology, _: &Layout, hints: &Hints) -> Result<Vec<Rank>> {
        placement::choose(topology, hints, placement::per_node(topology, hints))
    }

    fn wants_histogram(&self) -> bool {
        true
    }

    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &Hints) -> Domains {
        let Written { start, end, histogram } = written;
        Domains::equal_bytes(start, end, histogram, layout.unit, aggregators, window(layout, hints))
    }
}
