//! Limits by place: messages inside a node, between nodes, and into one node's port have limits of their own.
//!
//! A rank's sends, or its receives, are divided by where the other side is. Each part keeps the order of the whole and is a
//! chain with a throttle of its own. **Why this is free of deadlock**: all ranks order their messages by one key. Take the
//! message that is not delivered and has the smallest key. What is before it in its part has a smaller key and is delivered,
//! on both sides, so both sides have started it. The argument needs an order within each part, not how many parts there are
//! or which limits they have.
//!
//! **A port is shared by division.** No rank knows how many messages are under way to a node without asking the others, and
//! a rank that waits for an answer may wait for one who waits for it. So the limit of a port is divided by the number of
//! ranks of the node that receive; each keeps its part by itself, and takes one message at a time at least. All ranks know
//! the receivers, so nothing is sent. The price: what one receiver does not use, the others may not.
//!
//! A limit of receives holds back messages above the eager limit of MPI, whose bytes wait for the receive. Shorter ones leave
//! when they are sent; only limits of sends hold them back.

use super::build::Throttle;
use super::ir::{Action, Span};
use crate::topology::{Rank, Topology};

/// Limits of a rank's outstanding sends, and of its outstanding receives, by where the other side is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedThrottle {
    /// For messages between ranks of a node.
    pub inside: Throttle,
    /// For messages between nodes.
    pub between: Throttle,
    /// The most receives from other nodes that the ranks of one node have outstanding together, if none of them has more than
    /// `between` permits; at least one each. `None`: no such limit.
    pub port: Option<u32>,
}

/// The limits of a chain of messages.
#[derive(Debug, Clone, Copy)]
pub enum Limits<'a> {
    /// One limit for all messages.
    Together(Throttle),
    /// Limits by place.
    ByPlace {
        /// The limits.
        throttle: PlacedThrottle,
        /// The nodes of ranks.
        topology: &'a Topology,
    },
}

impl From<Throttle> for Limits<'_> {
    fn from(throttle: Throttle) -> Self {
        Self::Together(throttle)
    }
}

/// Which of a rank's chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Its sends.
    Sends,
    /// Its receives; with the number of ranks on its node that receive.
    Receives(usize),
}

impl PlacedThrottle {
    /// The throttle of one rank's messages between nodes.
    pub fn between(&self, side: Side) -> Throttle {
        let share = match (self.port, side) {
            (Some(port), Side::Receives(receivers)) => Some((port / receivers.max(1) as u32).max(1)),
            _ => None,
        };
        let limit = [self.between.limit, share].into_iter().flatten().min();
        Throttle { limit, ..self.between }
    }
}

impl Limits<'_> {
    /// Divides one side of `rank` into chains, each in the order of `messages`, with their throttles: first the chain inside
    /// the node. O(messages).
    pub fn divide(
        &self,
        rank: Rank,
        side: Side,
        messages: Vec<(Action, Span)>,
    ) -> Vec<(Vec<(Action, Span)>, Throttle)> {
        match self {
            Self::Together(throttle) => vec![(messages, *throttle)],
            Self::ByPlace { throttle, topology } => {
                let node = topology.node_of(rank);
                let is_inside = |(action, _): &(Action, Span)| match action {
                    Action::Send { to: peer, .. } | Action::Receive { from: peer } => topology.node_of(*peer) == node,
                    Action::Copy { .. } | Action::Reduce { .. } | Action::Join => true,
                };
                let (inside, between) = messages.into_iter().partition(is_inside);
                vec![(inside, throttle.inside), (between, throttle.between(side))]
            }
        }
    }
}
