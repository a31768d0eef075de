//! A route: one kernel with its throttle and parties, fixed for a phase; makes the schedule of any exchange over it.

use std::sync::Arc;

use super::{Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use crate::schedule::{Schedule, Throttle};
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
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Its throttle.
    pub throttle: Throttle,
}

impl Route {
    /// The schedule of one exchange; `sends` and `receives` by ascending peer, as in [`Exchange`].
    pub fn schedule(&self, sends: &[Transfer<ReceiverIndex>], receives: &[Transfer<Rank>]) -> Schedule {
        let Self { rank, ranks, ref receivers, ref rank_list, kernel, throttle } = *self;
        Exchange { rank, ranks, receivers, rank_list, sends, receives }.schedule(kernel, throttle)
    }
}
