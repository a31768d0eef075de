//! The settings that are fixed when a file is opened: plain data on which its I/O depends ([`FileTerms`]); the groups of its
//! ranks that share memory; and two planners, of windows in shared memory and of exchanges.

use std::path::PathBuf;
use std::sync::Arc;

use crate::access::{AccessStats, Direction, Tiling};
use crate::collectives::team::Team;
use crate::drivers::{Mode, OpenStorage, Storage, driver};
use crate::engine::agree::first::VoteTerms;
use crate::engine::choose::MOST_WRITERS;
use crate::engine::choose::cost::Ways;
use crate::engine::choose::learned::{FileSystemKey, Learned};
use crate::engine::choose::rules::Rules;
use crate::engine::choose::windows::WindowPlanner;
use crate::engine::exchange::planner::ExchangePlanner;
use crate::engine::file::opening::{self, Created, FirstAgreement, OpenArguments};
use crate::engine::io::call_cost::CallCost;
use crate::engine::io::terms::FileTerms;
use crate::engine::io::write_behind::limits::{WriteBehindLimits, automatic_budget, usable_budget};
use crate::engine::shared::{self, Arena};
use crate::engine::trace::capture::target::CaptureTarget;
use crate::engine::trace::path::Path;
use crate::error::{Error, Result};
use crate::exchange::cost::Costs;
use crate::fabric::Endpoint;
use crate::fabric::shared::{HostAddress, Hosts, HostsAre, MemoryOffer, Shared};
use crate::hints::{DriverName, Hints, PlacementHint, Switch};
use crate::topology::{Rank, Topology};

/// Settings of an open file that do not change. They are equal on all ranks, except where they depend on the rank.
pub struct Setup {
    /// Settings of the file that reading and writing depend on.
    pub file: Arc<FileTerms>,
    /// Name of the storage driver, never [`DriverName::Auto`].
    pub driver_name: DriverName,
    /// True if collective calls go through memory that all ranks share.
    pub shares_memory: bool,
    /// The ranks, by the memory that they share.
    pub groups: Groups,
    /// Why collective writes do not buffer bytes although the hints ask for it; `None` if they do, or need not.
    pub no_write_behind: Option<&'static str>,
    /// True if all ranks record their calls for a capture.
    pub is_captured: bool,
    /// Key of the file system: what is learned on one of its files is used on the next.
    pub file_system: FileSystemKey,
    /// Rates and shares learned on the last file on the file system, when this file was opened.
    pub learned: Learned,
    /// Values from which each rank forms its part in a first agreement.
    pub votes: VoteTerms,
    /// Planner of windows in shared memory.
    pub windows: WindowPlanner,
    /// Planner of exchanges.
    pub exchange: ExchangePlanner,
    /// The open file on rank 0, for this rank's handle; `None` on the other ranks.
    pub opened: Option<Box<dyn Storage>>,
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
        let is_first = endpoint.real_hosts().is_none() && first_agreement.opens;
        let offer =
            is_first.then(|| endpoint.offer(may_share(endpoint, &hints, true), (shared::CONTROL, shared::AREA)));
        let address = offer.as_ref().map(|offer| offer.address);
        let Some(agreed) = opening::agree_on_terms(endpoint, &asked, capture, address, first_agreement).await? else {
            return Ok(None);
        };
        // Only after the agreement: with different hints, some ranks would not take part.
        let hosts = find_hosts(endpoint, &hints, offer.zip(agreed.all)).await?;
        let topology = topology_of(endpoint, &hints)?;
        let Created {
            name,
            layout,
            caches_incoherent,
            known,
            locks,
            identity,
            key,
            file_system,
            learned,
            alike,
            machine,
        } = agreed.created;
        let driver = driver(name, &path);
        let unit = driver.lock_unit(&layout);
        let by_host = hosts.as_ref().is_some_and(|hosts| hosts.shares() && may_be_by_host(hosts.count(), &hints, unit));
        let several = hosts.as_ref().is_some_and(|hosts| hosts.count() > 1);
        let caches_incoherent = caches_incoherent && several;
        let by_host = by_host && (!caches_incoherent || hints.host_domains == Switch::Enable);
        // A write that fills a hole would overwrite what another host has written there meanwhile.
        let hints = match hints.ds_write {
            Switch::Automatic if caches_incoherent => Hints { ds_write: Switch::Disable, ..hints },
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
            _ if caches_incoherent => Some("the hosts cache the file independently"),
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
        let costs = machine.messages.unwrap_or(Costs::CLUSTER).crowded(topology.ranks(), cores);
        // The result is the same on all ranks, even an error: it depends only on agreed values.
        let exchange = ExchangePlanner::new(endpoint.rank(), &topology, layout, driver, &hints, costs)?;
        let windows = exchange.windows;
        let votes = VoteTerms::new(Tiling::from_key(key), by_host, &hints, &exchange, &layout);
        // Each host may have its own copy of a file that is only read, so do not compare identities.
        let identity = identity.filter(|_| several && mode != Mode::Read);
        let mut learned = if hints.aggregators_fixed { Learned::default() } else { learned };
        if let Some(costs) = machine.files {
            learned.ways = Ways::stated(costs);
        }
        // Bytes that are buffered have no times.
        let is_fixed = hints.aggregators_fixed || hints.write_behind != Some(0);
        let call_costs = [Direction::Write, Direction::Read].map(|direction| match is_fixed {
            true => Arc::new(CallCost::fixed(windows.lock_unit)),
            false => match machine.files {
                Some(costs) => Arc::new(CallCost::known(windows.lock_unit, costs)),
                None => CallCost::of(file_system, direction, windows.lock_unit),
            },
        });
        let file = FileTerms { path, mode, hints, topology, layout, caches_incoherent, known, call_costs, identity };
        Ok(Some(Self {
            file: Arc::new(file),
            driver_name: name,
            shares_memory,
            groups,
            no_write_behind,
            is_captured: alike.is_captured,
            file_system,
            learned,
            votes,
            windows,
            exchange,
            // Where hosts cache the file independently, a handle must not be older than the bytes that it is to see.
            opened: agreed.file.filter(|_| !caches_incoherent),
        }))
    }

