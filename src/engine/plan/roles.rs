//! The aggregators of a file, and the phases in which ranks send to them.

use std::sync::Arc;

use crate::access::Extents;
use crate::drivers::{Domains, Driver, Layout, Written};
use crate::engine::metadata::phase::Phase;
use crate::engine::plan::Agreed;
use crate::engine::plan::choice::{Chooser, Layered, Touched};
use crate::engine::two_layer::node;
use crate::error::Result;
use crate::exchange::cost::Costs;
use crate::exchange::local::LocalAggregators;
use crate::exchange::{BALANCED, RankList, Route};
use crate::fabric::Endpoint;
use crate::fabric::shared::host;
use crate::hints::{Hints, KernelHint, Limit, Overlap, RankListHint, TwoLayerInner};
use crate::schedule::Throttle;
use crate::topology::{Rank, Topology};

/// The aggregators, and the phases to them.
pub struct Roles {
    /// The aggregators, ascending.
    pub aggregators: Arc<[Rank]>,
    metadata: Ways,
    data: Ways,
    chooser: Chooser,
    untouched: Touched,
}

/// The ways of a phase's messages.
struct Ways {
    /// As the hint says; flat if it is `auto`.
    given: Arc<Phase>,
    /// Through local aggregators, if the hint is `auto` and there are any.
    layered: Option<Arc<Phase>>,
}

/// The phases of a call.
#[derive(Debug, Clone)]
pub struct Phases {
    /// The metadata phase.
    pub metadata: Arc<Phase>,
    /// The data phase.
    pub data: Arc<Phase>,
    /// What was chosen in place of the default, for reports; empty for nothing.
    pub why: &'static str,
}

impl Roles {
    /// The roles of `rank`. O(ranks).
    ///
    /// # Errors
    /// A rank list that is no permutation.
    pub fn new(
        rank: Rank,
        topology: &Topology,
        (driver, layout): (&dyn Driver, &Layout),
        aggregators: Arc<[Rank]>,
        hints: &Hints,
    ) -> Result<Self> {
        let chooser = Chooser::of(Costs::CLUSTER, topology, aggregators.len(), hints);
        let local = local_aggregators(topology, hints, &chooser).map(Arc::new);
        let maker = Maker { rank, topology, aggregators: &aggregators, hints };
        let ways = |kernel, limit| maker.ways(kernel, limit, local.as_ref());
        let metadata = ways(hints.kernel_meta, hints.limit_meta)?;
        let data = ways(hints.kernel_data, hints.limit_data)?;
        let any = Written { start: 0, end: 1, histogram: &[] };
        let untouched = Touched::of(&driver.domains(layout, aggregators.len(), any, &hints.for_driver()));
        Ok(Self { metadata, data, chooser, untouched, aggregators })
    }

    /// The number of windows that an access touches; 0 if no choice depends on it. O(extents), or O(1).
    pub fn touched(&self, file: &Extents) -> u64 {
        let is_open = self.metadata.layered.is_some() || self.data.layered.is_some();
        if !is_open {
            return 0;
        }
        let mut touched = self.untouched.clone();
        file.iter().for_each(|extent| touched.add(extent));
        touched.count()
    }

    /// The phases of a call. Pure: the same on all ranks.
    pub fn phases(&self, agreed: &Agreed, domains: &Domains) -> Phases {
        let [metadata, data] = [&self.metadata, &self.data];
        let open = Layered { metadata: metadata.layered.is_some(), data: data.layered.is_some() };
        let given = Layered { metadata: metadata.given.local.is_some(), data: data.given.local.is_some() };
        let chosen = match open == Layered::default() {
            true => given,
            false => self.chooser.choose(agreed, domains, open, given),
        };
        let why = match (chosen.metadata && open.metadata, chosen.data && open.data) {
            (false, false) => "",
            (true, false) => "; two_layer for metadata, as predicted to be faster",
            (false, true) => "; two_layer for data, as predicted to be faster",
            (true, true) => "; two_layer for metadata and data, as predicted to be faster",
        };
        Phases { metadata: metadata.phase(chosen.metadata), data: data.phase(chosen.data), why }
    }
}

