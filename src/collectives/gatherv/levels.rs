//! Hierarchies of gathers and scatters: gather inside every group, then among the leaders; a scatter is that backwards.
//!
//! Hasanov, thesis, 3.3. The leader of the root's group is the root, of every other its first member; leaders hand on the
//! blocks of their groups as one. (Algorithm 5 prints the levels of the gather the other way round, with the members of
//! the same number in all groups first: the leaders' way is Algorithm 4 backwards, and sends G - 1 messages between groups
//! instead of p - p/G.) Where groups are not of neighbours, the root copies the blocks into rank order.
//!
//! **Time.** The outer algorithm's for G blocks of p/G m bytes and the inner's for p/G blocks. Equations 3.24 to 3.29 have
//! blocks of m bytes on both levels: they count the startups, and bound the time from below. Equation 3.30, of the sum of
//! all blocks, has all bytes on both levels and bounds it from above. Since every byte from another group goes through the
//! root's port either way, what groups save are startups: (p - 1) t_s of the linear gather become (G + p/G - 2) t_s.
//! (In a scatter with synchronization all ranks tell at once that they wait: the words of the root's own group, up to p/G
//! of them, may come before those of other leaders.)

use std::borrow::Cow;
use std::rc::Rc;

use super::binomial::BINOMIAL;
use super::gathering::{Gather, Gathering, among_all, backwards};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::division::{Division, Groups};
use crate::collectives::hierarchical::{Hierarchy, Scheme};
use crate::collectives::in_place::one;
use crate::error::Result;
use crate::schedule::{Builder, OpId, Schedule, Span};

impl Scheme<Gather> {
    /// The gather of one rank of all.
    ///
    /// # Errors
    /// A bad problem ([`Problem::check`]), more groups of all ranks than ranks, the nodes of other ranks: alike on all
    /// ranks.
    pub fn gather(&self, problem: &Problem<'_>) -> Result<Schedule> {
        problem.check()?;
        self.check(problem.ranks(), true)?;
        Ok(self.unchecked(problem, false))
    }

    /// The scatter of one rank of all.
    ///
    /// # Errors
    /// As [`Scheme::gather`].
    pub fn scatter(&self, problem: &Problem<'_>) -> Result<Schedule> {
        problem.check()?;
        self.check(problem.ranks(), true)?;
        Ok(backwards(self.unchecked(problem, true)))
    }

    /// The gather, or the one that is the scatter backwards.
    fn unchecked(&self, problem: &Problem<'_>, backwards: bool) -> Schedule {
        among_all(problem, |gathering, builder, before| self.append(gathering, backwards, builder, before))
    }

    fn append(&self, it: &Gathering<'_>, backwards: bool, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        match self {
            Self::Plain(algorithm) if backwards => (algorithm.append_backwards)(it, builder, before),
            Self::Plain(algorithm) => (algorithm.append)(it, builder, before),
            Self::Hierarchical(hierarchy) => hierarchy.append(it, backwards, builder, before),
        }
    }

    /// The time that theory gives it for so many ranks and bytes of a block: the sum over the levels, with groups of equal
    /// size.
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
    fn append(&self, it: &Gathering<'_>, backwards: bool, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let levels = Levels::new(&self.groups, it);
        let into = levels.place(it);
        let (led, mut here) = self.inside(&levels, it, into, backwards, builder, before);
        let Some(own) = led else { return here };
        let bytes: Vec<u64> = (0..levels.division.count()).map(|group| levels.bytes(it, group)).collect();
        if bytes.len() > 1 {
            let (division, root) = (levels.division.clone(), levels.root);
            let leader = move |group| if group == root.0 { root.1 } else { 0 };
            let group = division.across(&it.group, levels.mine.0, leader);
            if levels.division.size(levels.mine.0) > 1 {
                here = one(builder, &here).into_iter().collect();
            }
            let leaders = Gathering { group, root: root.0, sizes: &bytes, own, into, ..*it };
            here = self.outer.append(&leaders, backwards, builder, &here);
        }
        if it.is_root() && !levels.neighbours { levels.in_order(it, into, builder, &here) } else { here }
    }

    /// Inside this rank's group: where its blocks are then, if this rank leads it, and what must finish before they are.
    fn inside(
        &self,
        levels: &Levels,
        it: &Gathering<'_>,
        into: Span,
        backwards: bool,
        builder: &mut Builder,
        before: &[OpId],
    ) -> (Option<Span>, Vec<OpId>) {
        let (group, index) = levels.mine;
        let division = &levels.division;
        if division.size(group) == 1 && division.count() > 1 {
            return (Some(it.own), before.to_vec());
        }
        let root = if group == levels.root.0 { levels.root.1 } else { 0 };
        let bytes = levels.bytes(it, group);
        let led = (index == root).then(|| match it.is_root() {
            true => {
                let before: u64 = (0..group).map(|group| levels.bytes(it, group)).sum();
                Span::new(into.buffer, into.offset + before, bytes)
            }
            false => it.passing(bytes),
        });
        let sizes = levels.sizes(it, group);
        let inside = Gathering {
            group: division.inside(&it.group, group, index),
            root,
            sizes: &sizes,
            into: led.unwrap_or(Span { len: 0, ..it.own }),
            ..*it
        };
        (led, self.inner.append(&inside, backwards, builder, before))
    }
}

