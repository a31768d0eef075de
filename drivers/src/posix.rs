//! The driver for any POSIX file system: ranges of equal bytes, one aggregator per node.

use std::path::Path;

use tributary_base::error::FileOperation;
use tributary_base::{Error, Rank, Result, Topology};

use crate::domains::Domains;
use crate::driver::{Driver, Layout, Written, window};
use crate::hints::{DriverHints, USUAL_WINDOW};
use crate::placement;
use crate::storage::{OpenStorage, Storage};

/// Alignment of domains on a file system that does not return its preferred size, in bytes.
const PAGE: u64 = 4096;
/// Minimum size of a window, in bytes. Larger windows save only messages, and the first use of their memory takes
/// long: with 4 MiB instead of 16 MiB, E3SM-IO's I case takes 0.8 to 0.9 of the time, and F, BTIO and S3D-IO no more
/// than before.
const LEAST_WINDOW: u64 = 4 << 20;
/// Number of bytes in a window for each rank: the mean size of a message if every rank has bytes in every window.
const WINDOW_PER_RANK: u64 = 64 << 10;

pub struct Posix;

impl Driver for Posix {
    /// Takes the unit from the hint `striping_unit`, or else from the file system's preferred size (`st_blksize`).
    fn layout(&self, _: &dyn OpenStorage, path: &Path, file: &dyn Storage, hints: &DriverHints) -> Result<Layout> {
        let preferred =
            file.control().preferred_size().map_err(|cause| Error::io(0, FileOperation::Stat, path, None, &cause))?;
        let own = if preferred == 0 { PAGE } else { preferred };
        Ok(Layout { direct_from: hints.direct_from(false), ..Layout::of(hints.striping_unit.unwrap_or(own), 1) })
    }

    fn aggregators(&self, topology: &Topology, _: &Layout, hints: &DriverHints) -> Result<Vec<Rank>> {
        placement::choose(topology, hints, placement::per_node(topology, hints, 1))
    }

    fn usual_window(&self, ranks: usize) -> u64 {
        WINDOW_PER_RANK.saturating_mul(ranks as u64).clamp(LEAST_WINDOW, USUAL_WINDOW)
    }

    fn wants_histogram(&self) -> bool {
        true
    }

    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains {
        let Written { start, end, histogram, .. } = written;
        Domains::equal_bytes(start, end, histogram, layout.unit, aggregators, window(layout, hints))
    }
}
