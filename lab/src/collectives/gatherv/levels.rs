//! Hierarchies of gathers and scatters: a gather inside every group, then one among the leaders; a scatter is the
//! transpose.
//!
//! Hasanov, thesis, 3.3. The leader of the root's group is the root; the leader of any other group is its first member.
//! Leaders send the blocks of their group as one. (Algorithm 5 has the levels of the gather in the other order: first
//! among the members with the same number in all groups. The order here is the reverse of Algorithm 4, and sends G - 1
//! messages between groups instead of p - p/G.) If the groups are not neighbours, the root copies the blocks into rank
//! order.
//!
//! **Time.** The outer algorithm's time for G blocks of p/G m bytes, and the inner's for p/G blocks. Equations 3.24 to
//! 3.29 have blocks of m bytes on both levels: they count the startups and bound the time from below. Equation 3.30 has
//! all bytes on both levels and bounds the time from above. Every byte from another group goes through the root's port
//! in any case, so groups save startups: (p - 1) t_s of the linear gather become (G + p/G - 2) t_s. (In a scatter with
//! synchronization, all ranks announce at once that they wait; up to p/G announcements of the root's own group may
//! precede those of the leaders.)

use std::borrow::Cow;
use std::rc::Rc;

use super::binomial::BINOMIAL;
use super::gathering::{Gather, Gathering, among_all, backwards};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::division::{Division, Groups};
use crate::collectives::hierarchical::{Hierarchy, Scheme};
use crate::collectives::in_place::joined;
use tributary::error::Result;
use tributary::schedule::{Builder, OpId, Schedule, Span};

impl Scheme<Gather> {
    /// Returns one rank's schedule of the gather among all ranks.
    ///
    /// # Errors
    /// A bad problem ([`Problem::check`]), more groups than ranks, a topology of another number of ranks: the same
    /// error on all ranks.
    pub fn gather(&self, problem: &Problem<'_>) -> Result<Schedule> {
        problem.check()?;
        self.check(problem.ranks(), true)?;
        Ok(self.unchecked(problem, false))
    }

    /// Returns one rank's schedule of the scatter among all ranks.
    ///
    /// # Errors
    /// The errors of [`Scheme::gather`].
    pub fn scatter(&self, problem: &Problem<'_>) -> Result<Schedule> {
        problem.check()?;
        self.check(problem.ranks(), true)?;
        Ok(backwards(self.unchecked(problem, true)))
    }

    /// Returns the schedule of the gather or, with `backwards`, of the gather whose transpose is the scatter.
    fn unchecked(&self, problem: &Problem<'_>, backwards: bool) -> Schedule {
        among_all(problem, |gathering, builder, before| self.append(gathering, backwards, builder, before))
    }

    fn append(&self, gathering: &Gathering<'_>, backwards: bool, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        match self {
            Self::Plain(algorithm) if backwards => (algorithm.append_backwards)(gathering, builder, before),
            Self::Plain(algorithm) => (algorithm.append)(gathering, builder, before),
            Self::Hierarchical(hierarchy) => hierarchy.append(gathering, backwards, builder, before),
        }
    }

    /// Returns the time in seconds by the model, for `ranks` ranks and blocks of `bytes` bytes: the sum over the
    /// levels, with groups of equal size.
    pub fn time(&self, rates: &Rates, ranks: f64, bytes: f64) -> f64 {
        match self {
            Self::Plain(algorithm) => (algorithm.time)(rates, ranks, bytes),
            Self::Hierarchical(hierarchy) => {
                let groups = Self::groups(hierarchy, ranks);
                let inside = ranks / groups;
                hierarchy.inner.time(rates, inside, bytes) + hierarchy.outer.time(rates, groups, inside * bytes)
            }
        }
    }
}

impl Hierarchy<Gather> {
    fn append(&self, gathering: &Gathering<'_>, backwards: bool, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let levels = Levels::new(&self.groups, gathering);
        let into = levels.place(gathering);
        let (led, mut here) = self.inside(&levels, gathering, into, backwards, builder, before);
        let Some(own) = led else { return here };
        let bytes: Vec<u64> = (0..levels.division.count()).map(|group| levels.bytes(gathering, group)).collect();
        if bytes.len() > 1 {
            let (division, root) = (levels.division.clone(), levels.root);
            let leader = move |group| if group == root.0 { root.1 } else { 0 };
            let group = division.across(&gathering.group, levels.mine.0, leader);
            if levels.division.size(levels.mine.0) > 1 {
                here = joined(builder, &here).into_iter().collect();
            }
            let leaders = Gathering { group, root: root.0, sizes: &bytes, own, into, ..*gathering };
            here = self.outer.append(&leaders, backwards, builder, &here);
        }
        if gathering.is_root() && !levels.neighbours { levels.in_order(gathering, into, builder, &here) } else { here }
    }

