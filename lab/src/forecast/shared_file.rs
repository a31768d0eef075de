//! The file of a simulated collective write: its aggregators, their file domains, and its servers.

use std::path::Path;
use std::sync::Arc;

use crate::sim::Striping;
use tributary::access::Extents;
use tributary::drivers::{Domains, Driver, Layout, driver};
use tributary::engine::AccessStats;
use tributary::engine::planning::{Planner, count_bytes};
use tributary::error::{Error, Result};
use tributary::hints::{DriverName, Hints};
use tributary::topology::{Rank, Topology};

/// Default stripe or block size in bytes: Lustre's default, and ROMIO's for GPFS.
const UNIT: u64 = 1 << 20;
/// Block size in bytes of a file system without stripes.
const BLOCK: u64 = 4096;

/// Division of a simulated file among aggregators and servers.
#[derive(Debug, Clone)]
pub struct SharedFile {
    /// Ranks of the aggregators, ascending.
    pub aggregators: Arc<[Rank]>,
    /// File domains of the aggregators.
    pub domains: Domains,
    /// First byte of the file that any rank writes, and one past the last.
    pub range: (u64, u64),
    /// Layout of the file on servers. On Lustre, the stripe count is the number of servers; otherwise all servers hold
    /// parts.
    pub striping: Striping,
    /// Number of windows of an aggregator that are in memory at a time.
    pub open_windows: usize,
}

impl SharedFile {
    /// Returns the file's layout, and the driver that the hint `trib_driver` names: `lustre`, `gpfs` or `posix`.
    ///
    /// # Errors
    /// The hint names another driver.
    pub fn placed(hints: &Hints) -> Result<(Layout, Box<dyn Driver>)> {
        let (unit, factor) = match hints.driver {
            DriverName::Lustre => (UNIT, hints.striping_factor.unwrap_or(0)),
            DriverName::Gpfs => (UNIT, 1),
            DriverName::Posix => (BLOCK, 1),
            other => return Err(Error::hint("trib_driver", other, "lustre|gpfs|posix, on a simulated machine")),
        };
        let unit = hints.striping_unit.unwrap_or(unit);
        let direct_from = hints.for_driver().direct_from(false);
        Ok((Layout { direct_from, ..Layout::of(unit, factor) }, driver(hints.driver, Path::new(""))))
    }

    /// Divides the bytes `range` as the driver in the hint `trib_driver` does, `lustre` or `gpfs`: as `posix`, too, if
    /// there is one aggregator, or if bytes are spread evenly. The layout is that of `striping_unit` and `striping_factor`; by
    /// default 1 MiB and, on Lustre, one stripe per node.
    ///
    /// # Errors
    /// Another driver; hints that do not fit.
    pub fn of(topology: &Topology, hints: &Hints, range: (u64, u64)) -> Result<Self> {
        let (start, end) = range;
        let amount = AccessStats { start, end, bytes: end.saturating_sub(start), ..AccessStats::NONE };
        let evenly = Extents::contiguous(start, end.saturating_sub(start))?;
        let (layout, driver) = Self::placed(hints)?;
        let Layout { unit, factor, .. } = layout;
        let Planner { aggregators, domains, open_windows } =
            Planner::new(topology.clone(), layout, driver, hints.clone(), &amount, || {
                Ok::<_, Error>(count_bytes(&evenly, &amount))
            })?;
        let range = (amount.start, amount.end);
        let servers = match (hints.driver, factor) {
            (DriverName::Lustre, 0) => aggregators.len() as u32,
            (DriverName::Lustre, factor) => factor,
            _ => u32::MAX,
        };
        Ok(Self { aggregators, domains, range, striping: Striping { unit, servers }, open_windows })
    }
}
