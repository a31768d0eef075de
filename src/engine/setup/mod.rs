//! Settings that are fixed when a file is opened: topology, driver, aggregators and the kernels that calls can use.

pub(in crate::engine) mod terms;

use std::path::PathBuf;
use std::sync::Arc;

use crate::access::Direction;
use crate::collectives::team::Team;
use crate::drivers::{Driver, DriverHints, Identity, Layout, Mode, OpenStorage, Storage, Written, driver};
use crate::engine::capture::target::CaptureTarget;
use crate::engine::facts::Amount;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::tiling::Tiling;
use crate::engine::policy::learned::{FileSystemKey, Learned, Paces, Took, in_two};
use crate::engine::policy::path::Path;
use crate::engine::policy::rules::{Decision, Rules};
use crate::engine::policy::windows::{CallWindows, ExchangeWindows};
use crate::engine::policy::{MESSAGE_NANOS, MOST_WRITERS, WINDOWS_AHEAD};
use crate::engine::roles::Roles;
use crate::engine::roles::choice::Layering;
use crate::engine::roles::choice::Touched;
use crate::engine::setup::terms::{Created, FirstAgreement, OpenArguments};
use crate::engine::shared::{self, Arena};
use crate::engine::storage::StorageFailure;
use crate::engine::storage::behind::limits::{BehindLimits, automatic_budget, usable_budget};
use crate::engine::storage::calls;
use crate::engine::storage::sieve::{KnownBytes, Sieve};
use crate::error::{Error, FileOperation, Result};
use crate::exchange::cost::Costs;
use crate::fabric::Endpoint;
use crate::fabric::shared::{HostAddress, Hosts, HostsAre, MemoryOffer, Shared};
use crate::hints::{DriverName, Hints, PlacementHint, Switch};
use crate::topology::{Rank, Topology};

/// Message of a rank that finds another file under the name than rank 0.
const NOT_SHARED: &str =
    "the host of this rank has another file of this name than that of rank 0: they do not share the directory";

