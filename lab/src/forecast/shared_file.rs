//! The file of a simulated collective write: its aggregators, their file domains, and its servers.

use std::path::Path;
use std::sync::Arc;

use crate::sim::Striping;
use tributary::access::{Extent, Extents};
use tributary::drivers::{Domains, Driver, Layout, driver};
use tributary::engine::AccessStats;
use tributary::engine::planning::{HISTOGRAM, Planner, count_bytes};
use tributary::error::{Error, Result};
use tributary::hints::{DriverName, Hints};
use tributary::topology::{Rank, Topology};

/// Default stripe or block size in bytes: Lustre's default, and ROMIO's for GPFS.
const UNIT: u64 = 1 << 20;
/// Block size in bytes of a file system without stripes.
const BLOCK: u64 = 4096;
/// Maximum gap in bytes between extents that the library reads in one call of a file system without stripes.
const BRIDGED: u64 = 4096;

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
    /// Extents that are moved in one call each; `None` if a window is one call.
    pub groups: Option<ExtentGroups>,
}

/// Extents that are written or read in one call each, ascending.
#[derive(Debug, Clone)]
pub struct ExtentGroups {
    /// Extents of writes. Others may write the file, so the library does not write into gaps.
    pub written: Arc<[Extent]>,
    /// Extents of reads, which bridge small gaps.
    pub read: Arc<[Extent]>,
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
    /// there is one aggregator, or if bytes are spread evenly (else see [`SharedFile::of_accesses`]). The layout is that
    /// of `striping_unit` and `striping_factor`; by default 1 MiB and, on Lustre, one stripe per node.
    ///
    /// # Errors
    /// Another driver; hints that do not fit.
    pub fn of(topology: &Topology, hints: &Hints, range: (u64, u64)) -> Result<Self> {
        let (start, end) = range;
        let amount = AccessStats { start, end, bytes: end.saturating_sub(start), ..AccessStats::NONE };
        let evenly = Extents::contiguous(start, end.saturating_sub(start))?;
        Self::divided(topology, hints, &amount, || count_bytes(&evenly, &amount))
    }

    /// Divides the file as the driver does that the hint `trib_driver` names, from the accesses of all ranks: also by
    /// their density. The extents of [`SharedFile::groups`] are known then. O(extents log extents).
    ///
    /// # Errors
    /// Another driver; hints that do not fit.
    pub fn of_accesses(topology: &Topology, hints: &Hints, accesses: &[Extents]) -> Result<Self> {
        let mut amount = AccessStats::NONE;
        accesses.iter().for_each(|access| amount.merge(&AccessStats::from_extents(access, 0)));
        (amount.start, amount.end) = (amount.start.min(amount.end), amount.end);
        let histogram = || {
            let mut all = vec![0; HISTOGRAM];
            for access in accesses {
                all.iter_mut().zip(count_bytes(access, &amount)).for_each(|(all, bytes)| *all += bytes);
            }
            all
        };
        let groups = (hints.driver == DriverName::Posix)
            .then(|| ExtentGroups { written: groups(accesses, 0), read: groups(accesses, BRIDGED) });
        Ok(Self { groups, ..Self::divided(topology, hints, &amount, histogram)? })
    }

    fn divided(
        topology: &Topology,
        hints: &Hints,
        amount: &AccessStats,
        histogram: impl FnOnce() -> Vec<u64>,
    ) -> Result<Self> {
        let (layout, driver) = Self::placed(hints)?;
        let Layout { unit, factor, .. } = layout;
        let Planner { aggregators, domains, open_windows } =
            Planner::new(topology.clone(), layout, driver, hints.clone(), amount, || Ok::<_, Error>(histogram()))?;
        let range = (amount.start, amount.end);
        let servers = match (hints.driver, factor) {
            (DriverName::Lustre, 0) => aggregators.len() as u32,
            (DriverName::Lustre, factor) => factor,
            _ => u32::MAX,
        };
        Ok(Self { aggregators, domains, range, striping: Striping { unit, servers }, open_windows, groups: None })
    }
}

/// Returns the extents of all ranks, merged over gaps of up to `gap` bytes. O(extents log extents).
fn groups(accesses: &[Extents], gap: u64) -> Arc<[Extent]> {
    let mut all: Vec<Extent> = accesses.iter().flat_map(Extents::iter).filter(|extent| extent.len > 0).collect();
    all.sort_unstable_by_key(|extent| extent.offset);
    let mut groups: Vec<Extent> = Vec::new();
    for extent in all {
        match groups.last_mut() {
            Some(last) if extent.offset <= last.end() + gap => {
                last.len = last.end().max(extent.end()) - last.offset;
            }
            _ => groups.push(extent),
        }
    }
    groups.into()
}