impl Ways {
    fn phase(&self, layered: bool) -> Arc<Phase> {
        self.layered.as_ref().filter(|_| layered).unwrap_or(&self.given).clone()
    }
}

impl Phases {
    /// Maps memory that the members of every local aggregator share, if a phase has local aggregators. Collective; without
    /// messages if the last call had the same ones. `pretended` says that all nodes are on this host.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn share_in_nodes(
        &mut self,
        endpoint: &mut Endpoint,
        topology: &Topology,
        pretended: bool,
    ) -> Result<()> {
        let local = self.metadata.local.as_ref().or(self.data.local.as_ref());
        let Some(local) = local.filter(|local| local.has_members()).cloned() else {
            return Ok(());
        };
        let here = if pretended { endpoint.ranks() } else { topology.ranks_on(topology.node_of(endpoint.rank())) };
        let group = endpoint.share_in_groups(local.by_rank(), node::AREA, here <= host::processors()).await?;
        for phase in [&mut self.metadata, &mut self.data].into_iter().filter(|phase| phase.local.is_some()) {
            Arc::make_mut(phase).group = group.clone();
        }
        Ok(())
    }
}

/// The local aggregators of both phases, if one may have them: as many as the hint says, or as the chooser does.
fn local_aggregators(topology: &Topology, hints: &Hints, chooser: &Chooser) -> Option<LocalAggregators> {
    let is_given = [hints.kernel_meta, hints.kernel_data].contains(&KernelHint::TwoLayer);
    let local = match (is_given, chooser.local) {
        (true, _) => LocalAggregators::from_hint(topology, hints.num_aggrs_per_node),
        (false, 0) => return None,
        (false, local) => LocalAggregators::per_node(topology, local),
    };
    Some(match hints.overlap {
        Overlap::Any => local,
        Overlap::RankOrder => local.with_consecutive_members(),
    })
}

/// What phases are made of.
struct Maker<'a> {
    rank: Rank,
    topology: &'a Topology,
    aggregators: &'a Arc<[Rank]>,
    hints: &'a Hints,
}

impl Maker<'_> {
    fn ways(&self, kernel: KernelHint, limit: Limit, local: Option<&Arc<LocalAggregators>>) -> Result<Ways> {
        let phase = |kernel| self.phase(kernel, self.hints.throttle(kernel, limit), local).map(Arc::new);
        let others = local.filter(|local| kernel == KernelHint::Auto && local.has_members());
        Ok(Ways { given: phase(kernel)?, layered: others.map(|_| phase(KernelHint::TwoLayer)).transpose()? })
    }

    fn phase(&self, name: KernelHint, throttle: Throttle, local: Option<&Arc<LocalAggregators>>) -> Result<Phase> {
        let Self { rank, topology, aggregators, hints } = *self;
        let (kernel, local) = match name {
            KernelHint::Auto => (&BALANCED, None),
            KernelHint::Flat(kernel) => (kernel, None),
            KernelHint::TwoLayer => (hints.two_layer_outer, local.cloned()),
        };
        let rank_list = match &hints.rank_list {
            RankListHint::Identity => RankList::Identity,
            RankListHint::NodeRoundRobin => RankList::node_round_robin(topology),
            RankListHint::Explicit(list) => RankList::explicit(list.clone())?,
        };
        let route =
            Route { rank, ranks: topology.ranks(), receivers: aggregators.clone(), rank_list, kernel, throttle };
        let threshold = match hints.two_layer_inner {
            TwoLayerInner::OrderedTree if local.is_some() => Some(hints.two_layer_threshold),
            _ => None,
        };
        Ok(Phase { route, local, threshold, group: None })
    }
}
