//! Simulates repeated all-to-many exchanges, the program whose measurements on Cori are published.

use super::kernel_orders::KernelOrders;
use crate::sim::{self, ChainSide, Chains, WorkPart, Workload};
use tributary::error::{Error, Result};
use tributary::exchange::two_layer::{LocalAggregators, Share, TwoLayer};
use tributary::exchange::{ASCENDING_ISSEND, Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use tributary::schedule::{Buffer, Schedule, Span, Throttle};
use tributary::topology::{Rank, Topology};

/// Value of `places` for a rank that is not a receiver.
const NONE: u32 = u32::MAX;

/// Route of the messages of an all-to-many exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllToManyKernel {
    /// Every rank sends to every receiver directly, in the order of this kernel.
    Flat(&'static Kernel),
    /// This number of local aggregators per node gather the node's messages, and exchange by `ascending_issend`.
    TwoLayer(usize),
}

/// Options of an all-to-many exchange.
#[derive(Debug, Clone)]
pub struct AllToManyOptions {
    /// Placement of ranks on nodes.
    pub topology: Topology,
    /// Number of receivers, spread evenly over the ranks from rank 0 on.
    pub receivers: usize,
    /// Route of the messages: direct, or through local aggregators.
    pub way: AllToManyKernel,
    /// Throttle (limit on outstanding messages); `None` takes the kernel's own.
    pub throttle: Option<Throttle>,
    /// Number of exchanges, one after another without a barrier.
    pub iterations: u32,
    /// Smallest and largest message in bytes. Each rank sends messages of one size, and sizes grow with the rank
    /// number.
    pub bytes: (u64, u64),
}

/// All-to-many exchange as a [`Workload`] of the simulator.
#[derive(Debug)]
pub struct AllToMany {
    options: AllToManyOptions,
    receivers: Vec<Rank>,
    /// Index of each rank among the receivers.
    places: Vec<u32>,
    rank_list: RankList,
    kernel: &'static Kernel,
    throttle: Throttle,
    local: Option<LocalAggregators>,
    /// Orders in which receivers take the senders, and in which senders take the receivers; only for exchanges run as
    /// chains.
    orders: Option<(KernelOrders, KernelOrders)>,
}

impl AllToMany {
    /// Prepares the exchange. O(ranks x receivers) time, O(ranks) memory.
    ///
    /// # Errors
    /// No receivers, or more than ranks; no iterations; a smallest message above the largest.
    pub fn new(options: AllToManyOptions) -> Result<Self> {
        Self::with_rank_list(options, RankList::Identity)
    }

    /// Prepares the exchange with another order of receivers.
    ///
    /// # Errors
    /// The errors of [`AllToMany::new`].
    pub fn with_rank_list(options: AllToManyOptions, rank_list: RankList) -> Result<Self> {
        let ranks = options.topology.ranks();
        if options.receivers == 0 || options.receivers > ranks {
            return Err(Error::argument("receivers", options.receivers, format!("1 to {ranks}, the ranks")));
        }
        if options.iterations == 0 {
            return Err(Error::argument("iterations", 0, "1 or more"));
        }
        if options.bytes.0 > options.bytes.1 {
            let range = format!("{}..{}", options.bytes.0, options.bytes.1);
            return Err(Error::argument("message", range, "the fewest bytes first"));
        }
        let (kernel, local) = match options.way {
            AllToManyKernel::Flat(kernel) => (kernel, None),
            AllToManyKernel::TwoLayer(each) => {
                (&ASCENDING_ISSEND, Some(LocalAggregators::per_node(&options.topology, each)))
            }
        };
        let receivers: Vec<Rank> = (0..options.receivers).map(|j| j * ranks / options.receivers).collect();
        let mut places = vec![NONE; ranks];
        receivers.iter().enumerate().for_each(|(place, &rank)| places[rank] = place as u32);
        let mut exchange = Self {
            receivers,
            places,
            rank_list,
            kernel,
            throttle: options.throttle.unwrap_or(Throttle::batch(kernel.default_limit.unwrap_or(0))),
            local,
            orders: None,
            options,
        };
        if exchange.local.is_none() {
            let view = exchange.view(0, &[], &[]);
            let step = |sender, receiver| (kernel.step)(&view, sender, ReceiverIndex(receiver));
            let receiving =
                KernelOrders::new(exchange.receivers.len(), ranks, |receiver, sender| step(sender, receiver));
            let sending = KernelOrders::new(ranks, exchange.receivers.len(), step);
            exchange.orders = Some((receiving, sending));
        }
        Ok(exchange)
    }

    /// Returns the number of messages between ranks in all iterations, for a flat kernel.
    pub fn messages(&self) -> u64 {
        let (ranks, receivers) = (self.options.topology.ranks() as u64, self.receivers.len() as u64);
        (ranks - 1) * receivers * u64::from(self.options.iterations)
    }

    /// Returns the throttle in force.
    pub fn throttle(&self) -> Throttle {
        self.throttle
    }

    /// Returns the number of bytes of each message that `rank` sends: evenly spread from the smallest to the largest.
    pub fn bytes(&self, rank: Rank) -> u64 {
        let (least, most) = self.options.bytes;
        // Multiples of the golden ratio fill the unit interval evenly (Weyl's sequence).
        let unit = (rank as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        least + ((u128::from(unit) * (u128::from(most - least) + 1)) >> 32) as u64
    }

    /// Returns the schedule of one exchange on `rank`.
    pub fn schedule(&self, rank: Rank) -> Schedule {
        match &self.local {
            Some(local) => self.two_layer(rank, local),
            None => {
                let sends: Vec<_> =
                    (0..self.receivers.len()).map(|peer| self.piece(ReceiverIndex(peer), rank)).collect();
                let receives = if self.receiver(rank).is_some() {
                    (0..self.options.topology.ranks()).map(|peer| self.piece(peer, peer)).collect()
                } else {
                    Vec::new()
                };
                self.view(rank, &sends, &receives).schedule(self.kernel, self.throttle)
            }
        }
    }

    fn view<'a>(
        &'a self,
        rank: Rank,
        sends: &'a [Transfer<ReceiverIndex>],
        receives: &'a [Transfer<Rank>],
    ) -> Exchange<'a> {
        let (receivers, rank_list) = (&self.receivers, &self.rank_list);
        Exchange { rank, ranks: self.options.topology.ranks(), receivers, rank_list, sends, receives }
    }

    /// Returns the receiver index of `rank`, if it is a receiver.
    #[inline]
    fn receiver(&self, rank: Rank) -> Option<usize> {
        let place = self.places[rank];
        (place != NONE).then_some(place as usize)
    }

    /// Returns a message of `sender`'s size. The offset in a buffer has no meaning, because the simulator ignores it.
    fn piece<Peer>(&self, peer: Peer, sender: Rank) -> Transfer<Peer> {
        Transfer { peer, span: Span::new(Buffer::Send, 0, self.bytes(sender)) }
    }

    fn two_layer(&self, rank: Rank, local: &LocalAggregators) -> Schedule {
        let shares = |rank: Rank| -> Vec<Share> {
            let len = self.bytes(rank);
            (0..self.receivers.len())
                .filter(|_| len > 0)
                .map(|index| Share { aggregator: ReceiverIndex(index), len })
                .collect()
        };
        let topology = &self.options.topology;
        let node = topology.node_of(rank);
        let others: Vec<_> = (0..topology.ranks_on(node))
            .map(|index| topology.rank_at(node, index))
            .filter(|&member| member != rank && local.aggregator_of(member) == rank)
            .map(|member| (member, shares(member)))
            .collect();
        let receives: Vec<_> = match self.receiver(rank) {
            Some(_) => (0..topology.nodes()).flat_map(|node| self.bundles(node, local)).collect(),
            None => Vec::new(),
        };
        let exchange = TwoLayer {
            rank,
            ranks: self.options.topology.ranks(),
            receivers: &self.receivers,
            rank_list: &self.rank_list,
            local_aggregator: local.aggregator_of(rank),
            own: &shares(rank),
            members: &others,
            receives: &receives,
        };
        exchange.schedule(self.kernel, self.throttle, Throttle::NONE)
    }

    /// Returns the combined messages from a node's local aggregators to each receiver.
    fn bundles(&self, node: usize, local: &LocalAggregators) -> Vec<Transfer<Rank>> {
        let topology = &self.options.topology;
        let mut bundles: Vec<Transfer<Rank>> = Vec::new();
        for member in (0..topology.ranks_on(node)).map(|index| topology.rank_at(node, index)) {
            let (peer, len) = (local.aggregator_of(member), self.bytes(member));
            match bundles.iter_mut().find(|bundle| bundle.peer == peer) {
                Some(bundle) => bundle.span.len += len,
                None => bundles.push(Transfer { peer, span: Span::new(Buffer::Receive, 0, len) }),
            }
        }
        bundles
    }
}

