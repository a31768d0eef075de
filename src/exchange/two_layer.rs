//! The two-layer aggregation method, TAM (main paper, sections II.B and V, figure 3 (d)).
//!
//! Every rank hands all it has to its local aggregator on the same node; local aggregators merge what they got and
//! exchange with the I/O aggregators by any flat kernel. Between nodes there are then (local aggregators x aggregators)
//! messages in place of (ranks x aggregators), at the price of one copy through the local aggregator's memory.
//!
//! One member: one message of all its bytes. A local aggregator of m members: m - 1 messages in, at most |R| out. Time in
//! the one-port model (m - 1) t_s + (bytes of the members) t_w inside the node, then the outer kernel's with the number
//! of local aggregators in place of p.
//!
//! With a [`RoundTree`], members hand over along an ordered gather tree instead (irregular gather and scatter, section 2 and
//! Theorem 1): neighbouring members join, the one with fewer bytes sending, so that a local aggregator of m members gets
//! ceil(log2 m) messages at most, in ceil(log2 m) t_s + (bytes of the members + largest subtree) t_w, in member order as
//! before. A member without bytes has no part in it.

use super::{Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use crate::collectives::Group;
use crate::collectives::gatherv::part::{Leg, Part};
use crate::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

/// The word that stands for two layers where a hint or an option takes a kernel.
pub const NAME: &str = "two_layer";
/// What they do, in one line, as [`Kernel::about`].
pub const ABOUT: &str = "members hand all they have to a local aggregator on their node, which sends merged messages";
/// Where they are from, as [`Kernel::source`].
pub const SOURCE: &str = "Main paper, sections II.B and V, figure 3 (d)";
/// Their time, as [`Kernel::cost`].
pub const COST: &str = "(q - 1) t_s + (bytes of the members) t_w inside the node, then the outer kernel's time with the local \
                        aggregators in place of p";
/// When to use them, as [`Kernel::when`].
pub const WHEN: &str = "Many ranks on a node with little each: the aggregators hear from nodes, not from ranks. Every byte goes \
                        through memory once more, so not for large requests.";

/// What members handed to their local aggregator, as they sent it: [`Buffer::Stage`] of this number.
pub const GATHERED: Buffer = Buffer::Stage(0);
/// What a local aggregator sends on, by aggregator: [`Buffer::Stage`] of this number.
pub const MERGED: Buffer = Buffer::Stage(1);
/// What a member passes on for others, its own bytes among theirs, in member order: [`Buffer::Stage`] of this number.
pub const PASSED: Buffer = Buffer::Stage(2);
/// What a local aggregator sends on, as all members see it where they share memory: [`Buffer::Stage`] of this number. The
/// message of every aggregator has its own addresses, here as in [`MERGED`]: see [`aggregator_at`].
pub const HELD: Buffer = Buffer::Stage(3);
/// How far the addresses of one aggregator's message are from the next one's.
const APART: u64 = 1 << 40;
/// Stage of the messages inside the node (the outer kernel's are stage 0).
const INNER: u8 = 1;

/// One part of a rank's data: all that goes to one aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which aggregator.
    pub aggregator: ReceiverIndex,
    /// Bytes, above 0.
    pub len: u64,
}

/// The index of the aggregator of a message in [`HELD`], and in [`MERGED`] where members share memory.
pub fn aggregator_at(offset: u64) -> usize {
    (offset / APART) as usize
}

/// A rank's part of the gather tree inside its node.
#[derive(Debug, Clone, Copy)]
pub struct RoundTree<'a> {
    /// The members of its local aggregator, ascending: the root is number 0.
    pub group: &'a Group,
    /// The tree of this exchange, in numbers of members. The own block of the local aggregator is empty: what it has for
    /// itself is merged from where it is.
    pub part: &'a Part,
}

