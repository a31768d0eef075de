//! What is tried in each stage.

use tributary::Hints;
use tributary::error::Result;
use tributary::exchange::KERNELS;
use tributary::hints::DriverName;

use crate::sim::Machine;

/// Hints by key, as text.
pub type Setting = Vec<(String, String)>;

/// One stage: what is decided in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// How many aggregators, and stripes.
    Aggregators,
    /// How large stripes or windows are.
    Sizes,
    /// Kernel and throttle of the data.
    Data,
    /// Kernel and throttle of the metadata.
    Metadata,
}

impl Stage {
    /// All stages, in their order.
    pub const ALL: [Self; 4] = [Self::Aggregators, Self::Sizes, Self::Data, Self::Metadata];

    /// In plain words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Aggregators => "aggregators and stripes",
            Self::Sizes => "sizes of stripes or windows",
            Self::Data => "kernel and throttle of the data",
            Self::Metadata => "kernel and throttle of the metadata",
        }
    }

    /// Whether candidates of this stage divide the file in another way.
    pub fn divides(self) -> bool {
        matches!(self, Self::Aggregators | Self::Sizes)
    }

    /// The candidates on so many ranks of a machine; those that differ from one another in nothing are given once.
    pub fn candidates(self, machine: &Machine, driver: DriverName, nodes: usize) -> Vec<Setting> {
        let mut all = match (self, driver) {
            (Self::Aggregators, _) if driver.is_striped() => stripes(machine, nodes),
            (Self::Aggregators, _) => counts(nodes).map(|count| vec![hint("cb_nodes", count)]).collect(),
            (Self::Sizes, _) if driver.is_striped() => {
                let direct = |size| vec![hint("striping_unit", size), hint("direct_write", "enable")];
                SIZES.into_iter().flat_map(|size| [vec![hint("striping_unit", size)], direct(size)]).collect()
            }
            (Self::Sizes, _) => SIZES.map(|size| vec![hint("cb_buffer_size", size)]).to_vec(),
            (Self::Data, _) => kernels("trib_kernel_data", "trib_throttle_data"),
            (Self::Metadata, _) => kernels("trib_kernel_meta", "trib_throttle_meta"),
        };
        all.dedup();
        all
    }
}

/// Bytes of a stripe or a window.
const SIZES: [u64; 4] = [1 << 20, 4 << 20, 16 << 20, 64 << 20];
/// Most sends outstanding, in batches; 0 for no limit.
const THROTTLES: [u64; 3] = [0, 8, 128];
/// Local aggregators on every node.
const LOCAL: [u64; 3] = [1, 2, 4];

fn hint(key: &str, value: impl ToString) -> (String, String) {
    (key.to_string(), value.to_string())
}

/// Numbers of aggregators: some to each node, or one to some nodes.
fn counts(nodes: usize) -> impl Iterator<Item = usize> {
    let all = [nodes / 16, nodes / 4, nodes / 2, nodes, nodes * 2, nodes * 4];
    let mut last = 0;
    all.into_iter().filter(move |&count| count > std::mem::replace(&mut last, count))
}

/// Stripe counts of a Lustre file up to the servers there are, with one or two aggregators for each.
fn stripes(machine: &Machine, nodes: usize) -> Vec<Setting> {
    let servers = machine.storage.map_or(1, |storage| storage.servers as usize);
    let mut factors: Vec<usize> = [servers / 16, servers / 4, servers / 2, servers].map(|it| it.max(1)).to_vec();
    factors.extend(counts(nodes).filter(|count| *count <= servers));
    factors.sort_unstable();
    factors.dedup();
    let with = |factor: usize, times: usize| vec![hint("striping_factor", factor), hint("cb_nodes", factor * times)];
    factors.into_iter().flat_map(|factor| [1, 2].map(|times| with(factor, times))).collect()
}

/// Every kernel with its own throttle and with every other; `two_layer` with numbers of local aggregators.
fn kernels(kernel: &str, throttle: &str) -> Vec<Setting> {
    let flat = KERNELS.iter().flat_map(|row| {
        let with = THROTTLES.map(|limit| vec![hint(kernel, row.name), hint(throttle, limit)]);
        std::iter::once(vec![hint(kernel, row.name)]).chain(with)
    });
    let layered = LOCAL.map(|local| vec![hint(kernel, "two_layer"), hint("nc_num_aggrs_per_node", local)]);
    flat.chain(layered).collect()
}

/// Hints with a setting on top.
///
/// # Errors
/// A value that a hint does not allow.
pub fn with(hints: &Hints, setting: &Setting) -> Result<Hints> {
    let mut hints = hints.clone();
    setting.iter().try_for_each(|(key, value)| hints.set(key, value))?;
    Ok(hints)
}
