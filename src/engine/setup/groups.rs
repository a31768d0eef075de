//! The ranks of a file: who shares memory, and who decides together.

use std::sync::Arc;

use crate::collectives::team::Team;
use crate::engine::shared::{self, Arena};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::{HostAddress, Hosts, HostsAre, MemoryOffer, Shared};
use crate::hints::{Hints, PlacementHint, Switch};
use crate::topology::{Rank, Topology};

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
    /// Returns the groups of the ranks of an endpoint. `hosts` are known unless all ranks share memory, and call through
    /// it (`shares_memory`). Local.
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
    pub fn arena(&self, rank: Rank) -> Result<&Arena> {
        self.arena.as_deref().ok_or_else(|| Error::internal(rank, "no shared memory for the file"))
    }
}

/// Returns true if the hints let ranks share memory: all ranks, or (`in_nodes`) the ranks of each node. Ranks of
/// simulated nodes share memory inside each node, and only if the hint says so.
pub(super) fn may_share(endpoint: &Endpoint, hints: &Hints, in_nodes: bool) -> bool {
    lets_share(hints, (endpoint.ranks(), endpoint.shares_memory()), in_nodes)
}

/// Returns the value of [`may_share`] for `ranks` ranks. `unasked` is true if ranks of a host share memory without a
/// hint.
fn lets_share(hints: &Hints, (ranks, unasked): (usize, bool), in_nodes: bool) -> bool {
    let pretended = (1..ranks).contains(&hints.ranks_per_node);
    match hints.shared_memory {
        Switch::Enable => in_nodes || !pretended,
        Switch::Disable => false,
        Switch::Automatic => unasked && hints.ranks_per_node == 0,
    }
}

/// Returns true if ranks of `nodes` hosts share memory, all of them (the first value) or those of each host (the second). For
/// predictions.
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

/// Finds the hosts of the ranks, which make the first agreement of a call; `None` if all ranks share memory. For the
/// first file of an endpoint, `told` has this rank's offer of memory and the host addresses of all ranks. Collective.
pub(super) async fn find_hosts(
    endpoint: &mut Endpoint,
    hints: &Hints,
    told: Option<(MemoryOffer, Vec<HostAddress>)>,
) -> Result<Option<Arc<Hosts>>> {
    if !may_share(endpoint, hints, true) {
        let labels = told.map(|(_, all)| all.iter().map(|one| one.label()).collect());
        let labels = labels.or_else(|| endpoint.labels().cloned()).unwrap_or_default();
        endpoint.share_nothing(labels);
        return Ok(Some(Arc::new(Hosts::one_rank_each(endpoint.rank(), endpoint.ranks()))));
    }
    let are = match hints.ranks_per_node {
        0 => HostsAre::Real,
        each => HostsAre::Pretended(each),
    };
    let hosts = match told {
        Some((offer, all)) => endpoint.settle(are, offer, &all).await?,
        None => endpoint.find_hosts(are, (shared::CONTROL, shared::AREA)).await?,
    };
    if may_share(endpoint, hints, false) && endpoint.shared().is_some() {
        return Ok(None);
    }
    endpoint.waiting().waker().set_crowded(!hosts.spins());
    Ok(Some(hosts))
}

/// Returns the topology that the hints simulate, or the real one. Local; the hosts must be known.
pub(super) fn topology_of(endpoint: &Endpoint, hints: &Hints) -> Result<Topology> {
    let ranks = endpoint.ranks();
    match endpoint.labels() {
        _ if hints.ranks_per_node > 0 => Topology::blocks(ranks, hints.ranks_per_node),
        Some(labels) if endpoint.shared().is_none() => Topology::listed(labels),
        _ => Topology::blocks(ranks, ranks),
    }
}
