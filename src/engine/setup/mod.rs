//! What is fixed when a file is opened: settings that all ranks agreed on, as plain data, and two planners, of windows in shared
//! memory and of exchanges.

pub(in crate::engine) mod exchange;
mod groups;
pub(in crate::engine) mod terms;

use std::path::PathBuf;

use crate::access::Direction;
use crate::drivers::{Identity, Layout, Mode, OpenStorage, driver};
use crate::engine::capture::target::CaptureTarget;
use crate::engine::facts::overlap::Tiling;
use crate::engine::policy::learned::{FileSystemKey, Learned};
use crate::engine::policy::rules::Rules;
use crate::engine::policy::windows::WindowPlanner;
use crate::engine::setup::exchange::ExchangePlanner;
use crate::engine::setup::groups::{Groups, find_hosts, may_share, topology_of};
use crate::engine::setup::terms::{Created, FirstAgreement, OpenArguments};
use crate::engine::shared;
use crate::engine::storage::behind::limits::usable_budget;
use crate::engine::storage::sieve::{KnownBytes, Sieve};
use crate::error::Result;
use crate::exchange::cost::Costs;
use crate::fabric::Endpoint;
use crate::hints::{DriverName, Hints, Switch};
use crate::topology::Topology;

pub use groups::{may_be_by_host, meet_hosts, shares_memory_on_nodes};

/// Settings of an open file that do not change. They are equal on all ranks, except where they depend on the rank.
pub struct Setup {
    /// Path of the file.
    pub path: PathBuf,
    /// Mode in which the file was opened.
    pub mode: Mode,
    /// Hints in force, checked.
    pub hints: Hints,
    /// Nodes of the ranks.
    pub topology: Topology,
    /// Name of the storage driver, never [`DriverName::Auto`].
    pub driver_name: DriverName,
    /// Layout of the file on its file system: stripes or blocks.
    pub layout: Layout,
    /// True if collective calls go through memory that all ranks share.
    pub shares_memory: bool,
    /// The ranks, by the memory that they share.
    pub groups: Groups,
    /// True if there are several hosts and each caches the file independently (NFS).
    pub hosts_cache_apart: bool,
    /// What can be known of the bytes of the file without reading them.
    pub known: KnownBytes,
    /// Why collective writes leave no bytes behind although the hints ask for it; `None` if they do, or need not.
    pub no_write_behind: Option<&'static str>,
    /// Identity of the file on rank 0, if ranks are on several hosts, may write, and the file system belongs to one
    /// machine; otherwise `None`.
    pub identity: Option<Identity>,
    /// True if all ranks record their calls for a capture.
    pub is_captured: bool,
    /// Key of the file system, for what its files have in common.
    pub file_system: FileSystemKey,
    /// What the last file on the file system had shown when the file was opened.
    pub learned: Learned,
    /// What a rank's part in a first agreement depends on.
    pub votes: VoteTerms,
    /// Planner of windows in shared memory.
    pub windows: WindowPlanner,
    /// Planner of exchanges.
    pub exchange: ExchangePlanner,
}

/// What a rank's part in a first agreement depends on; equal on all ranks.
#[derive(Debug, Clone, Copy)]
pub struct VoteTerms {
    /// Hash that shows whether the pieces of all ranks tile a range.
    pub tiling: Tiling,
    /// True if every host may write and read the bytes of its ranks without other hosts.
    pub by_host: bool,
    /// Number of bytes of the file that two hosts must not share, if each writes its own.
    pub host_unit: u64,
    /// True if rank 0 may write small data of all ranks.
    pub first_writes: bool,
}

impl VoteTerms {
    /// Returns the terms of a file whose exchanges `exchange` plans.
    pub fn new(tiling: Tiling, by_host: bool, hints: &Hints, exchange: &ExchangePlanner, layout: &Layout) -> Self {
        let host_unit = match hints.host_domains {
            // Two hosts must not access the same block of the file system.
            Switch::Enable => layout.unit.max(exchange.windows_in_memory().lock_unit),
            Switch::Automatic | Switch::Disable => 1,
        };
        let is_first = exchange.roles.aggregators.first() == Some(&0);
        let first_writes = hints.tiny_call > 0 && hints.cb_write != Switch::Disable && is_first;
        Self { tiling, by_host, host_unit, first_writes }
    }
}

