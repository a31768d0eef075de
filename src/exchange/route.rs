//! A route: one kernel with its throttle and parties, fixed for a phase; makes the schedule of any exchange over it.

use std::sync::Arc;

use super::{Exchange, Kernel, PAIRWISE, RankList, Transfer, pairwise};
use crate::schedule::{Buffer, Schedule, Span, Throttle};
use crate::topology::Rank;

/// How the messages of one phase travel. Equal on all ranks but for `rank`.
#[derive(Debug, Clone)]
pub struct Route {
    /// This rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub ranks: usize,
    /// The receivers, ascending.
    pub receivers: Arc<[Rank]>,
    /// The rank list of the balanced kernel.
    pub rank_list: RankList,
    /// The flat kernel.
    pub kernel: &'static Kernel,
    /// Its throttle.
    pub throttle: Throttle,
    /// Whether the pairwise kernel exchanges empty messages too, as the paper's does.
    pub pairwise_empty: bool,
}

impl Route {
    /// The schedule of one exchange; `sends` and `receives` by ascending peer, as in [`Exchange`].
    pub fn schedule(&self, sends: &[Transfer], receives: &[Transfer]) -> Schedule {
        if self.exchanges_empty() {
            return self.with_empty(sends, receives);
        }
        self.exchange(&self.receivers, sends, receives).schedule(self.kernel, self.throttle)
    }

    /// Whether every rank must take part in every exchange, because empty messages are exchanged too.
    pub fn exchanges_empty(&self) -> bool {
        self.pairwise_empty && self.kernel.name == PAIRWISE.name
    }

    fn exchange<'a>(&'a self, receivers: &'a [Rank], sends: &'a [Transfer], receives: &'a [Transfer]) -> Exchange<'a> {
        Exchange { rank: self.rank, ranks: self.ranks, receivers, rank_list: &self.rank_list, sends, receives }
    }

    /// Every rank is a receiver, and every pair exchanges. O(ranks) on every rank: the paper's price.
    fn with_empty(&self, sends: &[Transfer], receives: &[Transfer]) -> Schedule {
        let everyone: Vec<Rank> = (0..self.ranks).collect();
        let by_rank: Vec<_> = sends.iter().map(|m| Transfer { peer: self.receivers[m.peer], ..*m }).collect();
        let sends = pairwise::with_empty(&by_rank, 0..self.ranks, Span::new(Buffer::Send, 0, 0));
        let receives = pairwise::with_empty(receives, 0..self.ranks, Span::new(Buffer::Receive, 0, 0));
        self.exchange(&everyone, &sends, &receives).schedule(self.kernel, self.throttle)
    }
}
