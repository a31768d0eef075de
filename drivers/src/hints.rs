//! The hints for a driver: they set the layout of a file and choose aggregators.

use serde::{Deserialize, Serialize};
use tributary_base::Rank;

use crate::direct::DIRECT_FROM;

/// Default size of a window in bytes.
pub const USUAL_WINDOW: u64 = 16 << 20;

/// The hints for a driver. Each field has the name of its hint; `None` leaves the choice to the driver.
///
/// ```
/// use tributary_drivers::DriverHints;
/// let hints = DriverHints { striping_unit: Some(1 << 20), cb_nodes: Some(8), ..DriverHints::default() };
/// assert_eq!(hints.cb_buffer_size, 16 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverHints {
    /// Stripe size (Lustre) or block size, in bytes, above 0.
    pub striping_unit: Option<u64>,
    /// Number of stripes of a new file on Lustre, 1 to 65532.
    pub striping_factor: Option<u32>,
    /// Number of the server (OST) of a new file's first stripe on Lustre, 0 to 65534.
    pub start_iodevice: Option<u16>,
    /// Number of stripes of a new file that each Lustre server gets, above 0: `striping_factor` stripes lie on
    /// `striping_factor` divided by this number servers. With 1, Lustre chooses the servers.
    pub overstriping_ratio: u16,
    /// Number of aggregators, above 0; reduced to the number of ranks, and to what `cb_config_list` permits.
    pub cb_nodes: Option<usize>,
    /// Maximum number of aggregators on a node, above 0; `None`: no limit.
    pub cb_config_list: Option<usize>,
    /// Size of a window in bytes, above 0.
    pub cb_buffer_size: u64,
    /// True if large writes bypass the page cache; `None`: the driver chooses.
    pub direct_write: Option<bool>,
    /// True if aggregators announce their writes to the file system ([`Driver::will_write`](crate::Driver::will_write)).
    pub announces_writes: bool,
    /// Rule that chooses the aggregators: hint `trib_placement`.
    pub placement: Placement,
}

impl Default for DriverHints {
    /// Returns hints with windows of 16 MiB that leave everything else to the driver.
    fn default() -> Self {
        Self {
            striping_unit: None,
            striping_factor: None,
            start_iodevice: None,
            overstriping_ratio: 1,
            cb_nodes: None,
            cb_config_list: None,
            cb_buffer_size: USUAL_WINDOW,
            direct_write: None,
            announces_writes: false,
            placement: Placement::Default,
        }
    }
}

impl DriverHints {
    /// Returns the minimum size, in bytes, of writes that go past the cache. `gains` is true if direct writes are
    /// faster on this file system; it decides if no hint is set. See
    /// [`Layout::direct_from`](crate::Layout::direct_from).
    pub fn direct_from(&self, gains: bool) -> Option<u64> {
        self.direct_write.unwrap_or(gains).then_some(DIRECT_FROM)
    }

    /// Returns true if a hint sets the stripe size, the number of stripes or the first server of a new file.
    pub fn asks_for_stripes(&self) -> bool {
        self.striping_unit.is_some() || self.striping_factor.is_some() || self.start_iodevice.is_some()
    }
}

/// The rule that chooses which ranks are aggregators.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// The driver chooses the ranks.
    Default,
    /// Ranks `0, K, 2 K, ...` (the paper's default on Cori with K = 64).
    Stride(usize),
    /// Ranks at equal distances over all nodes (the paper's `AGGREGATOR_PLACEMENT_STRIDE=-1`).
    Spread,
    /// The lowest rank of every node (with `cb_config_list=*:1` the GPFS default).
    LowestPerNode,
    /// Exactly these ranks.
    List(Vec<Rank>),
}
