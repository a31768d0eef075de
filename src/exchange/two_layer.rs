//! The two-layer aggregation method, TAM (main paper, sections II.B and V, figure 3 (d)).
//!
//! Every rank passes all its bytes to its local aggregator, a rank on its node ([`LocalAggregators`] defines which). Local
//! aggregators merge the bytes of their members and exchange with the I/O aggregators by any kernel. Between nodes there are then
//! (local aggregators x aggregators) messages in place of (ranks x aggregators), at the cost of one copy through the local
//! aggregator's memory.
//!
//! There are two schedules. Members copy their bytes into memory that they share with the local aggregator
//! ([`TwoLayer::schedule_in_memory`], which collective calls on files use), or they send messages ([`TwoLayer::schedule`], as in
//! the paper). With messages, a member sends one message with all its bytes. A local aggregator of m members receives m - 1
//! messages and sends at most |R|. Time in the one-port model: (m - 1) t_s + (bytes of the members) t_w inside the node, then the
//! time of the outer kernel with the number of local aggregators in place of p.

use super::{Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use crate::schedule::{Buffer, Builder, Schedule, SendMode, Span, Throttle};
use crate::topology::{Rank, Topology};

/// The name of the two-layer exchange where a hint or an option takes a kernel.
pub const NAME: &str = "two_layer";
/// Description of the two-layer exchange in one line, as [`Kernel::about`].
pub const ABOUT: &str = "members send all data to a local aggregator on their node, which sends merged messages";
/// Papers that describe the two-layer exchange, like [`Kernel::source`] of a kernel.
pub const SOURCE: &str = "Main paper, sections II.B and V, figure 3 (d)";
/// Time of the two-layer exchange in the one-port model, like [`Kernel::cost`] of a kernel.
pub const COST: &str = "(q - 1) t_s + (bytes of the members) t_w inside the node, then the outer kernel's time with the local \
                        aggregators in place of p";
/// Advice when to use the two-layer exchange, like [`Kernel::when`] of a kernel.
pub const WHEN: &str = "Many ranks per node with little data each: the aggregators receive one message per local aggregator, not per rank. Every byte is copied once more, so not for large requests.";

/// Buffer of the bytes that a local aggregator has received from its members.
pub const GATHERED: Buffer = Buffer::Stage(0);
/// Buffer of the messages that a local aggregator sends to the I/O aggregators.
pub const MERGED: Buffer = Buffer::Stage(1);
/// Buffer of the messages that a local aggregator sends, in memory that its members share. The message to each
/// aggregator has its own range of offsets, here and in [`MERGED`]: see [`aggregator_at`].
pub const MERGED_SHARED: Buffer = Buffer::Stage(2);
/// Distance between the offsets of two aggregators' messages, in bytes.
const MESSAGE_STRIDE: u64 = 1 << 40;
/// Stage number of the messages inside a node (the messages of the outer kernel have stage 0).
const NODE_STAGE: u8 = 1;

/// The bytes of one rank that go to one aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Index of the aggregator.
    pub aggregator: ReceiverIndex,
    /// Number of bytes, above 0.
    pub len: u64,
}

/// Returns the index of the aggregator that gets the message at `offset` of [`MERGED_SHARED`], or of [`MERGED`] if
/// members share memory.
pub fn aggregator_at(offset: u64) -> usize {
    (offset / MESSAGE_STRIDE) as usize
}

/// One rank's part of a two-layer exchange: the rank's own data, and what it gathers and receives for others.
#[derive(Debug)]
pub struct TwoLayer<'a> {
    /// Number of this rank.
    pub rank: Rank,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks of the I/O aggregators, ascending.
    pub receivers: &'a [Rank],
    /// Order of ranks that the outer kernel uses.
    pub rank_list: &'a RankList,
    /// This rank's local aggregator.
    pub local_aggregator: Rank,
    /// This rank's own data for each aggregator, ascending. The shares lie one after the other in [`Buffer::Send`].
    pub own: &'a [Share],
    /// Other members of this local aggregator that send bytes, ascending, each with its shares; empty on other ranks.
    /// The shares lie one after the other in [`GATHERED`].
    pub members: &'a [(Rank, Vec<Share>)],
    /// Messages that this rank, as an I/O aggregator, receives from local aggregators, ascending; empty on other
    /// ranks.
    pub receives: &'a [Transfer<Rank>],
}

