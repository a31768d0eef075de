//! Orders the messages of one exchange of a collective write as the kernel sends them, as chains or schedules.

use std::sync::Arc;

use super::matrix::{AmountMatrix, PeerAmount};
use crate::sim::{self, ChainSide, Chains, WorkPart};
use tributary::engine::Phase;
use tributary::exchange::two_layer::{LocalAggregators, Share, TwoLayer};
use tributary::exchange::{Kernel, ReceiverIndex, Route, Transfer};
use tributary::schedule::{Buffer, Builder, Schedule, Span, Throttle};
use tributary::topology::{Rank, Topology};

/// The library's phase, and what only the simulator does.
#[derive(Debug)]
pub(super) struct PhaseKernel {
    /// Kernel, throttle and local aggregators.
    pub(super) phase: Arc<Phase>,
    /// True if the throttle counts steps; see [`super::collective_write::CollectiveWriteOptions::blocks`].
    pub(super) blocks: bool,
}

/// Ranks and aggregators that take part in an exchange.
#[derive(Debug)]
pub(super) struct Parties {
    pub(super) topology: Topology,
    pub(super) aggregators: Arc<[Rank]>,
    /// For each rank: its index among the aggregators, if it is an aggregator.
    pub(super) index: Vec<Option<u32>>,
}

/// Messages of one exchange of a collective write.
#[derive(Debug)]
pub(super) struct ExchangeMessages {
    /// For each sender: the indices of the aggregators that it sends to, in the order of the kernel (with two layers:
    /// ascending).
    sends: AmountMatrix,
    /// For each aggregator: the ranks that it receives from (with two layers: local aggregators).
    receives: AmountMatrix,
    /// For each aggregator: true if it has data for itself, which is not sent.
    own: Vec<bool>,
}

impl PhaseKernel {
    pub(super) fn new(phase: Arc<Phase>, blocks: bool) -> Self {
        let Route { kernel, throttle, .. } = phase.route;
        let blocks = blocks && phase.local.is_none() && throttle.limit.is_some() && !kernel.coupled;
        Self { phase, blocks }
    }

    pub(super) fn kernel(&self) -> &'static Kernel {
        self.phase.route.kernel
    }

    pub(super) fn throttle(&self) -> Throttle {
        self.phase.route.throttle
    }

    /// Returns the local aggregators, with two layers.
    pub(super) fn local(&self) -> Option<&LocalAggregators> {
        self.phase.local.as_deref()
    }
}

impl Parties {
    pub(super) fn new(topology: Topology, aggregators: Arc<[Rank]>) -> Self {
        let mut index = vec![None; topology.ranks()];
        aggregators.iter().enumerate().for_each(|(at, &rank)| index[rank] = Some(at as u32));
        Self { topology, aggregators, index }
    }
}

impl ExchangeMessages {
    /// Returns the exchange of `messages` (a row per rank, ascending by index of aggregator). O(m log m) for m
    /// messages.
    pub(super) fn new(messages: &AmountMatrix, way: &PhaseKernel, parties: &Parties) -> Self {
        let aggregators = parties.aggregators.len();
        if let Some(local) = way.local() {
            let bundles = messages.grouped(|rank| local.aggregator_of(rank));
            return Self { sends: messages.clone(), receives: bundles.transposed(aggregators), own: Vec::new() };
        }
        let view = way.phase.route.exchange(0, &[], &[]);
        let step = |sender: usize, aggregator: usize| (way.kernel().step)(&view, sender, ReceiverIndex(aggregator));
        let itself = |rank: usize, aggregator: usize| parties.aggregators[aggregator] == rank;
        let by_aggregator = messages.transposed(aggregators);
        let own = (0..aggregators).map(|at| {
            let own = parties.aggregators[at] as u32;
            by_aggregator.row(at).binary_search_by_key(&own, |cell| cell.peer).is_ok()
        });
        Self {
            own: own.collect(),
            sends: messages.sorted(|rank, at| !itself(rank, at as usize), |rank, at| step(rank, at as usize)),
            receives: by_aggregator.sorted(|at, rank| !itself(rank as usize, at), |at, rank| step(rank as usize, at)),
        }
    }

    /// Returns the number of ranks from which an aggregator receives, itself included.
    pub(super) fn fan_in(&self, aggregator: usize) -> usize {
        self.receives.row(aggregator).len() + usize::from(self.own.get(aggregator) == Some(&true))
    }

    /// Returns the number of messages between ranks, without those inside nodes of `two_layer`.
    pub(super) fn messages(&self) -> u64 {
        self.receives.cells() as u64
    }

    /// Returns the messages that `rank` sends and receives in the exchange.
    pub(super) fn part(&self, rank: Rank, way: &PhaseKernel, parties: &Parties) -> WorkPart {
        let index = parties.index[rank].map(|index| index as usize);
        if let Some(local) = way.local() {
            return WorkPart::Schedule(self.two_layer(rank, index, local, way, parties));
        }
        if way.blocks {
            return self.in_blocks(rank, index, way, parties);
        }
        let receives = index.map_or(0, |index| self.receives.row(index).len());
        if way.kernel().coupled && receives > 0 {
            return WorkPart::Schedule(self.whole(rank, index, way));
        }
        WorkPart::Chains(Chains {
            own: None,
            receives: receives as u32,
            sends: self.sends.row(rank).len() as u32,
            throttle: way.kernel().throttle(way.throttle()),
        })
    }