impl Workload for AllToMany {
    fn part(&self, rank: Rank, part: u32) -> Option<WorkPart> {
        if part >= self.options.iterations {
            return None;
        }
        let receives = self.receiver(rank).is_some();
        if self.orders.is_none() || (self.kernel.coupled && receives) {
            return Some(WorkPart::Schedule(self.schedule(rank)));
        }
        let (ranks, receivers) = (self.options.topology.ranks() as u32, self.receivers.len() as u32);
        Some(WorkPart::Chains(Chains {
            own: receives.then(|| self.bytes(rank)),
            receives: if receives { ranks - 1 } else { 0 },
            sends: receivers - u32::from(receives),
            throttle: self.kernel.throttle(self.throttle),
        }))
    }

    fn message(&self, rank: Rank, _: u32, side: ChainSide, index: u32) -> sim::ChainMessage {
        let (receiving, sending) = match &self.orders {
            Some(orders) => orders,
            None => return sim::ChainMessage { peer: rank, bytes: 0, mode: self.kernel.mode },
        };
        let own = self.receiver(rank);
        let skip = |place: Option<usize>| index as usize + usize::from(place.is_some_and(|own| own <= index as usize));
        let (peer, bytes) = match side {
            ChainSide::Send => {
                let at = skip(own.map(|own| sending.place(rank, own)));
                (self.receivers[sending.item(rank, at)], self.bytes(rank))
            }
            ChainSide::Receive => {
                let own = own.unwrap_or(0);
                let peer = receiving.item(own, skip(Some(receiving.place(own, rank))));
                (peer, self.bytes(peer))
            }
        };
        sim::ChainMessage { peer, bytes, mode: self.kernel.mode }
    }
}