    /// Adds the gather inside this rank's group. Returns the range of the group's blocks if this rank leads the group,
    /// and the operations after which the blocks are there.
    fn inside(
        &self,
        levels: &Levels,
        gathering: &Gathering<'_>,
        into: Span,
        backwards: bool,
        builder: &mut Builder,
        before: &[OpId],
    ) -> (Option<Span>, Vec<OpId>) {
        let (group, index) = levels.mine;
        let division = &levels.division;
        if division.size(group) == 1 && division.count() > 1 {
            return (Some(gathering.own), before.to_vec());
        }
        let root = if group == levels.root.0 { levels.root.1 } else { 0 };
        let bytes = levels.bytes(gathering, group);
        let led = (index == root).then(|| match gathering.is_root() {
            true => {
                let before: u64 = (0..group).map(|group| levels.bytes(gathering, group)).sum();
                Span::new(into.buffer, into.offset + before, bytes)
            }
            false => gathering.forwarded(bytes),
        });
        let sizes = levels.sizes(gathering, group);
        let inside = Gathering {
            group: division.inside(&gathering.group, group, index),
            root,
            sizes: &sizes,
            into: led.unwrap_or(Span { len: 0, ..gathering.own }),
            ..*gathering
        };
        (led, self.inner.append(&inside, backwards, builder, before))
    }
}

/// Numbers of this rank and of the root in the groups of a gather.
struct Levels {
    division: Rc<Division>,
    /// Number of this rank's group, and this rank's number in the group.
    mine: (usize, usize),
    /// Number of the root's group, and the root's number in the group.
    root: (usize, usize),
    /// True if the groups are consecutive ranges of members.
    neighbours: bool,
}

impl Levels {
    fn new(groups: &Groups, gathering: &Gathering<'_>) -> Self {
        let division = Division::new(groups, &gathering.group);
        let (mine, root) = (division.locate(gathering.group.me()), division.locate(gathering.root));
        let neighbours = matches!(division, Division::Even { .. }) || Self::members(&division).is_sorted();
        Self { division: Rc::new(division), mine, root, neighbours }
    }

    /// Returns the numbers of all members, group after group.
    fn members(division: &Division) -> impl Iterator<Item = usize> {
        let groups = 0..division.count();
        groups.flat_map(move |group| (0..division.size(group)).map(move |index| division.member(group, index)))
    }

    /// Returns the number of bytes of the block of every member of `group`.
    fn sizes<'a>(&self, gathering: &Gathering<'a>, group: usize) -> Cow<'a, [u64]> {
        let (first, size) = (self.division.member(group, 0), self.division.size(group));
        match self.neighbours {
            true => Cow::Borrowed(&gathering.sizes[first..first + size]),
            false => (0..size).map(|index| gathering.sizes[self.division.member(group, index)]).collect(),
        }
    }

    fn bytes(&self, gathering: &Gathering<'_>, group: usize) -> u64 {
        self.sizes(gathering, group).iter().sum()
    }

    /// Returns the range of all blocks on the root, where they lie group after group.
    fn place(&self, gathering: &Gathering<'_>) -> Span {
        if self.neighbours || !gathering.is_root() { gathering.into } else { gathering.forwarded(gathering.into.len) }
    }

    /// Copies the root's blocks from `all`, where they lie group after group, to the receive buffer in rank order.
    fn in_order(&self, gathering: &Gathering<'_>, all: Span, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let mut places = Vec::with_capacity(gathering.sizes.len());
        let mut at = gathering.into.offset;
        for &len in gathering.sizes {
            places.push(Span::new(gathering.into.buffer, at, len));
            at += len;
        }
        let mut from = all.offset;
        let mut copies = Vec::new();
        for place in Self::members(&self.division).map(|member| places[member]).filter(|place| place.len > 0) {
            copies.push(builder.copy(Span::new(all.buffer, from, place.len), place, before));
            from += place.len;
        }
        copies
    }
}

fn by_node(problem: &Problem<'_>, backwards: bool) -> Schedule {
    let groups = Groups::Nodes(problem.topology.clone());
    let hierarchy = Hierarchy { groups, inner: (&BINOMIAL).into(), outer: (&BINOMIAL).into() };
    Scheme::Hierarchical(Box::new(hierarchy)).unchecked(problem, backwards)
}

/// Hierarchical gather: binomial trees inside every node, then among the nodes.
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "hierarchical",
    about: "binomial inside every node, then binomial among one rank of every node",
    source: "Hasanov, thesis, 3.3, Algorithm 5, equation 3.28",
    cost: "(ceil(log2 n) + ceil(log2 p/n)) t_s + (p - 1) m t_w on n nodes, n - 1 messages between nodes",
    irregular: true,
    schedule: |problem| by_node(problem, false),
};

/// Hierarchical scatter: a binomial tree among the nodes, then inside every node.
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "binomial among one rank of every node, then binomial inside every node",
    source: "Hasanov, thesis, 3.3, Algorithm 4, equation 3.28",
    schedule: |problem| backwards(by_node(problem, true)),
    ..GATHER
};
