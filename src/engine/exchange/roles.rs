//! The aggregators of a file, and the routes on which ranks send to them.

use std::sync::{Arc, OnceLock};

use crate::access::{AccessStats, Extents};
use crate::drivers::Domains;
use crate::engine::choose::layers::{Chooser, Touched, kernels};
use crate::engine::exchange::metadata::Phase;
use crate::engine::exchange::node;
use crate::engine::trace::path::{AutoChoice, AutoKernel, Layered, Layering};
use crate::error::Result;
use crate::exchange::Route;
use crate::exchange::cost::Costs;
use crate::exchange::two_layer::LocalAggregators;
use crate::fabric::Endpoint;
use crate::fabric::shared::host;
use crate::hints::{Hints, KernelHint, Overlap, Switch};
use crate::schedule::Throttle;
use crate::topology::{Rank, Topology};

/// The aggregators of a file, and the routes of messages from this rank to them.
pub struct Roles {
    /// Ranks that are aggregators, ascending.
    pub aggregators: Arc<[Rank]>,
    /// Phases for which the hints let `auto` choose the layers.
    open: Layered,
    /// Phases that the hints send through local aggregators.
    given: Layered,
    /// Both phases as the hints say; flat if the hints say `auto`.
    flat: [Arc<Phase>; 2],
    /// For each number of local aggregators that `auto` may choose: both phases, with two layers where the hints say
    /// `auto`. Made when needed.
    layered: Vec<(usize, OnceLock<[Arc<Phase>; 2]>)>,
    chooser: Chooser,
    window_counter: Touched,
}

/// The metadata phase and the data phase of a call.
#[derive(Debug, Clone)]
pub struct Phases {
    /// Route of the metadata messages, and the local aggregators.
    pub metadata: Arc<Phase>,
    /// Route of the data messages, and the local aggregators.
    pub data: Arc<Phase>,
}

impl Roles {
    /// Makes the roles of `rank`. `costs` are the costs of messages. Aggregators and choices are the same on all ranks.
    /// O(ranks).
    ///
    /// # Errors
    /// A rank list that is no permutation.
    pub fn new(
        rank: Rank,
        topology: &Topology,
        window_counter: Touched,
        aggregators: Arc<[Rank]>,
        hints: &Hints,
        costs: Costs,
    ) -> Result<Self> {
        let mut chooser = Chooser::from_hints(costs, topology, aggregators.len(), hints);
        let maker = Maker { rank, topology, aggregators: &aggregators, hints };
        let fewest = chooser.local.first().map(|&local| maker.local_aggregators(local));
        // If ranks alternate between nodes, local aggregators with consecutive members may have no members.
        if fewest.is_some_and(|local| !local.has_members()) {
            chooser.local.clear();
        }
        let hinted = [hints.metadata_kernel(), hints.data_kernel()];
        let [open, given] = [KernelHint::Auto, KernelHint::TwoLayer].map(|kernel| {
            let [metadata, data] = hinted.map(|hint| hint == kernel);
            Layered { metadata, data }
        });
        let flat = maker.phases(kernels(hints, given), given.any().then(|| maker.local_aggregators(0)))?;
        let open = if chooser.local.is_empty() { Layered::default() } else { open };
        let layered = chooser.local.iter().map(|&local| (local, OnceLock::new())).collect();
        Ok(Self { open, given, flat, layered, chooser, window_counter, aggregators })
    }

    /// Returns the share of a core that a rank has: 1, or less if ranks share cores.
    pub fn core(&self) -> f64 {
        self.chooser.costs.core
    }

    /// Returns the approximate number of windows in which an access has bytes; 0 if no choice needs this number. O(extents),
    /// up to a few thousand.
    pub fn touched(&self, file: &Extents) -> u64 {
        if self.open.any() { self.window_counter.clone().by(file) } else { 0 }
    }

    /// Chooses the layers of messages of a call: the same on all ranks. `connected` says whether all ranks have sent
    /// messages to aggregators before.
    pub fn choose(&self, amount: &AccessStats, domains: &Domains, connected: bool) -> Layering {
        self.chooser.choose(amount, domains, (self.open, self.given), connected)
    }

    /// Returns the phases with the given layers. O(ranks) for the first call with these layers.
    ///
    /// # Errors
    /// A rank list that is no permutation.
    pub fn phases(&self, way: Layering, topology: &Topology, hints: &Hints) -> Result<Phases> {
        let made = self.layered.iter().find(|(local, _)| way.layered != self.given && *local == way.local);
        let [metadata, data] = match made {
            None => self.flat.clone(),
            Some((local, made)) => match made.get() {
                Some(made) => made.clone(),
                None => {
                    let rank = self.flat[0].route.rank;
                    let maker = Maker { rank, topology, aggregators: &self.aggregators, hints };
                    let local = maker.local_aggregators(*local);
                    let phases = maker.phases(kernels(hints, way.layered), Some(local))?;
                    made.get_or_init(|| phases).clone()
                }
            },
        };
        Ok(Phases { metadata, data })
    }

