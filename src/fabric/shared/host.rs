//! The host of a process, and the cores that ranks share there. Processes with the same host name, boot, namespaces and user can
//! map the same memory, if their builds of the library lay it out alike.
//!
//! The ranks agree on the number of cores when they open a file, by integers that they send with the first agreement ([`Cores`]).

use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use tributary_base::fingerprint;
use tributary_base::wire::{Output, Wire};

use super::memory::MEMORY_LAYOUT;
use crate::schedule::ReduceOp::{self, Max, Min};
use crate::topology::Topology;
use crate::world::jobs;
use crate::world::process::per_process;

/// Returns a label of this process's host: equal for processes that can share memory, never 0.
pub fn label() -> u64 {
    per_process! {
        static LABEL: OnceLock<u64> = OnceLock::new();
    }
    *LABEL.get_or_init(|| {
        let name = nix::unistd::gethostname().unwrap_or_default().into_vec();
        let namespaces = ["pid", "ipc", "user"].map(|namespace| {
            std::fs::read_link(format!("/proc/self/ns/{namespace}")).unwrap_or_default().into_os_string().into_vec()
        });
        let user = nix::unistd::getuid().as_raw().to_le_bytes();
        let layout = MEMORY_LAYOUT.to_le_bytes();
        let parts = [&name, boot().unwrap_or_default(), &user, &layout];
        fingerprint(parts.into_iter().chain(namespaces.iter().map(Vec::as_slice))).max(1)
    })
}

/// Returns an identifier that changes with each start of this machine.
fn boot() -> Option<&'static [u8]> {
    per_process! {
        static BOOT: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    }
    BOOT.get_or_init(|| std::fs::read("/proc/sys/kernel/random/boot_id").ok()).as_deref()
}

/// Returns the number of processors that this process may run on, and the number of processors of the machine (not smaller).
/// Asks the system only once, because that takes about twenty system calls.
fn own_and_online() -> (usize, usize) {
    per_process! {
        static COUNTS: OnceLock<(usize, usize)> = OnceLock::new();
    }
    *COUNTS.get_or_init(|| {
        let own = jobs::cores();
        let online = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        (own, online.and_then(|count| usize::try_from(count).ok()).unwrap_or(own).max(own))
    })
}

/// Returns the number of processors that the ranks of this host may use: the processors that this process may run on.
/// If this process is bound to a single one, every rank is assumed to have its own, and all processors count.
pub fn processors() -> usize {
    match own_and_online() {
        (1, online) => online,
        (own, _) => own,
    }
}

/// Facts about the cores that one or more ranks may run on; merged over ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores([u64; Cores::INTEGERS]);

impl Wire for Cores {
    const SIZE: Option<usize> = <[u64; Self::INTEGERS]>::SIZE;

    fn encode(&self, to: &mut impl Output) {
        self.0.encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Wire::decode(from).map(Self)
    }
}

impl Cores {
    /// Number of integers in an agreement.
    pub const INTEGERS: usize = 6;
    /// Operation that merges each integer over ranks. The integers are: the minimum number of cores that a rank may run on,
    /// the minimum number of cores of its machine, minimum and maximum of a hash of the machine, and minimum and maximum of a
    /// hash of the set of cores.
    pub const OPS: [ReduceOp; Self::INTEGERS] = [Min, Min, Min, Max, Min, Max];

    /// Returns the facts of this process.
    pub fn here() -> Self {
        per_process! {
            static HERE: OnceLock<Cores> = OnceLock::new();
        }
        *HERE.get_or_init(|| {
            let (own, online) = own_and_online();
            // Containers have their own host names, but the boot identifier of their machine.
            let name = || nix::unistd::gethostname().unwrap_or_default().into_vec();
            let boot = boot().map_or_else(|| fingerprint([b"host", &name()[..]]), |boot| fingerprint([boot]));
            let set = set();
            Self([own as u64, online as u64, boot, boot, set, set])
        })
    }

    /// Returns the integers, for an agreement by [`Cores::OPS`].
    pub fn to_integers(self) -> [u64; Self::INTEGERS] {
        self.0
    }