    /// Returns the rules that choose the path of a call.
    #[inline]
    pub fn rules(&self, direction: Direction) -> Rules<'_> {
        let (ranks, in_memory) = (self.file.topology.ranks() as u64, self.shares_memory);
        let slow_call = self.file.call_costs[usize::from(direction == Direction::Read)].slow_call();
        Rules { hints: &self.file.hints, windows: &self.windows, direction, in_memory, ranks, slow_call }
    }

    /// Returns the number of aggregators of a call, for reports.
    pub fn aggregators(&self, path: Path, left: &AccessStats) -> usize {
        match path {
            Path::Root | Path::Slots | Path::Windows => 1,
            Path::Hosts => self.groups.hosts.as_ref().map_or(0, |hosts| hosts.count()),
            Path::Exchange => self.exchange.roles(left.bytes).aggregators.len(),
            Path::Nothing | Path::Independent | Path::Direct => 0,
        }
    }

    /// Returns the limits of what `rank` buffers; `None` if collective writes do not buffer bytes.
    pub fn write_behind_limits(&self, rank: Rank) -> Option<WriteBehindLimits> {
        let (hints, topology) = (&self.file.hints, &self.file.topology);
        let each = match hints.write_behind {
            Some(0) => return None,
            Some(each) => each,
            None => automatic_budget(topology.ranks_on(topology.node_of(rank))),
        };
        let (ranks, aggregators) = (topology.ranks(), &self.exchange.roles.aggregators);
        // In shared memory all ranks write windows, so none needs room for the bytes of others.
        let writes_for_others = !self.shares_memory && aggregators.contains(&rank);
        let serves = if writes_for_others { ranks.div_ceil(aggregators.len()) } else { 1 };
        let threads = if writes_for_others || ranks == 1 { MOST_WRITERS } else { 1 };
        let adapts_on = hints.write_behind.is_none().then_some(self.file_system);
        Some(WriteBehindLimits { bytes: each.saturating_mul(serves as u64), threads, adapts_on })
    }
}

/// The ranks of a file, by the memory that they share.
pub struct Groups {
    /// The hosts of the ranks; `None` if all ranks share memory.
    pub hosts: Option<Arc<Hosts>>,
    /// All ranks, which decide together in each call.
    pub team: Team,
    /// Windows in shared memory, of all ranks or of the ranks of this host; `None` if this rank shares no memory.
    arena: Option<Arc<Arena>>,
}

impl Groups {
    /// Returns the groups of the ranks of an endpoint. `hosts` must be known unless `shares_memory` is true: all ranks
    /// share memory, and calls go through it. Local.
    pub fn new(endpoint: &Endpoint, hosts: Option<Arc<Hosts>>, shares_memory: bool) -> Self {
        let shared = match shares_memory {
            true => endpoint.shared(),
            false => hosts.as_ref().and_then(|hosts| hosts.here().cloned()),
        };
        let team = match (&shared, &hosts) {
            (Some(shared), _) if shares_memory => Team::Host(shared.clone()),
            (_, Some(hosts)) if hosts.shares() => Team::Hosts(hosts.clone()),
            _ => Team::Ranks,
        };
        Self { hosts, team, arena: shared.map(|shared| Arc::new(Arena::new(shared))) }
    }

    /// Returns the ranks of this host that share windows with this rank; `None` if there are none.
    pub fn host(&self) -> Option<&Arc<Shared>> {
        self.arena.as_ref().map(|arena| arena.team())
    }

