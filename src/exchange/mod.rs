//! Exchange kernels: they decide the order, the send mode and the throttle of the messages of an all-to-many
//! exchange.
//!
//! A kernel turns one rank's messages into one rank's [`Schedule`], as a pure function. The kernel gives each message
//! (sender, receiver) a **step**: its position in an order that all ranks follow. Sends and receives are chained in
//! that order, each under the throttle. Because all ranks share the order, no throttle can deadlock
//! ([`Builder::chain`]).
//!
//! **A new kernel** is one file here that defines a `static` [`Kernel`], and its row in [`KERNELS`]. Hints, command line,
//! validators and the suites on all fabrics read the row; `./generate` writes what is generated.

use std::sync::Arc;

use crate::schedule::{Action, Builder, OpId, Schedule, Span, Throttle};
use crate::topology::Rank;

mod ascending;
mod balanced;
pub mod cost;
mod kernel;
pub mod local;
mod pairwise;
mod rank_list;
mod spread_out;
pub mod two_layer;

pub use ascending::{ASCENDING_ISEND, ASCENDING_ISSEND};
pub use balanced::BALANCED;
pub use kernel::{Kernel, SLIDING_LIMIT};
pub use pairwise::PAIRWISE;
pub use rank_list::RankList;

/// The registry: all kernels, in the order of the documentation.
pub static KERNELS: &[&Kernel] = &[
    &ascending::ASCENDING_ISEND,
    &ascending::ASCENDING_ISSEND,
    &spread_out::SPREAD_OUT,
    &balanced::BALANCED,
    &pairwise::PAIRWISE,
];

/// The index of a receiver (an aggregator) in [`Exchange::receivers`]: not its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverIndex(pub usize);

/// One message of an exchange from the view of one rank: a send to the receiver with an index, or a receive from a
/// rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<Peer> {
    /// Rank at the other end: the receiver's index, or the sender's rank.
    pub peer: Peer,
    /// Range of this rank's buffer that holds the bytes or receives them.
    pub span: Span,
}

/// One rank's part of an all-to-many exchange: the receivers, and what this rank sends and receives.
///
/// Only the messages in the lists are sent. On a rank with few messages, nothing here is O(ranks).
#[derive(Debug, Clone)]
pub struct Exchange<'a> {
    /// Number of this rank.
    pub rank: Rank,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks of the receivers (R in the paper), ascending.
    pub receivers: &'a [Rank],
    /// Order of ranks that the balanced kernel uses.
    pub rank_list: &'a RankList,
    /// Messages that this rank sends, at most one to each receiver.
    pub sends: &'a [Transfer<ReceiverIndex>],
    /// Messages that this rank receives, at most one from each sender; empty if this rank is no receiver.
    pub receives: &'a [Transfer<Rank>],
}

