//! Hint values that the search for advice tries in each stage.

use tributary::Hints;
use tributary::error::Result;
use tributary::exchange::KERNELS;
use tributary::hints::DriverName;

use crate::sim::Machine;

/// Hints as text, each a pair of key and value.
pub type Setting = Vec<(String, String)>;

/// Stage of the search for hints. Each stage decides the hints of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Decides the number of aggregators and of Lustre stripes.
    Aggregators,
    /// Decides the size of a stripe or of a window (the piece of the file that an aggregator writes at a time).
    Sizes,
    /// Decides the kernel (message exchange algorithm) and the throttle of the data.
    Data,
    /// Decides the kernel (message exchange algorithm) and the throttle of the metadata.
    Metadata,
}

impl Stage {
    /// All stages, in the order in which the search runs them.
    pub const ALL: [Self; 4] = [Self::Aggregators, Self::Sizes, Self::Data, Self::Metadata];

    /// Returns what the stage decides, in plain words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Aggregators => "aggregators and stripes",
            Self::Sizes => "sizes of stripes or windows",
            Self::Data => "kernel and throttle of the data",
            Self::Metadata => "kernel and throttle of the metadata",
        }
    }

    /// Returns true if candidates of this stage change how the file is divided among aggregators.
    pub fn divides(self) -> bool {
        matches!(self, Self::Aggregators | Self::Sizes)
    }

    /// Returns the settings to try in this stage on `nodes` nodes of a machine. No setting is in the list twice.
    pub fn candidates(self, machine: &Machine, driver: DriverName, nodes: usize) -> Vec<Setting> {
        let mut all = match (self, driver) {
            (Self::Aggregators, _) if driver.is_striped() => stripes(machine, nodes),
            (Self::Aggregators, _) => counts(nodes).map(|count| vec![hint("cb_nodes", count)]).collect(),
            (Self::Sizes, _) if driver.is_striped() => {
                let direct = |size| vec![hint("striping_unit", size), hint("direct_write", "enable")];
                SIZES.into_iter().flat_map(|size| [vec![hint("striping_unit", size)], direct(size)]).collect()
            }
            (Self::Sizes, _) => {
                let windows = std::iter::once(SMALL_WINDOW).chain(SIZES);
                windows.map(|size| vec![hint("cb_buffer_size", size)]).collect()
            }
            (Self::Data, _) => kernels("trib_kernel_data", "trib_throttle_data"),
            (Self::Metadata, _) => kernels("trib_kernel_meta", "trib_throttle_meta"),
        };
        all.dedup();
        all
    }
}

/// Sizes of a stripe or a window that are tried, in bytes.
const SIZES: [u64; 4] = [1 << 20, 4 << 20, 16 << 20, 64 << 20];
/// Smallest size of a window that is tried, in bytes; locks make such small stripes slow.
const SMALL_WINDOW: u64 = 256 << 10;
/// Limits on outstanding sends that are tried, in batches; 0 is no limit.
const THROTTLES: [u64; 3] = [0, 8, 128];
/// Numbers of local aggregators on a node that are tried.
const LOCAL: [u64; 3] = [1, 2, 4];

fn hint(key: &str, value: impl ToString) -> (String, String) {
    (key.to_string(), value.to_string())
}

/// Returns the numbers of aggregators to try: several on each node, or one on each of some nodes.
fn counts(nodes: usize) -> impl Iterator<Item = usize> {
    let all = [nodes / 16, nodes / 4, nodes / 2, nodes, nodes * 2, nodes * 4];
    let mut last = 0;
    all.into_iter().filter(move |&count| count > std::mem::replace(&mut last, count))
}

/// Returns settings with stripe counts of a Lustre file, at most the number of servers, and one or two aggregators a
/// stripe.
fn stripes(machine: &Machine, nodes: usize) -> Vec<Setting> {
    let servers = machine.storage.map_or(1, |storage| storage.servers as usize);
    let mut factors: Vec<usize> = [servers / 16, servers / 4, servers / 2, servers].map(|it| it.max(1)).to_vec();
    factors.extend(counts(nodes).filter(|count| *count <= servers));
    factors.sort_unstable();
    factors.dedup();
    let with = |factor: usize, times: usize| vec![hint("striping_factor", factor), hint("cb_nodes", factor * times)];
    factors.into_iter().flat_map(|factor| [1, 2].map(|times| with(factor, times))).collect()
}

/// Returns a setting for every pair of kernel and throttle. `two_layer` is also tried with each number of local
/// aggregators.
fn kernels(kernel: &str, throttle: &str) -> Vec<Setting> {
    let flat = KERNELS.iter().flat_map(|row| {
        let with = THROTTLES.map(|limit| vec![hint(kernel, row.name), hint(throttle, limit)]);
        std::iter::once(vec![hint(kernel, row.name)]).chain(with)
    });
    let layered = LOCAL.map(|local| vec![hint(kernel, "two_layer"), hint("nc_num_aggrs_per_node", local)]);
    flat.chain(layered).collect()
}

/// Returns the hints, overridden by those of a setting.
///
/// # Errors
/// A value that a hint does not allow.
pub fn with(hints: &Hints, setting: &Setting) -> Result<Hints> {
    let mut hints = hints.clone();
    setting.iter().try_for_each(|(key, value)| hints.set(key, value))?;
    Ok(hints)
}