impl TwoLayer<'_> {
    /// Returns this rank's schedule: gather inside the node, merge, then exchange by the kernel `outer`. `inner` throttles the
    /// messages inside the node. O(m log m) for m shares.
    pub fn schedule(&self, outer: &Kernel, throttle: Throttle, inner: Throttle) -> Schedule {
        let mut builder = Builder::default();
        let sends = if self.local_aggregator == self.rank {
            self.gather_and_merge(&mut builder, inner)
        } else {
            self.send_to_local_aggregator(&mut builder);
            (Vec::new(), Vec::new())
        };
        builder.stage(0);
        let exchange = Exchange {
            rank: self.rank,
            ranks: self.ranks,
            receivers: self.receivers,
            rank_list: self.rank_list,
            sends: &sends.0,
            receives: self.receives,
        };
        exchange.append(&mut builder, outer, throttle, &sends.1);
        builder.finish()
    }

    /// Returns this rank's schedule if the members of a local aggregator share memory. Each member copies its shares
    /// into the messages of the local aggregator, which sends them. `merged` lists these messages by ascending
    /// aggregator; it is empty on the other members. The executor's memory lets a copy wait until its message has a
    /// place, and a send wait until all its bytes are copied. Messages get their places in the order of their sends.
    pub fn schedule_in_memory(&self, merged: &[Share], outer: &Kernel, throttle: Throttle) -> Schedule {
        let mut builder = Builder::default();
        let span = |buffer, share: &Share| Span::new(buffer, share.aggregator.0 as u64 * MESSAGE_STRIDE, share.len);
        let sends: Vec<_> =
            merged.iter().map(|share| Transfer { peer: share.aggregator, span: span(MERGED, share) }).collect();
        let exchange = Exchange {
            rank: self.rank,
            ranks: self.ranks,
            receivers: self.receivers,
            rank_list: self.rank_list,
            sends: &sends,
            receives: self.receives,
        };
        let mut at = 0;
        let place = |share: &Share| {
            at += share.len;
            (share.aggregator, Span::new(Buffer::Send, at - share.len, share.len))
        };
        let own: Vec<(ReceiverIndex, Span)> = self.own.iter().map(place).collect();
        let span_for =
            |aggregator: ReceiverIndex| own.binary_search_by_key(&aggregator, |own| own.0).map(|index| own[index].1);
        if self.local_aggregator == self.rank {
            let is_to_itself = |message: &Transfer<_>| exchange.rank_of(message.peer) == self.rank;
            let ordered = exchange.ordered_sends(outer).into_iter().map(|(_, message)| message);
            let (first, others): (Vec<_>, Vec<_>) = ordered.partition(is_to_itself);
            for Transfer { peer, span } in first.into_iter().chain(others) {
                let from = span_for(peer).unwrap_or(Span::new(Buffer::Send, 0, 0));
                builder.copy(from, Span { buffer: MERGED_SHARED, ..span }, &[]);
            }
        } else {
            for (share, (_, from)) in self.own.iter().zip(&own) {
                builder.copy(*from, span(MERGED_SHARED, share), &[]);
            }
        }
        exchange.append(&mut builder, outer, throttle, &[]);
        builder.finish()
    }

    fn send_to_local_aggregator(&self, builder: &mut Builder) {
        builder.stage(NODE_STAGE);
        let all: u64 = self.own.iter().map(|share| share.len).sum();
        if all > 0 {
            builder.send(self.local_aggregator, SendMode::Synchronous, Span::new(Buffer::Send, 0, all), &[]);
        }
    }

    /// Receives from the members and copies every share into the message to its aggregator, in order of aggregator, then
    /// rank. Returns the messages and the operations that they wait for.
    fn gather_and_merge(&self, builder: &mut Builder, inner: Throttle) -> (Vec<Transfer<ReceiverIndex>>, Vec<u32>) {
        builder.stage(NODE_STAGE);
        let mut chain = Vec::with_capacity(self.members.len());
        // (aggregator, member, source)
        let mut shares: Vec<(ReceiverIndex, Rank, Span)> = Vec::new();
        let mut place = |rank: Rank, buffer: Buffer, mut at: u64, of: &[Share]| {
            for share in of {
                shares.push((share.aggregator, rank, Span::new(buffer, at, share.len)));
                at += share.len;
            }
            at
        };
        place(self.rank, Buffer::Send, 0, self.own);
        let mut at = 0;
        for (member, of) in self.members {
            let end = place(*member, GATHERED, at, of);
            chain.push((crate::schedule::Action::Receive { from: *member }, Span::new(GATHERED, at, end - at)));
            at = end;
        }
        let arrived = builder.chain(&chain, inner, &[]);
        let gathered = builder.join(&arrived);
        shares.sort_unstable_by_key(|&(aggregator, rank, _)| (aggregator, rank));
        let mut sends: Vec<Transfer<ReceiverIndex>> = Vec::new();
        let mut copies = Vec::with_capacity(shares.len());
        let mut at = 0;
        for (aggregator, _, from) in shares {
            copies.push(builder.copy(from, Span::new(MERGED, at, from.len), &[gathered]));
            match sends.last_mut() {
                Some(last) if last.peer == aggregator => last.span.len += from.len,
                _ => sends.push(Transfer { peer: aggregator, span: Span::new(MERGED, at, from.len) }),
            }
            at += from.len;
        }
        let merged = builder.join(&copies);
        (sends, vec![merged])
    }
}

