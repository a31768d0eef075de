//! A route: the kernel of a phase (metadata or data) with throttle and receivers. The route makes the schedule of
//! each exchange of the phase.

use std::sync::Arc;

use super::{Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use crate::schedule::{Schedule, Throttle};
use crate::topology::Rank;

/// The way in which the messages of a phase are exchanged. All fields but `rank` are equal on all ranks.
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
