//! Divides the members of a group of ranks into smaller groups, for hierarchical collectives.

use std::rc::Rc;

use crate::collectives::Group;
use tributary::topology::{Rank, Topology};

/// Rule by which the members of a group are divided into smaller groups.
#[derive(Debug, Clone)]
pub enum Groups {
    /// Divides into this number of groups of neighbours, whose sizes differ by at most one, and ignores the topology.
    /// If there are fewer members than groups, each member is a group.
    Count(usize),
    /// Divides into one group per node. The topology holds all ranks.
    Nodes(Topology),
}

/// Group of ranks divided into smaller groups. Members are numbered as in the divided group.
pub enum Division {
    /// Consecutive members form a group; sizes differ by at most one.
    Even {
        /// Number of members of the divided group.
        members: usize,
        /// Number of groups.
        groups: usize,
    },
    /// All ranks, one group per node.
    World(Topology),
    /// Member numbers of each group.
    Listed(Vec<Vec<usize>>),
}

impl Division {
    /// Divides the members of `group`. O(1) for neighbours and for the nodes of all ranks, otherwise O(members).
    pub fn new(groups: &Groups, group: &Group) -> Self {
        match groups {
            Groups::Count(groups) => Self::Even { members: group.size(), groups: (*groups).clamp(1, group.size()) },
            Groups::Nodes(topology) if group.size() == topology.ranks() && group.is_world() => {
                Self::World(topology.clone())
            }
            Groups::Nodes(topology) => {
                let mut of_node = std::collections::HashMap::new();
                let mut lists: Vec<Vec<usize>> = Vec::new();
                for member in 0..group.size() {
                    let list = *of_node.entry(topology.node_of(group.rank_of(member))).or_insert(lists.len());
                    if list == lists.len() {
                        lists.push(Vec::new());
                    }
                    lists[list].push(member);
                }
                Self::Listed(lists)
            }
        }
    }

    /// Returns the number of groups.
    pub fn count(&self) -> usize {
        match self {
            Self::Even { groups, .. } => *groups,
            Self::World(topology) => topology.nodes(),
            Self::Listed(lists) => lists.len(),
        }
    }

    /// Returns the number of members of `group`.
    pub fn size(&self, group: usize) -> usize {
        match self {
            Self::Even { members, groups } => members / groups + usize::from(group < members % groups),
            Self::World(topology) => topology.ranks_on(group),
            Self::Listed(lists) => lists[group].len(),
        }
    }

    /// Returns the number of members of the smallest group. O(1) for neighbours, otherwise O(groups).
    pub fn smallest(&self) -> usize {
        match self {
            Self::Even { members, groups } => members / groups,
            _ => (0..self.count()).map(|group| self.size(group)).min().unwrap_or(1),
        }
    }

    /// Returns the member with number `index` in `group`.
    pub fn member(&self, group: usize, index: usize) -> usize {
        match self {
            Self::Even { members, groups } => group * (members / groups) + group.min(members % groups) + index,
            Self::World(topology) => topology.rank_at(group, index),
            Self::Listed(lists) => lists[group][index],
        }
    }

    /// Returns the group of a member, and the member's number in this group. O(log members), or O(members) for listed
    /// groups.
    pub fn locate(&self, member: Rank) -> (usize, usize) {
        let group = match self {
            Self::Even { members, groups } => {
                let (size, larger) = (members / groups, members % groups);
                let in_larger = larger * (size + 1);
                if member < in_larger { member / (size + 1) } else { larger + (member - in_larger) / size }
            }
            Self::World(topology) => topology.node_of(member),
            Self::Listed(lists) => lists.iter().position(|list| list.contains(&member)).unwrap_or_default(),
        };
        let (mut low, mut high) = (0, self.size(group));
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self.member(group, middle) <= member { low = middle } else { high = middle }
        }
        (group, low)
    }

    /// Returns group number `group` of the division of `all`; this rank has number `index` in the result.
    pub fn inside(self: &Rc<Self>, all: &Group, group: usize, index: usize) -> Group {
        let division = self.clone();
        all.part(self.size(group), index, move |index| division.member(group, index))
    }

    /// Returns a group with one member of each group of the division: in group g, the member with number `index_in(g)`.
    /// This rank is the member from `group`.
    pub fn across(self: &Rc<Self>, all: &Group, group: usize, index_in: impl Fn(usize) -> usize + 'static) -> Group {
        let division = self.clone();
        all.part(self.count(), group, move |group| division.member(group, index_in(group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_in_one_group_at_its_place() {
        for members in 1..40 {
            let world = Group::world(0, members);
            let scattered: Vec<usize> = (0..members).map(|rank| rank * 7 % 5).collect();
            let rotated = world.rotated(members / 2);
            let mut divisions: Vec<_> =
                (1..=members + 1).map(|count| Division::new(&Groups::Count(count), &world)).collect();
            for topology in [Topology::blocks(members, 3).unwrap(), Topology::listed(&scattered).unwrap()] {
                let nodes = Groups::Nodes(topology);
                divisions.extend([Division::new(&nodes, &world), Division::new(&nodes, &rotated)]);
            }
            for division in divisions {
                let mut seen = vec![false; members];
                for group in 0..division.count() {
                    assert!(division.size(group) >= division.smallest().max(1));
                    for index in 0..division.size(group) {
                        let member = division.member(group, index);
                        assert!(!std::mem::replace(&mut seen[member], true));
                        assert_eq!(division.locate(member), (group, index));
                    }
                }
                assert!(seen.into_iter().all(|seen| seen));
            }
        }
    }
}