    /// Returns the phases without local aggregators, for a call with the layers `way` in which the ranks of a node
    /// share no memory, and the choice as reports print it.
    pub fn without_memory(&self, way: Layering) -> (Phases, Option<AutoChoice>) {
        let [metadata, data] = self.flat.clone().map(|mut phase| {
            Arc::make_mut(&mut phase).local = None;
            phase
        });
        let Layered { metadata: lists, data: bytes } = way.layered;
        let choice = AutoChoice { kernel: AutoKernel::NoNodeMemory, metadata: lists, data: bytes };
        (Phases { metadata, data }, Some(choice))
    }

    /// Returns what `auto` chose for a call with the layers `way`, for reports; `None` if hints set the layers and the call
    /// follows them.
    pub fn taken(&self, way: Layering) -> Option<AutoChoice> {
        let Layered { metadata, data } = self.given;
        if self.given.any() && self.flat.iter().all(|phase| phase.local.is_none()) {
            return Some(AutoChoice { kernel: AutoKernel::NoMembers, metadata, data });
        }
        let kernel = match way.layered == self.given {
            true => AutoKernel::Flat,
            false => AutoKernel::TwoLayer { per_node: way.local },
        };
        let Layered { metadata, data } = self.open;
        self.open.any().then_some(AutoChoice { kernel, metadata, data })
    }
}

impl Phases {
    /// Returns true if the ranks of a node share memory in a phase; the same on all ranks.
    pub fn shares_in_nodes(&self) -> bool {
        self.metadata.group.is_some() || self.data.group.is_some()
    }

    /// Maps memory that the members of every local aggregator share, if a phase has local aggregators. Returns true if
    /// all ranks have the memory that they need; the same on all ranks. Collective; without messages if the last call
    /// had the same local aggregators.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn share_in_nodes(
        &mut self,
        endpoint: &mut Endpoint,
        topology: &Topology,
        hints: &Hints,
    ) -> Result<bool> {
        let Some(local) = self.metadata.local.as_ref().or(self.data.local.as_ref()).cloned() else {
            return Ok(true);
        };
        if hints.shared_memory == Switch::Disable {
            return Ok(false);
        }
        // Nodes that hints simulate are all on this host.
        let node = topology.node_of(endpoint.rank());
        let here = if hints.ranks_per_node > 0 { endpoint.ranks() } else { topology.ranks_on(node) };
        let group = endpoint.share_in_groups(local.by_rank(), node::AREA, here <= host::processors()).await?;
        for phase in [&mut self.metadata, &mut self.data].into_iter().filter(|phase| phase.local.is_some()) {
            Arc::make_mut(phase).group = group.clone();
        }
        Ok(group.is_some())
    }
}

/// Makes phases from ranks, nodes, aggregators and hints.
struct Maker<'a> {
    rank: Rank,
    topology: &'a Topology,
    aggregators: &'a Arc<[Rank]>,
    hints: &'a Hints,
}

impl Maker<'_> {
    /// Returns the local aggregators: `local` on each node, or the number that the hints give if they choose two
    /// layers.
    fn local_aggregators(&self, local: usize) -> LocalAggregators {
        let Self { topology, hints, .. } = self;
        let is_given = [hints.metadata_kernel(), hints.data_kernel()].contains(&KernelHint::TwoLayer);
        let local = match is_given {
            true => LocalAggregators::from_hint(topology, hints.num_aggrs_per_node),
            false => LocalAggregators::per_node(topology, local),
        };
        match hints.overlap {
            Overlap::Any => local,
            Overlap::RankOrder => local.with_consecutive_members(),
        }
    }

    fn phases(&self, [metadata, data]: [KernelHint; 2], local: Option<LocalAggregators>) -> Result<[Arc<Phase>; 2]> {
        // If every rank is its own local aggregator, there is one layer.
        let local = local.filter(LocalAggregators::has_members).map(Arc::new);
        let phase =
            |kernel, limit| self.phase(kernel, self.hints.throttle(kernel, limit), local.as_ref()).map(Arc::new);
        Ok([phase(metadata, self.hints.metadata_limit())?, phase(data, self.hints.data_limit())?])
    }

    fn phase(&self, name: KernelHint, throttle: Throttle, local: Option<&Arc<LocalAggregators>>) -> Result<Phase> {
        let Self { rank, topology, aggregators, hints } = *self;
        let (kernel, rank_list) = (hints.outermost(name), hints.rank_list.list(topology)?);
        let local = local.filter(|_| name == KernelHint::TwoLayer).cloned();
        let route =
            Route { rank, ranks: topology.ranks(), receivers: aggregators.clone(), rank_list, kernel, throttle };
        Ok(Phase { route, local, group: None })
    }
}
