//! The configuration of the metadata phase or the data phase: the route between senders and aggregators, and the local
//! aggregators.

use std::sync::Arc;

use crate::exchange::local::LocalAggregators;
use crate::exchange::two_layer::{Share, TwoLayer};
use crate::exchange::{Route, Transfer};
use crate::fabric::shared::GroupMemory;
use crate::schedule::{Buffer, Schedule, Span};
use crate::topology::Rank;

/// How messages go from ranks to aggregators in the metadata phase or in the data phase.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The route between the senders and the aggregators.
    pub route: Route,
    /// With two layers: the local aggregators; `None` with one layer.
    pub local: Option<Arc<LocalAggregators>>,
    /// With two layers: the members of this rank's local aggregator, which share memory.
    pub group: Option<Arc<GroupMemory>>,
}

impl Phase {
    /// The schedule of one round. `shares` are this rank's by ascending aggregator, one after the other in [`Buffer::Send`].
    /// `merged` are the messages of a local aggregator. `receives` are the messages to an aggregator.
    pub fn schedule(&self, shares: &[Share], merged: &[Share], receives: &[Transfer<Rank>]) -> Schedule {
        let route = &self.route;
        let Some(local) = &self.local else {
            let mut at = 0;
            let place = |share: &Share| {
                at += share.len;
                Transfer { peer: share.aggregator, span: Span::new(Buffer::Send, at - share.len, share.len) }
            };
            return route.schedule(&shares.iter().map(place).collect::<Vec<_>>(), receives);
        };
        let two_layer = TwoLayer {
            rank: route.rank,
            ranks: route.ranks,
            receivers: &route.receivers,
            rank_list: &route.rank_list,
            local_aggregator: local.aggregator_of(route.rank),
            own: shares,
            members: &[],
            receives,
        };
        two_layer.schedule_in_memory(merged, route.kernel, route.throttle)
    }
}