    /// Returns message number `index` of those that `rank` sends or receives, for [`WorkPart::Chains`].
    #[inline]
    pub(super) fn message(
        &self,
        rank: Rank,
        side: ChainSide,
        index: u32,
        way: &PhaseKernel,
        parties: &Parties,
    ) -> sim::ChainMessage {
        let mode = way.kernel().mode;
        let cell = |row: &[PeerAmount]| row[index as usize];
        match side {
            ChainSide::Send => {
                let cell = cell(self.sends.row(rank));
                sim::ChainMessage { peer: parties.aggregators[cell.peer as usize], bytes: u64::from(cell.amount), mode }
            }
            ChainSide::Receive => {
                let cell = cell(self.receives.row(parties.index[rank].unwrap_or(0) as usize));
                sim::ChainMessage { peer: cell.peer as usize, bytes: u64::from(cell.amount), mode }
            }
        }
    }

    /// Returns the messages of `rank` in blocks of steps, each of which is completed before the next. The throttle
    /// gives the number of steps.
    fn in_blocks(&self, rank: Rank, index: Option<usize>, way: &PhaseKernel, parties: &Parties) -> WorkPart {
        let limit = u64::from(way.throttle().limit.unwrap_or(u32::MAX));
        let view = way.phase.route.exchange(rank, &[], &[]);
        let block =
            |sender: usize, aggregator: usize| (way.kernel().step)(&view, sender, ReceiverIndex(aggregator)) / limit;
        let sends = self.sends.row(rank).iter().map(|cell| (block(rank, cell.peer as usize), cell));
        let alone = sends.clone().zip(sends.clone().skip(1)).all(|((one, _), (next, _))| one != next);
        let receives = index.map_or(&[][..], |index| self.receives.row(index));
        if receives.is_empty() && alone {
            let sends = self.sends.row(rank).len() as u32;
            return WorkPart::Chains(Chains { own: None, receives: 0, sends, throttle: Throttle::batch(1) });
        }
        let mut receives = receives.iter().map(|cell| (block(cell.peer as usize, index.unwrap_or(0)), cell)).peekable();
        let (mut sends, mut builder, mut before) = (sends.peekable(), Builder::default(), Vec::new());
        let span = |cell: &PeerAmount| Span::new(Buffer::Send, 0, u64::from(cell.amount));
        while let Some(here) = receives.peek().into_iter().chain(sends.peek()).map(|(block, _)| *block).min() {
            let mut all = Vec::new();
            while let Some((_, cell)) = receives.next_if(|(block, _)| *block == here) {
                all.push(builder.receive(cell.peer as usize, span(cell), &before));
            }
            while let Some((_, cell)) = sends.next_if(|(block, _)| *block == here) {
                all.push(builder.send(parties.aggregators[cell.peer as usize], way.kernel().mode, span(cell), &before));
            }
            before = vec![builder.join(&all)];
        }
        WorkPart::Schedule(builder.finish())
    }

    fn whole(&self, rank: Rank, index: Option<usize>, way: &PhaseKernel) -> Schedule {
        let sends: Vec<_> =
            self.sends.row(rank).iter().map(|cell| message(receiver(cell), cell, Buffer::Send)).collect();
        let receives = index.map_or(&[][..], |index| self.receives.row(index));
        let receives: Vec<_> = receives.iter().map(|cell| message(cell.peer as Rank, cell, Buffer::Receive)).collect();
        way.phase.route.exchange(rank, &sends, &receives).schedule(way.kernel(), way.throttle())
    }

    fn two_layer(
        &self,
        rank: Rank,
        index: Option<usize>,
        local: &LocalAggregators,
        way: &PhaseKernel,
        parties: &Parties,
    ) -> Schedule {
        let shares = |rank: Rank| -> Vec<Share> {
            let share = |cell: &PeerAmount| Share { aggregator: receiver(cell), len: u64::from(cell.amount) };
            self.sends.row(rank).iter().filter(|cell| cell.amount > 0).map(share).collect()
        };
        let members: Vec<_> = members(rank, local, &parties.topology)
            .filter(|&member| member != rank)
            .map(|member| (member, shares(member)))
            .filter(|(_, shares)| !shares.is_empty())
            .collect();
        let receives = index.map_or(&[][..], |index| self.receives.row(index));
        let receives: Vec<_> = receives.iter().map(|cell| message(cell.peer as Rank, cell, Buffer::Receive)).collect();
        let exchange = TwoLayer {
            rank,
            ranks: parties.topology.ranks(),
            receivers: &parties.aggregators,
            rank_list: &way.phase.route.rank_list,
            local_aggregator: local.aggregator_of(rank),
            own: &shares(rank),
            members: &members,
            receives: &receives,
        };
        exchange.schedule(way.kernel(), way.throttle(), way.throttle())
    }
}

/// Returns the ranks whose data local aggregator `rank` gathers, itself included.
pub(super) fn members<'a>(
    rank: Rank,
    local: &'a LocalAggregators,
    topology: &'a Topology,
) -> impl Iterator<Item = Rank> + 'a {
    let node = topology.node_of(rank);
    let of_node = (0..topology.ranks_on(node)).map(move |index| topology.rank_at(node, index));
    of_node.filter(move |&member| local.aggregator_of(member) == rank)
}

/// Returns the index of the aggregator that a cell of a sender's row names.
fn receiver(cell: &PeerAmount) -> ReceiverIndex {
    ReceiverIndex(cell.peer as usize)
}

/// Returns a message to `peer`. The offset in a buffer has no meaning, because the simulator ignores it.
fn message<Peer>(peer: Peer, cell: &PeerAmount, buffer: Buffer) -> Transfer<Peer> {
    Transfer { peer, span: Span::new(buffer, 0, u64::from(cell.amount)) }
}
