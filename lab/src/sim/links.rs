//! Links between nodes, and the routes of messages over them.
//!
//! Routes are static and minimal: a hash of both nodes chooses one of the shortest routes. There is no adaptive
//! routing. Nodes fill routers, and routers fill groups, in their order.

use smallvec::SmallVec;

/// Topology of the links between nodes. Times are in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Links {
    /// A dragonfly: all routers of a group are connected with each other, and all groups are.
    Dragonfly {
        /// Number of groups.
        groups: usize,
        /// Number of routers in a group.
        routers: usize,
        /// Number of nodes at a router.
        nodes: usize,
        /// Number of links between two groups, in each direction.
        between: usize,
        /// Time of a byte on a link between routers of a group, in picoseconds.
        local: f64,
        /// Time of a byte on a link between groups, in picoseconds.
        global: f64,
    },
    /// A fat tree (folded Clos network): half of the ports of a switch go down and half go up; at the top all go down.
    FatTree {
        /// Number of ports of a switch, even.
        radix: usize,
        /// Number of levels of switches.
        levels: usize,
        /// Time of a byte on a link, in picoseconds.
        byte: f64,
    },
}

/// Link between nodes or routers, in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Index of the link, below [`Links::count`].
    pub index: usize,
    /// Time of a byte on the link, in picoseconds.
    pub byte: f64,
}

/// Links of a route, in order. The links between a node and its router are the node's ports and not in the list.
pub type Route = SmallVec<[Link; 6]>;

impl Links {
    /// Maximum number of links that are simulated.
    pub const MOST: usize = 1 << 28;

    /// Returns the number of nodes that can be connected.
    pub fn nodes(&self) -> usize {
        match *self {
            Self::Dragonfly { groups, routers, nodes, .. } => groups.saturating_mul(routers).saturating_mul(nodes),
            Self::FatTree { radix, levels, .. } => (radix / 2).saturating_pow(levels as u32).saturating_mul(2),
        }
    }

    /// Returns the number of links, counting each direction; `None` if there are more than [`Links::MOST`], or more
    /// than 16 levels.
    pub fn count(&self) -> Option<usize> {
        let count = match *self {
            Self::Dragonfly { groups, routers, between, .. } => {
                let local = groups.checked_mul(routers)?.checked_mul(routers)?;
                groups.checked_mul(groups)?.checked_mul(between)?.checked_add(local)?
            }
            // A message counts its hops in 5 bits.
            Self::FatTree { levels, .. } if levels > 16 => return None,
            Self::FatTree { levels, .. } => self.nodes().checked_mul(2 * (levels - 1))?,
        };
        (count <= Self::MOST).then_some(count)
    }

    /// Returns the route from one node to another. O(links of the route).
    pub fn route(&self, from: usize, to: usize) -> Route {
        let hash = hash(from, to);
        match *self {
            Self::Dragonfly { groups, routers, nodes, between, local, global } => {
                let place = |node: usize| (node / nodes / routers, node / nodes % routers);
                let ((group, router), (other, last)) = (place(from), place(to));
                let inside = |group: usize, from: usize, to: usize| {
                    let index = (group * routers + from) * routers + to;
                    (from != to).then_some(Link { index, byte: local })
                };
                if group == other {
                    return inside(group, router, last).into_iter().collect();
                }
                let which = hash as usize % between;
                let gate = |other: usize| (other * between + which) % routers;
                let index = groups * routers * routers + (group * groups + other) * between + which;
                let across = Some(Link { index, byte: global });
                let ends = (inside(group, router, gate(other)), inside(other, gate(group), last));
                [ends.0, across, ends.1].into_iter().flatten().collect()
            }
            Self::FatTree { radix, levels, byte } => {
                let (half, all) = (radix / 2, self.nodes());
                let below = |level: usize| half.pow(level as u32);
                // The lowest level with a switch above both nodes.
                let top = (1..levels).find(|&level| from / below(level) == to / below(level)).unwrap_or(levels);
                // On the way up, the hash's digits are the ports; they determine the way down.
                let link = |level: usize, node: usize, down: usize| {
                    let ports = hash as usize % below(level);
                    Link { index: (2 * (level - 1) + down) * all + node / below(level) * below(level) + ports, byte }
                };
                let up = (1..top).map(|level| link(level, from, 0));
                up.chain((1..top).rev().map(|level| link(level, to, 1))).collect()
            }
        }
    }
}

/// Returns a hash of a pair of nodes (Splitmix64).
fn hash(from: usize, to: usize) -> u64 {
    let mut hash = ((from as u64) << 32 | to as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    // The upper half, which fits every machine's word.
    (hash ^ hash >> 31) >> 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DRAGONFLY: Links = Links::Dragonfly { groups: 5, routers: 7, nodes: 3, between: 2, local: 1.0, global: 2.0 };
    const FAT_TREE: Links = Links::FatTree { radix: 6, levels: 3, byte: 1.0 };

    proptest! {
        #[test]
        fn routes_are_minimal(from in 0usize..54, to in 0usize..54) {
            let hops = FAT_TREE.route(from, to).len();
            prop_assert_eq!(hops, if from / 3 == to / 3 { 0 } else if from / 9 == to / 9 { 2 } else { 4 });
            let route = DRAGONFLY.route(from, to);
            let global = route.iter().filter(|link| link.byte == 2.0).count();
            prop_assert_eq!(global, usize::from(from / 21 != to / 21));
            prop_assert!(route.len() <= 3 && (global == 1 || route.len() == usize::from(from / 3 != to / 3)));
            for (links, route) in [(DRAGONFLY, route), (FAT_TREE, FAT_TREE.route(from, to))] {
                prop_assert!(route.iter().all(|link| link.index < links.count().unwrap()));
                let mut indices: Vec<_> = route.iter().map(|link| link.index).collect();
                indices.sort_unstable();
                indices.dedup();
                prop_assert_eq!(indices.len(), route.len());
            }
        }
    }

    /// Checks that a route leaves its first leaf switch, and enters its last, by links of that switch.
    #[test]
    fn links_belong_to_their_switches() {
        let first: std::collections::HashMap<_, _> = (0..54)
            .flat_map(|from| (0..54).filter_map(move |to| Some((FAT_TREE.route(from, to).first()?.index, from / 3))))
            .collect();
        for from in 0..54 {
            for to in 0..54 {
                if let Some(link) = FAT_TREE.route(from, to).first() {
                    assert_eq!(first[&link.index], from / 3);
                }
            }
        }
        assert_eq!((FAT_TREE.nodes(), DRAGONFLY.nodes()), (54, 105));
    }
}