/// One rank's part of a two-layer exchange.
#[derive(Debug)]
pub struct TwoLayer<'a> {
    /// This rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub ranks: usize,
    /// The I/O aggregators, ascending.
    pub receivers: &'a [Rank],
    /// The rank list of the outer kernel.
    pub rank_list: &'a RankList,
    /// This rank's local aggregator.
    pub local_aggregator: Rank,
    /// This rank's own shares by ascending aggregator; they lie one after the other in [`Buffer::Send`].
    pub own: &'a [Share],
    /// On a local aggregator: its other members that send anything, ascending, each with its shares. They arrive one
    /// after the other in [`GATHERED`].
    pub members: &'a [(Rank, Vec<Share>)],
    /// Inside the node along this tree; none: every member sends to its local aggregator itself.
    pub tree: Option<RoundTree<'a>>,
    /// On an aggregator: what each local aggregator sends, ascending.
    pub receives: &'a [Transfer<Rank>],
}

impl RoundTree<'_> {
    /// Adds this rank's part of the gather along the tree, by way of `buffer`.
    fn append(&self, buffer: Buffer, throttle: Throttle, builder: &mut Builder) -> Vec<OpId> {
        let leg = Leg { group: self.group, mode: SendMode::Synchronous, throttle };
        self.part.append_in(buffer, &leg, builder)
    }
}

impl TwoLayer<'_> {
    /// The whole exchange of this rank: inside the node, merge, outer kernel. `inner` limits the messages inside the node.
    pub fn schedule(&self, outer: &Kernel, throttle: Throttle, inner: Throttle) -> Schedule {
        let mut builder = Builder::default();
        let sends = if self.local_aggregator == self.rank {
            self.gather_and_merge(&mut builder, inner)
        } else {
            self.hand_over(&mut builder, inner);
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

    /// The whole exchange of this rank where the members share memory: each copies its shares into the messages of the local
    /// aggregator, which sends `merged`, by ascending aggregator (nothing on its members). A copy waits for its message to
    /// have a place, and a message for its bytes; that is up to the memory. Messages get their places in the order of their
    /// sends.
    pub fn schedule_in_memory(&self, merged: &[Share], outer: &Kernel, throttle: Throttle) -> Schedule {
        let mut builder = Builder::default();
        let span = |buffer, share: &Share| Span::new(buffer, share.aggregator.0 as u64 * APART, share.len);
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
        let of =
            |aggregator: ReceiverIndex| own.binary_search_by_key(&aggregator, |own| own.0).map(|index| own[index].1);
        if self.local_aggregator == self.rank {
            let is_own = |message: &Transfer<_>| exchange.rank_of(message.peer) == self.rank;
            let ordered = exchange.ordered_sends(outer).into_iter().map(|(_, message)| message);
            let (first, others): (Vec<_>, Vec<_>) = ordered.partition(is_own);
            for Transfer { peer, span } in first.into_iter().chain(others) {
                let from = of(peer).unwrap_or(Span::new(Buffer::Send, 0, 0));
                builder.copy(from, Span { buffer: HELD, ..span }, &[]);
            }
        } else {
            for (share, (_, from)) in self.own.iter().zip(&own) {
                builder.copy(*from, span(HELD, share), &[]);
            }
        }
        exchange.append(&mut builder, outer, throttle, &[]);
        builder.finish()
    }

    fn hand_over(&self, builder: &mut Builder, inner: Throttle) {
        builder.stage(INNER);
        if let Some(tree) = &self.tree {
            tree.append(PASSED, inner, builder);
            return;
        }
        let all: u64 = self.own.iter().map(|share| share.len).sum();
        if all > 0 {
            builder.send(self.local_aggregator, SendMode::Synchronous, Span::new(Buffer::Send, 0, all), &[]);
        }
    }

    /// Receives from the members and copies every share to its aggregator's outgoing message, ordered by aggregator, then
    /// rank. Returns the outgoing messages and what they wait for.
    fn gather_and_merge(&self, builder: &mut Builder, inner: Throttle) -> (Vec<Transfer<ReceiverIndex>>, Vec<u32>) {
        builder.stage(INNER);
        let mut chain = Vec::with_capacity(self.members.len());
        // (aggregator, member's place in the order, source)
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
        let arrived = match &self.tree {
            Some(tree) => tree.append(GATHERED, inner, builder),
            None => builder.chain(&chain, inner, &[]),
        };
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