impl Setup {
    /// Creates, empties or opens the file on rank 0, and computes the settings. Returns `None` if the first agreement
    /// forbids the open. Collective: one agreement; for the first file of an endpoint by messages, with an allreduce
    /// when the ranks of a host map memory.
    ///
    /// # Errors
    /// Bad hints, or the file cannot be made: the same on all ranks.
    pub async fn open(
        endpoint: &mut Endpoint,
        files: &dyn OpenStorage,
        path: PathBuf,
        mode: Mode,
        hints: Hints,
        capture: Option<&CaptureTarget>,
        first_agreement: &mut FirstAgreement<'_>,
    ) -> Result<Option<Self>> {
        let asked = OpenArguments { files, path: &path, mode, hints: &hints, ranks: endpoint.ranks() };
        let is_first = endpoint.labels().is_none() && first_agreement.opens;
        let offer =
            is_first.then(|| endpoint.offer(may_share(endpoint, &hints, true), (shared::CONTROL, shared::AREA)));
        let address = offer.as_ref().map(|offer| offer.address);
        let Some(agreed) = terms::agree_on_terms(endpoint, &asked, capture, address, first_agreement).await? else {
            return Ok(None);
        };
        // Not earlier: with different hints, not all ranks would take part.
        let hosts = find_hosts(endpoint, &hints, offer.zip(agreed.all)).await?;
        let topology = topology_of(endpoint, &hints)?;
        let Created {
            name,
            layout,
            hosts_cache_apart,
            known,
            locks,
            identity,
            key,
            file_system,
            learned,
            alike,
            costs,
        } = agreed.created;
        let driver = driver(name, &path);
        let unit = driver.lock_unit(&layout);
        let by_host =
            hosts.as_ref().is_some_and(|hosts| hosts.shares() && may_be_by_host(hosts.leaders().len(), &hints, unit));
        let several = hosts.as_ref().is_some_and(|hosts| hosts.leaders().len() > 1);
        let hosts_cache_apart = hosts_cache_apart && several;
        let by_host = by_host && (!hosts_cache_apart || hints.host_domains == Switch::Enable);
        // A write that fills a hole would overwrite what another host has written there meanwhile.
        let hints = match hints.ds_write {
            Switch::Automatic if hosts_cache_apart => Hints { ds_write: Switch::Disable, ..hints },
            _ => hints,
        };
        // Set the value in force, for readers of the hints in a capture.
        let hints = match hints.direct_write {
            Switch::Automatic if layout.direct_from.is_some() => Hints { direct_write: Switch::Enable, ..hints },
            _ => hints,
        };
        let no_write_behind = match hints.write_behind {
            Some(0) => None,
            _ if mode == Mode::Read => Some("the file is only read"),
            _ if hints.announce_writes => Some("trib_announce_writes is true"),
            _ if hosts_cache_apart => Some("the hosts cache the file independently"),
            _ => locks.why_not(several),
        };
        // Set the value in force, for readers of the hints.
        let hints = match no_write_behind {
            Some(_) => Hints { write_behind: Some(0), ..hints },
            None => {
                Hints { write_behind: hints.write_behind.map(|each| usable_budget(each, endpoint.rank())), ..hints }
            }
        };
        let cores = alike.cores.shared_by(&topology, hints.ranks_per_node > 0);
        let shares_memory = may_share(endpoint, &hints, false) && endpoint.shared().is_some();
        let groups = Groups::new(endpoint, hosts, shares_memory);
        let costs = costs.unwrap_or(Costs::CLUSTER).crowded(topology.ranks(), cores);
        // The result is the same on all ranks, even an error: it depends only on agreed values.
        let exchange = ExchangePlanner::new(endpoint.rank(), &topology, layout, driver, &hints, costs)?;
        let windows = exchange.windows_in_memory();
        let votes = VoteTerms::new(Tiling::from_key(key), by_host, &hints, &exchange, &layout);
        Ok(Some(Self {
            path,
            mode,
            topology,
            driver_name: name,
            layout,
            shares_memory,
            groups,
            hosts_cache_apart,
            known,
            no_write_behind,
            // Files that are only read may be copies on the disks of the hosts.
            identity: identity.filter(|_| several && mode != Mode::Read),
            is_captured: alike.is_captured,
            file_system,
            learned: if hints.aggregators_fixed { Learned::default() } else { learned },
            votes,
            windows,
            exchange,
            hints,
        }))
    }

    /// Returns what a write does about gaps. `is_sole` is true if nobody else can be writing the file during the call.
    pub fn write_sieve(&self, is_sole: bool) -> Sieve {
        Sieve::of_write(self.hints.ds_write, self.windows.lock_unit, is_sole, self.known)
    }

    /// Returns the rules that choose the path of a call.
    #[inline]
    pub fn rules(&self, direction: Direction) -> Rules<'_> {
        Rules { hints: &self.hints, windows: &self.windows, direction, in_memory: self.shares_memory }
    }
}