    /// Returns the windows in shared memory.
    ///
    /// # Errors
    /// This rank shares no memory.
    pub fn arena(&self, rank: Rank) -> Result<&Arc<Arena>> {
        self.arena.as_ref().ok_or_else(|| Error::internal(rank, "no shared memory for the file"))
    }
}

/// Returns true if the hints let ranks share memory: all ranks, or (`in_nodes`) the ranks of each node. Ranks of
/// simulated nodes share memory inside each node, and only if the hint says so.
fn may_share(endpoint: &Endpoint, hints: &Hints, in_nodes: bool) -> bool {
    lets_share(hints, (endpoint.ranks(), endpoint.shares_memory()), in_nodes)
}

/// Returns the value of [`may_share`] for `ranks` ranks. `unasked` is true if ranks of a host share memory by default.
fn lets_share(hints: &Hints, (ranks, unasked): (usize, bool), in_nodes: bool) -> bool {
    let pretended = (1..ranks).contains(&hints.ranks_per_node);
    match hints.shared_memory {
        Switch::Enable => in_nodes || !pretended,
        Switch::Disable => false,
        Switch::Automatic => unasked && hints.ranks_per_node == 0,
    }
}

/// Returns (all ranks share memory, the ranks of each host share memory) for `ranks` ranks on `nodes` hosts. For predictions.
pub fn shares_memory_on_nodes(hints: &Hints, ranks: usize, nodes: usize) -> (bool, bool) {
    let shares = |in_nodes| lets_share(hints, (ranks, true), in_nodes);
    (nodes == 1 && shares(false), nodes > 1 && shares(true))
}

/// Returns true if hints and file system let each of `hosts` hosts write and read without the others. A user who asks
/// for fewer aggregators than hosts, or for certain ones, wants no other ranks to write.
pub fn may_be_by_host(hosts: usize, hints: &Hints, lock_unit: u64) -> bool {
    match hints.host_domains {
        Switch::Enable => true,
        Switch::Disable => false,
        Switch::Automatic => {
            let enough = hints.cb_nodes.is_none_or(|count| count >= hosts);
            lock_unit == 1 && enough && hints.placement == PlacementHint::Default
        }
    }
}

/// Finds which ranks of an endpoint share a host, and maps the memory that they share. If all ranks share it, opening a
/// file needs no more messages. Does nothing if the hosts are known. Collective: an allgather of 16 bytes a rank and an
/// allreduce.
///
/// # Errors
/// Errors of the message transport.
pub async fn meet_hosts(endpoint: &mut Endpoint) -> Result<()> {
    if endpoint.ranks() == 1 || endpoint.hosts().is_some() {
        return Ok(());
    }
    endpoint.find_hosts(HostsAre::Real, (shared::CONTROL, shared::AREA)).await.map(drop)
}

/// Finds the hosts of the ranks, for the first agreement of each call; `None` if all ranks share memory. For the first file
/// of an endpoint, `sent` has this rank's offer of memory and the host addresses of all ranks. Collective.
async fn find_hosts(
    endpoint: &mut Endpoint,
    hints: &Hints,
    sent: Option<(MemoryOffer, Vec<HostAddress>)>,
) -> Result<Option<Arc<Hosts>>> {
    if !may_share(endpoint, hints, true) {
        let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
        let real = match (sent, endpoint.real_hosts()) {
            (Some((_, all)), _) => Topology::listed(&all.iter().map(|one| one.label()).collect::<Vec<_>>())?,
            (None, Some(real)) => real.clone(),
            (None, None) => return Err(Error::internal(rank, "no rank has sent the address of its host")),
        };
        endpoint.share_nothing(real);
        return Ok(Some(Arc::new(Hosts::one_rank_each(rank, ranks)?)));
    }
    let are = match hints.ranks_per_node {
        0 => HostsAre::Real,
        each => HostsAre::Pretended(each),
    };
    let hosts = match sent {
        Some((offer, all)) => endpoint.settle(are, offer, all).await?,
        None => endpoint.find_hosts(are, (shared::CONTROL, shared::AREA)).await?,
    };
    if may_share(endpoint, hints, false) && endpoint.shared().is_some() {
        return Ok(None);
    }
    endpoint.waiting().waker().set_crowded(!hosts.spins());
    Ok(Some(hosts))
}

/// Returns the topology that the hints simulate, or the real one. Local; the hosts must be known.
fn topology_of(endpoint: &Endpoint, hints: &Hints) -> Result<Topology> {
    let ranks = endpoint.ranks();
    match endpoint.real_hosts() {
        _ if hints.ranks_per_node > 0 => Topology::blocks(ranks, hints.ranks_per_node),
        Some(real) if endpoint.shared().is_none() => Ok(real.clone()),
        _ => Topology::blocks(ranks, ranks),
    }
}