/// Where this rank stands among the groups of a gather.
struct Levels {
    division: Rc<Division>,
    /// The group, and the number in it, of this rank and of the root.
    mine: (usize, usize),
    root: (usize, usize),
    /// Whether the groups are ranges of members, one after the other.
    neighbours: bool,
}

impl Levels {
    fn new(groups: &Groups, it: &Gathering<'_>) -> Self {
        let division = Division::new(groups, &it.group);
        let (mine, root) = (division.locate(it.group.me()), division.locate(it.root));
        let neighbours = matches!(division, Division::Even { .. }) || Self::members(&division).is_sorted();
        Self { division: Rc::new(division), mine, root, neighbours }
    }

    /// All members, group after group.
    fn members(division: &Division) -> impl Iterator<Item = usize> {
        let groups = 0..division.count();
        groups.flat_map(move |group| (0..division.size(group)).map(move |index| division.member(group, index)))
    }

    /// Sizes of the blocks of a group's members.
    fn sizes<'a>(&self, it: &Gathering<'a>, group: usize) -> Cow<'a, [u64]> {
        let (first, size) = (self.division.member(group, 0), self.division.size(group));
        match self.neighbours {
            true => Cow::Borrowed(&it.sizes[first..first + size]),
            false => (0..size).map(|index| it.sizes[self.division.member(group, index)]).collect(),
        }
    }

    fn bytes(&self, it: &Gathering<'_>, group: usize) -> u64 {
        self.sizes(it, group).iter().sum()
    }

    /// Where the root has all blocks, group after group.
    fn place(&self, it: &Gathering<'_>) -> Span {
        if self.neighbours || !it.is_root() { it.into } else { it.passing(it.into.len) }
    }

    /// Copies the root's blocks from `all`, group after group, to where they belong.
    fn in_order(&self, it: &Gathering<'_>, all: Span, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let mut places = Vec::with_capacity(it.sizes.len());
        let mut at = it.into.offset;
        for &len in it.sizes {
            places.push(Span::new(it.into.buffer, at, len));
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

/// By node, binomial trees.
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "hierarchical",
    about: "binomial inside every node, then binomial among one rank of every node",
    source: "Hasanov, thesis, 3.3, Algorithm 5, equation 3.28",
    cost: "(ceil(log2 n) + ceil(log2 p/n)) t_s + (p - 1) m t_w on n nodes, n - 1 messages between nodes",
    irregular: true,
    schedule: |problem| by_node(problem, false),
};

/// By node, binomial trees.
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "binomial among one rank of every node, then binomial inside every node",
    source: "Hasanov, thesis, 3.3, Algorithm 4, equation 3.28",
    schedule: |problem| backwards(by_node(problem, true)),
    ..GATHER
};