/// The local aggregator of every rank. The members of a local aggregator are neighbours in the ascending list of
/// their node's ranks; the lowest member is the local aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAggregators {
    aggregator_of: Vec<u32>,
}

impl LocalAggregators {
    /// Default number of local aggregators of a file: the paper's number.
    pub const IN_TOTAL: usize = 512;

    /// Chooses `per_node` local aggregators on every node; all ranks of a node that has fewer. O(ranks).
    pub fn per_node(topology: &Topology, per_node: usize) -> Self {
        Self::distribute(topology, |_| per_node)
    }

    /// Chooses local aggregators by the value of the hint `nc_num_aggrs_per_node`: that number on every node; 0 is
    /// the paper's default, 512 in all. O(ranks).
    pub fn from_hint(topology: &Topology, per_node: usize) -> Self {
        if per_node == 0 { Self::in_total(topology, Self::IN_TOTAL) } else { Self::per_node(topology, per_node) }
    }

    /// Distributes `total` local aggregators evenly over the nodes, at least one on each. O(ranks). With `total` or
    /// fewer ranks on equal nodes, every rank is its own local aggregator: below 512 ranks, the paper's default is
    /// the two-phase exchange.
    pub fn in_total(topology: &Topology, total: usize) -> Self {
        let (each, more) = (total / topology.nodes(), total % topology.nodes());
        Self::distribute(topology, |node| each + usize::from(node < more))
    }

    fn distribute(topology: &Topology, count_on: impl Fn(usize) -> usize) -> Self {
        let mut aggregator_of = vec![0; topology.ranks()];
        for node in 0..topology.nodes() {
            let ranks = topology.ranks_on(node);
            let count = count_on(node).clamp(1, ranks);
            for index in 0..ranks {
                // Group g holds the indices i with i * count / ranks = g; its first is ceil(g * ranks / count).
                let first = (index * count / ranks * ranks).div_ceil(count);
                aggregator_of[topology.rank_at(node, index)] = topology.rank_at(node, first) as u32;
            }
        }
        Self { aggregator_of }
    }