impl Exchange<'_> {
    /// Returns this rank's index among the receivers; `None` if this rank is no receiver.
    pub fn receiver_index(&self) -> Option<ReceiverIndex> {
        self.receivers.binary_search(&self.rank).ok().map(ReceiverIndex)
    }

    /// Returns the rank of a receiver.
    #[inline]
    pub fn rank_of(&self, receiver: ReceiverIndex) -> Rank {
        self.receivers[receiver.0]
    }

    /// Returns the schedule of this exchange on this rank. O(m log m) for m messages of this rank.
    pub fn schedule(&self, kernel: &Kernel, throttle: Throttle) -> Schedule {
        let mut builder = Builder::default();
        self.append(&mut builder, kernel, throttle, &[]);
        builder.finish()
    }

    /// Appends this exchange to a schedule. The sends wait for the operations `after`, the receives do not (in a
    /// coupled kernel, both do).
    ///
    /// A message from this rank to itself becomes a copy. O(m log m) for m messages of this rank.
    pub fn append(&self, builder: &mut Builder, kernel: &Kernel, throttle: Throttle, after: &[OpId]) {
        let mut sends = self.ordered_sends(kernel);
        let mut receives = self.ordered_receives(kernel);
        if let Some(own) = sends.iter().position(|s| self.rank_of(s.1.peer) == self.rank) {
            let (_, from) = sends.remove(own);
            if let Some(to) = receives.iter().position(|r| r.1.peer == self.rank) {
                let (_, to) = receives.remove(to);
                builder.copy(from.span, to.span, after);
            }
        }
        if kernel.coupled {
            return self.append_coupled(builder, kernel, &sends, &receives, after);
        }
        let receives: Vec<_> = receives.iter().map(|r| receive(&r.1)).collect();
        let sends: Vec<_> = sends.iter().map(|s| self.send(kernel, &s.1)).collect();
        builder.chain(&receives, throttle, &[]);
        builder.chain(&sends, throttle, after);
    }

    /// Appends the messages of a coupled kernel step by step: a step's send and receive finish before the next step
    /// starts.
    fn append_coupled(
        &self,
        builder: &mut Builder,
        kernel: &Kernel,
        sends: &[(u64, Transfer<ReceiverIndex>)],
        receives: &[(u64, Transfer<Rank>)],
        after: &[OpId],
    ) {
        let (mut sends, mut receives) = (sends.iter().peekable(), receives.iter().peekable());
        let mut before = after.to_vec();
        while let Some(step) = sends.peek().map(|s| s.0).into_iter().chain(receives.peek().map(|r| r.0)).min() {
            let mut both = Vec::with_capacity(2);
            if let Some((_, message)) = receives.next_if(|r| r.0 == step) {
                let (action, span) = receive(message);
                both.push(builder.op(action, span, &before));
            }
            if let Some((_, message)) = sends.next_if(|s| s.0 == step) {
                let (action, span) = self.send(kernel, message);
                both.push(builder.op(action, span, &before));
            }
            before = vec![builder.join(&both)];
        }
    }

    fn send(&self, kernel: &Kernel, message: &Transfer<ReceiverIndex>) -> (Action, Span) {
        (Action::Send { to: self.rank_of(message.peer), mode: kernel.mode }, message.span)
    }

    fn ordered_sends(&self, kernel: &Kernel) -> Vec<(u64, Transfer<ReceiverIndex>)> {
        let mut all: Vec<_> = self.sends.iter().map(|m| ((kernel.step)(self, self.rank, m.peer), *m)).collect();
        all.sort_unstable_by_key(|(step, _)| *step);
        all
    }

    fn ordered_receives(&self, kernel: &Kernel) -> Vec<(u64, Transfer<Rank>)> {
        let Some(own) = self.receiver_index() else { return Vec::new() };
        let mut all: Vec<_> = self.receives.iter().map(|m| ((kernel.step)(self, m.peer, own), *m)).collect();
        all.sort_unstable_by_key(|(step, _)| *step);
        all
    }
}

fn receive(message: &Transfer<Rank>) -> (Action, Span) {
    (Action::Receive { from: message.peer }, message.span)
}

/// The kernel of a phase (metadata or data) with its throttle and its receivers: makes the schedule of each exchange of the
/// phase. All fields but `rank` are equal on all ranks.
#[derive(Debug, Clone)]
pub struct Route {
    /// Number of this rank.
    pub rank: Rank,
    /// Number of ranks.
    pub ranks: usize,
    /// Ranks of the receivers, ascending.
    pub receivers: Arc<[Rank]>,
    /// Order of ranks that the balanced kernel uses.
    pub rank_list: RankList,
    /// Kernel of the phase.
    pub kernel: &'static Kernel,
    /// Throttle of the kernel.
    pub throttle: Throttle,
}

impl Route {
    /// Returns this rank's schedule of one exchange; `sends` and `receives` are as in [`Exchange`].
    pub fn schedule(&self, sends: &[Transfer<ReceiverIndex>], receives: &[Transfer<Rank>]) -> Schedule {
        self.exchange(self.rank, sends, receives).schedule(self.kernel, self.throttle)
    }

    /// Returns an exchange of any rank; `sends` and `receives` are as in [`Exchange`].
    pub fn exchange<'a>(
        &'a self,
        rank: Rank,
        sends: &'a [Transfer<ReceiverIndex>],
        receives: &'a [Transfer<Rank>],
    ) -> Exchange<'a> {
        let Self { ranks, receivers, rank_list, .. } = self;
        Exchange { rank, ranks: *ranks, receivers, rank_list, sends, receives }
    }
}