/// Settings of an open file that do not change. They are equal on all ranks, except where they depend on the rank.
pub struct Setup {
    /// Path of the file.
    pub path: PathBuf,
    /// Mode in which the file was opened.
    pub mode: Mode,
    /// Hints in force, checked.
    pub hints: Hints,
    /// The hints that the driver uses.
    pub driver_hints: DriverHints,
    /// Nodes of the ranks.
    pub topology: Topology,
    /// Name of the storage driver, never [`DriverName::Auto`].
    pub driver_name: DriverName,
    /// Storage driver of the file.
    pub driver: Box<dyn Driver>,
    /// Layout of the file on its file system: stripes or blocks.
    pub layout: Layout,
    /// Number of bytes that the file system locks together.
    lock_unit: u64,
    /// Aggregators, and the routes of messages to them.
    pub roles: Roles,
    /// Aggregators and routes of tiny calls: the first aggregator only.
    pub tiny: Roles,
    /// True if collective calls go through memory that all ranks share.
    pub shares_memory: bool,
    /// The hosts of the ranks; `None` if all ranks share memory.
    pub hosts: Option<Arc<Hosts>>,
    /// All ranks, which decide together in each call.
    pub team: Team,
    /// Windows in shared memory, of all ranks or of the ranks of this host; `None` if this rank shares no memory.
    pub arena: Option<Arc<Arena>>,
    /// True if every host may write and read the bytes of its ranks without other hosts. The value is the same on all
    /// ranks.
    pub by_host: bool,
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
    /// Hash that shows whether the pieces of all ranks tile a range; equal on all ranks.
    pub tiling: Tiling,
    /// Key of the file system, for what its files have in common.
    pub file_system: FileSystemKey,
    /// What the last file on the file system had shown when the file was opened.
    pub learned: Learned,
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
        // The result is the same on all ranks, even an error: it depends only on agreed values.
        let aggregators = driver.aggregators(&topology, &layout, &hints.for_driver())?;
        let shares_memory = may_share(endpoint, &hints, false) && endpoint.shared().is_some();
        let shared = match shares_memory {
            true => endpoint.shared(),
            false => hosts.as_ref().and_then(|hosts| hosts.here().cloned()),
        };
        let team = match (&shared, &hosts) {
            (Some(shared), _) if shares_memory => Team::Host(shared.clone()),
            (_, Some(hosts)) if hosts.shares() => Team::Hosts(hosts.clone()),
            _ => Team::Ranks,
        };
        let costs = costs.unwrap_or(Costs::CLUSTER).crowded(topology.ranks(), cores);
        let setup = Self::from_parts(endpoint.rank(), topology, layout, driver, aggregators, hints, costs)?;
        Ok(Some(Self {
            path,
            mode,
            driver_name: name,
            shares_memory,
            hosts,
            team,
            arena: shared.map(|shared| Arc::new(Arena::new(shared))),
            by_host,
            hosts_cache_apart,
            known,
            no_write_behind,
            // Files that are only read may be copies on the disks of the hosts.
            identity: identity.filter(|_| several && mode != Mode::Read),
            is_captured: alike.is_captured,
            tiling: Tiling::from_key(key),
            file_system,
            learned: if setup.hints.aggregators_fixed { Learned::default() } else { learned },
            ..setup
        }))
    }

    /// Computes settings without a file and without messages, for planning at any scale: with the built-in costs, and a
    /// core for each rank. Local.
    ///
    /// # Errors
    /// Bad hints.
    pub fn dry(rank: Rank, topology: Topology, layout: Layout, driver: Box<dyn Driver>, hints: Hints) -> Result<Self> {
        hints.check(topology.ranks())?;
        let aggregators = driver.aggregators(&topology, &layout, &hints.for_driver())?;
        Self::from_parts(rank, topology, layout, driver, aggregators, hints, Costs::CLUSTER)
    }

    /// Computes settings like [`Setup::dry`], for MPI ranks whose hosts are the nodes, on a file system whose hosts see
    /// each other's writes. Local.
    ///
    /// # Errors
    /// Bad hints.
    pub fn predicted(topology: Topology, layout: Layout, driver: Box<dyn Driver>, hints: Hints) -> Result<Self> {
        let setup = Self::dry(0, topology, layout, driver, hints)?;
        let (nodes, ranks, unit) = (setup.topology.nodes(), setup.topology.ranks(), setup.window_terms().1);
        let shares = |in_nodes| lets_share(&setup.hints, (ranks, true), in_nodes);
        let shares_memory = nodes == 1 && shares(false);
        let by_host = nodes > 1 && shares(true) && may_be_by_host(nodes, &setup.hints, unit);
        Ok(Self { shares_memory, by_host, ..setup })
    }

    fn from_parts(
        rank: Rank,
        topology: Topology,
        layout: Layout,
        driver: Box<dyn Driver>,
        aggregators: Vec<Rank>,
        hints: Hints,
        costs: Costs,
    ) -> Result<Self> {
        let first = aggregators.iter().copied().take(1).collect();
        let window = hints.cb_buffer_size.unwrap_or_else(|| driver.usual_window(topology.ranks()));
        let driver_hints = DriverHints { cb_buffer_size: window, ..hints.for_driver() };
        let window_counter = |aggregators: usize| {
            let any = Written { start: 0, end: 1, bytes: 1, histogram: &[] };
            Touched::new(&driver.domains(&layout, aggregators, any, &driver_hints))
        };
        let roles = Roles::new(rank, &topology, window_counter(aggregators.len()), aggregators.into(), &hints, costs)?;
        let tiny = Roles::new(rank, &topology, window_counter(1), first, &hints, costs)?;
        let (path, mode) = (PathBuf::new(), Mode::Create);
        let (shares_memory, hosts, team, arena) = (false, None, Team::Ranks, None);
        let (by_host, hosts_cache_apart, identity, is_captured, tiling) =
            (false, false, None, false, Tiling::from_key(0));
        let (driver_name, known) = (hints.driver, KnownBytes::Nothing);
        Ok(Self {
            path,
            mode,
            driver_name,
            lock_unit: driver.lock_unit(&layout),
            driver,
            driver_hints,
            layout,
            topology,
            roles,
            tiny,
            shares_memory,
            hosts,
            team,
            arena,
            by_host,
            hosts_cache_apart,
            known,
            no_write_behind: None,
            identity,
            is_captured,
            tiling,
            file_system: 0,
            learned: Learned::default(),
            hints,
        })
    }

    /// Returns the file that this rank has opened, if it is the same file as on rank 0. Local.
    ///
    /// # Errors
    /// The file is another one: hosts do not share the directory.
    pub fn is_the_same(&self, file: Box<dyn Storage>) -> std::result::Result<Box<dyn Storage>, StorageFailure> {
        let failure = |cause| StorageFailure { operation: FileOperation::Open, offset: None, cause };
        match self.identity {
            Some(first) if calls::identity(&*file).map_err(failure)?.is_some_and(|own| own != first) => {
                Err(failure(std::io::Error::other(NOT_SHARED)))
            }
            _ => Ok(file),
        }
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

    /// Returns (number of bytes for windows, number of bytes that the file system locks together).
    pub fn window_terms(&self) -> (u64, u64) {
        (self.driver_hints.cb_buffer_size, self.lock_unit)
    }

    /// Returns the windows of an exchange of `amount` from `senders` ranks to `aggregators` aggregators, after a call with
    /// `paces`. A hint decides alone.
    pub fn exchange_windows(
        &self,
        amount: &Amount,
        (senders, aggregators): (usize, usize),
        paces: Option<Paces>,
    ) -> ExchangeWindows {
        // Direct I/O needs large windows: what is less than `direct_from` bytes at both ends of a window is not direct.
        let several = if self.layout.direct_from.is_some() { WINDOWS_AHEAD } else { 1 };
        let unit = self.window_unit().saturating_mul(several);
        let largest = self.driver_hints.cb_buffer_size;
        let learned = paces.map(|paces| (paces, self.window_nanos(senders)));
        let mut windows = ExchangeWindows::of(amount, (senders, aggregators), (largest, unit), learned);
        if self.hints.cb_buffer_size.is_some() {
            windows = ExchangeWindows { window: largest, open: 2 };
        }
        windows.open = self.hints.write_buffers.unwrap_or(windows.open);
        windows
    }

    /// Returns the number of ranks that send to aggregators, with these layers of messages.
    pub fn senders(&self, layers: Layering) -> usize {
        let ranks = self.topology.ranks();
        if layers.layered.data && layers.local > 0 { ranks.min(layers.local * self.topology.nodes()) } else { ranks }
    }

    /// Returns the time that the messages of a window take if every sender has one, in nanoseconds.
    fn window_nanos(&self, senders: usize) -> u64 {
        (MESSAGE_NANOS as f64 * senders as f64 / self.roles.core()) as u64
    }

    /// Learns from an exchange of `amount` with these layers of messages, which took `took`, unless the hints forbid it.
    /// Returns true if something changed: the same on all ranks. The next file on the same file system begins with it. Local.
    pub fn learn(&self, learned: &mut Learned, amount: &Amount, layers: Layering, took: &Took) -> bool {
        let (aggregators, senders) = (&self.roles(amount.bytes).aggregators, self.senders(layers));
        if self.hints.aggregators_fixed || aggregators.len() != self.roles.aggregators.len() {
            return false;
        }
        let windows = |paces| self.exchange_windows(amount, (senders, aggregators.len()), paces);
        let windows = self.hints.cb_buffer_size.is_none().then(|| (windows, self.window_nanos(senders)));
        let is_new = learned.connect(layers.layered.data);
        let was_timed = learned.timed;
        learned.learn(took, amount.bytes, aggregators, windows) || is_new || learned.timed != was_timed
    }

    /// Returns the parts of an exchange of `amount` if it is a write in two parts: the times of the first divide the second.
    /// `None` if earlier calls have shown these times, or if they would change nothing. The same on all ranks. Local.
    pub fn in_two(&self, learned: &Learned, agreed: &Agreed, direction: Direction) -> Option<[Amount; 2]> {
        let divides = direction == Direction::Write && !self.hints.aggregators_fixed && !self.driver.is_striped();
        // The times of bytes that are left behind are not those of the file.
        let is_new = !learned.timed && agreed.reuse.is_none() && self.hints.write_behind == Some(0);
        let aggregators = self.roles(agreed.left.bytes).aggregators.len();
        (divides && is_new).then(|| in_two(&agreed.left, aggregators, self.layout.unit))?
    }

    /// Returns the rules that choose the path of a call.
    pub fn rules(&self, direction: Direction) -> Rules<'_> {
        Rules { hints: &self.hints, unit: self.window_terms().1, direction, in_memory: self.shares_memory }
    }

    /// Decides how the bytes of a call go, from what all ranks agreed on. One rank calls it and answers for all ranks. If the
    /// ranks then find out more ([`Rules::must_look`]), each rank decides again, with the same result.
    pub fn decide(&self, agreed: &mut Agreed, rules: Rules<'_>) {
        let (path, reason) = rules.choose(agreed);
        let windows = if path == Path::Windows { self.windows(&agreed.left) } else { CallWindows::default() };
        agreed.decision = Decision { path, reason, windows };
    }

    /// Returns the windows of a call whose ranks still have the bytes of `left` to write or read.
    fn windows(&self, left: &Amount) -> CallWindows {
        let (memory, unit) = self.window_terms();
        let unit =
            if left.bytes >= self.window_unit().saturating_mul(WINDOWS_AHEAD) { self.window_unit() } else { unit };
        CallWindows::over(left.start.min(left.end), left.end, memory, unit)
    }

    /// Returns the number of bytes that should lie in one window: those that the file system locks together, and for
    /// direct I/O at least `direct_from`.
    fn window_unit(&self) -> u64 {
        self.layout.direct_from.map_or(self.lock_unit, |from| from.next_multiple_of(self.lock_unit))
    }

    /// Returns the data sieving of reads: what a read does about gaps.
    pub fn read_sieve(&self) -> Sieve {
        Sieve::new(self.hints.ds_read, self.window_terms().1)
    }

    /// Returns the data sieving of writes: what a write does about gaps. `is_sole` is true if nobody else can be
    /// writing the file during the call.
    pub fn write_sieve(&self, is_sole: bool) -> Sieve {
        Sieve::of_write(self.hints.ds_write, self.window_terms().1, is_sole, self.known)
    }

    /// Returns the limits of what `rank` leaves behind; `None` if collective writes leave no bytes behind.
    pub fn write_behind(&self, rank: Rank) -> Option<BehindLimits> {
        let each = match self.hints.write_behind {
            Some(0) => return None,
            Some(each) => each,
            None => automatic_budget(self.topology.ranks_on(self.topology.node_of(rank))),
        };
        let (ranks, aggregators) = (self.topology.ranks(), &self.roles.aggregators);
        // In shared memory every rank writes, and others with it.
        let writes_for_others = !self.shares_memory && aggregators.contains(&rank);
        let serves = if writes_for_others { ranks.div_ceil(aggregators.len()) } else { 1 };
        let threads = if writes_for_others || ranks == 1 { MOST_WRITERS } else { 1 };
        let adapts_on = self.hints.write_behind.is_none().then_some(self.file_system);
        Some(BehindLimits { bytes: each.saturating_mul(serves as u64), threads, adapts_on })
    }

    /// Returns the aggregators of a call with `bytes` bytes over all ranks.
    pub fn roles(&self, bytes: u64) -> &Roles {
        if bytes <= self.hints.tiny_call { &self.tiny } else { &self.roles }
    }
}

/// Returns true if the hints let ranks share memory: all ranks, or (`in_nodes`) the ranks of each node. Ranks of
/// simulated nodes share memory inside each node, and only if the hint says so.
fn may_share(endpoint: &Endpoint, hints: &Hints, in_nodes: bool) -> bool {
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

/// Returns true if hints and file system let each of `hosts` hosts write and read without the others. A user who asks
/// for fewer aggregators than hosts, or for certain ones, wants no other ranks to write.
fn may_be_by_host(hosts: usize, hints: &Hints, lock_unit: u64) -> bool {
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
async fn find_hosts(
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
fn topology_of(endpoint: &Endpoint, hints: &Hints) -> Result<Topology> {
    let ranks = endpoint.ranks();
    match endpoint.labels() {
        _ if hints.ranks_per_node > 0 => Topology::blocks(ranks, hints.ranks_per_node),
        Some(labels) if endpoint.shared().is_none() => Topology::listed(labels),
        _ => Topology::blocks(ranks, ranks),
    }
}