    /// Splits groups so that the members of each local aggregator are consecutive ranks. Bytes then reach an
    /// aggregator in rank order. If ranks are placed on nodes in turn (0, 2, 4, ... and 1, 3, 5, ...), every rank
    /// becomes its own local aggregator. O(ranks).
    pub fn with_consecutive_members(mut self) -> Self {
        let mut before = None;
        for (rank, aggregator) in self.aggregator_of.iter_mut().enumerate() {
            let here = *aggregator;
            *aggregator = match before {
                Some((node, first)) if node == here => first,
                _ => rank as u32,
            };
            before = Some((here, *aggregator));
        }
        self
    }

    /// Returns the local aggregator of `rank`; `rank` itself if it is one.
    pub fn aggregator_of(&self, rank: Rank) -> Rank {
        self.aggregator_of[rank] as Rank
    }

    /// Returns the local aggregator of every rank, indexed by rank.
    pub fn by_rank(&self) -> &[u32] {
        &self.aggregator_of
    }

    /// Returns true if any local aggregator gathers for another rank. O(ranks).
    pub fn has_members(&self) -> bool {
        (0..self.aggregator_of.len()).any(|rank| self.aggregator_of(rank) != rank)
    }

    /// Returns the members of local aggregator `rank`, the local aggregator itself first; empty if `rank` is no local
    /// aggregator. O(ranks).
    pub fn members_of(&self, rank: Rank) -> Vec<Rank> {
        (0..self.aggregator_of.len()).filter(|&r| self.aggregator_of(r) == rank).collect()
    }

    /// Returns the ranks of all local aggregators, ascending. O(ranks).
    pub fn all(&self) -> Vec<Rank> {
        (0..self.aggregator_of.len()).filter(|&r| self.aggregator_of(r) == r).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_a_node_and_sizes_differ_by_one() {
        for (ranks, per_node) in [(1, 1), (16, 4), (17, 5), (64, 64), (7, 3)] {
            let topology = Topology::blocks(ranks, per_node).unwrap();
            for wanted in 1..6 {
                let local = LocalAggregators::per_node(&topology, wanted);
                let mut covered = 0;
                for aggregator in local.all() {
                    let members = local.members_of(aggregator);
                    assert_eq!(members[0], aggregator);
                    assert!(members.iter().all(|&m| topology.node_of(m) == topology.node_of(aggregator)));
                    covered += members.len();
                }
                assert_eq!(covered, ranks);
                for node in 0..topology.nodes() {
                    let sizes: Vec<_> = (local.all().into_iter().filter(|&a| topology.node_of(a) == node))
                        .map(|a| local.members_of(a).len())
                        .collect();
                    assert_eq!(sizes.len(), wanted.min(topology.ranks_on(node)));
                    assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                }
            }
        }
    }

    #[test]
    fn consecutive_ranks_stay_together_and_others_are_split() {
        let blocks = LocalAggregators::per_node(&Topology::blocks(8, 4).unwrap(), 1);
        assert_eq!(blocks.clone().with_consecutive_members(), blocks);
        let mixed = LocalAggregators::per_node(&Topology::listed(&[0, 0, 1, 0, 0, 1]).unwrap(), 1);
        let cut = mixed.with_consecutive_members();
        assert_eq!((0..6).map(|rank| cut.aggregator_of(rank)).collect::<Vec<_>>(), [0, 0, 2, 3, 3, 5]);
    }

    #[test]
    fn the_papers_default_is_plain_below_512_ranks() {
        let topology = Topology::blocks(100, 8).unwrap();
        let local = LocalAggregators::from_hint(&topology, 0);
        assert!((0..100).all(|rank| local.aggregator_of(rank) == rank));
        assert_eq!(LocalAggregators::in_total(&Topology::blocks(1024, 64).unwrap(), 512).all().len(), 512);
    }
}