    /// Returns the facts that the agreed integers encode.
    pub fn agreed(integers: [u64; Self::INTEGERS]) -> Self {
        Self(integers)
    }

    /// Merges the facts of two sets of ranks.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self(std::array::from_fn(|value| Self::OPS[value].apply(self.0[value], other.0[value])))
    }

    /// Returns the number of cores that all ranks share, at most one for each rank. Exact if all hosts have equal numbers of
    /// ranks and cores; otherwise computed from the host with the most ranks and the fewest cores. Ranks that are bound to
    /// different cores count as if each had its own. `pretended` says that the nodes are simulated: all ranks are then on one
    /// host. If their machines differ nevertheless, the number of ranks on each machine is unknown, and each rank counts with
    /// one core. O(ranks).
    pub fn shared_by(&self, topology: &Topology, pretended: bool) -> f64 {
        let [own, online, machine, other_machine, set, other_set] = self.0;
        let (ranks, nodes) = (topology.ranks() as u64, topology.nodes() as u64);
        let fullest = (0..topology.nodes()).map(|node| topology.ranks_on(node)).max().unwrap_or(1) as f64;
        let cores = match (set == other_set, machine == other_machine) {
            (false, _) => ranks as f64,
            (true, true) if pretended => own as f64,
            (true, false) if pretended => ranks as f64,
            // Containers of one machine share its cores, as far as each may run on them.
            (true, true) => online.min(own.saturating_mul(nodes)) as f64,
            (true, false) => ranks as f64 * own as f64 / fullest,
        };
        cores.min(ranks as f64)
    }
}

/// Returns a hash of the set of cores that this process may run on.
#[cfg(target_os = "linux")]
fn set() -> u64 {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).ok();
    let cores = set.map(|set| {
        (0..nix::sched::CpuSet::count()).map(|core| u8::from(set.is_set(core).unwrap_or(false))).collect::<Vec<_>>()
    });
    fingerprint(cores)
}

/// Returns 0 on all processes: this system does not report the cores of a process.
#[cfg(not(target_os = "linux"))]
fn set() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_and_processors_are_known() {
        assert_eq!(label(), label());
        assert!(processors() >= 1);
    }

    /// Returns the facts of a rank of a machine with `online` cores, which may run on `own` of them; `set` is the hash
    /// of these cores.
    fn rank(own: u64, online: u64, machine: u64, set: u64) -> Cores {
        Cores([own, online, machine, machine, set, set])
    }

    #[test]
    fn cores_are_those_that_ranks_share() {
        let (hosts, single_ranks) = (Topology::blocks(64, 4).unwrap(), Topology::blocks(64, 64).unwrap());
        let one = rank(2, 2, 7, 1);
        let part = rank(2, 64, 7, 1);
        let cases = [
            (one, one, &single_ranks, false, 2.0, "one host"),
            (one, one, &hosts, false, 2.0, "containers of one machine"),
            (part, part, &hosts, false, 32.0, "containers that may have two cores each"),
            (one, one, &hosts, true, 2.0, "pretended nodes"),
            (one, rank(2, 2, 8, 1), &hosts, true, 64.0, "pretended nodes on two machines"),
            (one, rank(2, 2, 8, 1), &hosts, false, 32.0, "two cores for four ranks on each host"),
            (rank(64, 64, 8, 1), rank(2, 2, 7, 1), &hosts, false, 32.0, "the host with the fewest cores"),
            (rank(4, 4, 7, 1), rank(8, 8, 8, 1), &hosts, false, 64.0, "a core for each"),
            (rank(1, 64, 7, 1), rank(1, 64, 7, 2), &single_ranks, false, 64.0, "bound to a core each"),
            (rank(1, 64, 7, 1), rank(1, 64, 7, 1), &single_ranks, false, 1.0, "bound to one core together"),
        ];
        for (a, b, topology, pretended, cores, what) in cases {
            assert_eq!(a.merged(b).shared_by(topology, pretended), cores, "{what}");
            assert_eq!(a.merged(b), b.merged(a));
        }
    }

    #[test]
    fn this_process_has_cores() {
        let [own, online, ..] = Cores::here().to_integers();
        assert!(own >= 1 && online >= own, "{own} of {online}");
    }
}
