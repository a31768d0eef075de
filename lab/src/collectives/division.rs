//! The members of a group divided into smaller groups.

use std::rc::Rc;

use tributary::collectives::Group;
use tributary::topology::{Rank, Topology};

/// How members are divided into groups.
#[derive(Debug, Clone)]
pub enum Groups {
    /// This number of groups of neighbours, whose sizes differ by at most one; one group per member if there are fewer
    /// members. It ignores the topology.
    Count(usize),
    /// One group per node. The topology is that of all ranks.
    Nodes(Topology),
}

/// A group divided into groups. Members are numbered as in the group that is divided.
pub enum Division {
    /// Groups of neighbours.
    Even {
        /// Number of members.
        members: usize,
        /// Number of groups.
        groups: usize,
    },
    /// All ranks by node.
    World(Topology),
    /// The members of each group.
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

    /// Number of groups.
    pub fn count(&self) -> usize {
        match self {
            Self::Even { groups, .. } => *groups,
            Self::World(topology) => topology.nodes(),
            Self::Listed(lists) => lists.len(),
        }
    }

    /// Number of members of `group`.
    pub fn size(&self, group: usize) -> usize {
        match self {
            Self::Even { members, groups } => members / groups + usize::from(group < members % groups),
            Self::World(topology) => topology.ranks_on(group),
            Self::Listed(lists) => lists[group].len(),
        }
    }

    /// Number of members of the smallest group. O(1) for neighbours, otherwise O(groups).
    pub fn smallest(&self) -> usize {
        match self {
            Self::Even { members, groups } => members / groups,
            _ => (0..self.count()).map(|group| self.size(group)).min().unwrap_or(1),
        }
    }

    /// The member with number `index` in `group`.
    pub fn member(&self, group: usize, index: usize) -> usize {
        match self {
            Self::Even { members, groups } => group * (members / groups) + group.min(members % groups) + index,
            Self::World(topology) => topology.rank_at(group, index),
            Self::Listed(lists) => lists[group][index],
        }
    }

    /// The group of a member, and its number there. O(log members), or O(members) for listed groups.
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

    /// The group `group` of `all`, in which this rank has number `index`.
    pub fn inside(self: &Rc<Self>, all: &Group, group: usize, index: usize) -> Group {
        let division = self.clone();
        all.part(self.size(group), index, move |index| division.member(group, index))
    }

    /// The group of one member from each group, the one with number `index_in(group)`. This rank is the member from `group`.
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
