//! What a caller asks of a driver: the few hints of MPI-IO, and of ours, that say where a file lies and who aggregates.

use serde::{Deserialize, Serialize};
use tributary_base::Rank;

use crate::direct::DIRECT_FROM;

/// What an aggregator usually holds of the file in one round, in bytes.
pub const USUAL_WINDOW: u64 = 16 << 20;

/// What a driver wants to know. A field has the name of its hint; `None` leaves the choice to the driver.
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
    /// The server of a new file's first stripe on Lustre, 0 to 65534.
    pub start_iodevice: Option<u16>,
    /// How many aggregators, above 0; cut down to the ranks that there are and that `cb_config_list` permits.
    pub cb_nodes: Option<usize>,
    /// The most aggregators of any one node, above 0; `None`: no limit.
    pub cb_config_list: Option<usize>,
    /// What an aggregator holds of the file in one round, in bytes, above 0.
    pub cb_buffer_size: u64,
    /// Whether large writes go past the cache of the file system's client; `None`: where the driver knows that they gain by it.
    pub direct_write: Option<bool>,
    /// Whether aggregators tell the file system what they are about to write ([`Driver::will_write`](crate::Driver::will_write)).
    pub announces_writes: bool,
    /// Which ranks aggregate: hint `trib_placement`.
    pub placement: Placement,
}

impl Default for DriverHints {
    /// Windows of 16 MiB; all else is left to the driver.
    fn default() -> Self {
        Self {
            striping_unit: None,
            striping_factor: None,
            start_iodevice: None,
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
    /// The least write that goes past the cache, where the file system `gains` by it or not; see [`Layout::direct_from`](crate::Layout::direct_from).
    pub fn direct_from(&self, gains: bool) -> Option<u64> {
        self.direct_write.unwrap_or(gains).then_some(DIRECT_FROM)
    }
}

/// Which ranks are aggregators.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// The driver's own placement.
    Default,
    /// Ranks `0, K, 2 K, ...` (the paper's default on Cori with K = 64).
    Stride(usize),
    /// As far apart as there are nodes (the paper's `AGGREGATOR_PLACEMENT_STRIDE=-1`).
    Spread,
    /// The lowest rank of every node (with `cb_config_list=*:1` the GPFS default).
    LowestPerNode,
    /// These ranks, whatever the driver would like.
    List(Vec<Rank>),
}
