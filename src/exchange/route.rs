//! A route: the kernel of a phase with its throttle and its receivers. It makes the schedule of each exchange of the phase.

use std::sync::Arc;

use super::{Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use crate::schedule::{Schedule, Throttle};
use crate::topology::Rank;

/// How the messages of a phase are exchanged. All fields but `rank` are equal on all ranks.
#[derive(Debug, Clone)]
pub struct Route {
    /// This rank.
    pub rank: Rank,
    /// Number of ranks.
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
    /// Returns the schedule of one exchange; `sends` and `receives` as in [`Exchange`].
    pub fn schedule(&self, sends: &[Transfer<ReceiverIndex>], receives: &[Transfer<Rank>]) -> Schedule {
        let Self { rank, ranks, ref receivers, ref rank_list, kernel, throttle } = *self;
        Exchange { rank, ranks, receivers, rank_list, sends, receives }.schedule(kernel, throttle)
    }
}
