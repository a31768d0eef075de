//! The hierarchical transformation: one algorithm inside groups and one among their leaders, in any number of levels.
//!
//! Hasanov, thesis, chapter 3. The members are divided into G groups ([`Groups`]). The leader of the root's group is
//! the root; the leader of any other group is its first member.
//!
//! - broadcast (Algorithm 1): among the leaders, then inside every group;
//! - reduce (Algorithm 2): inside every group, then among the leaders;
//! - allreduce (Algorithm 3): inside every group, then among the members with the same number in all groups. If groups
//!   differ in size, members with a number beyond the smallest group's size s get the result from the member with their
//!   number modulo s, by a binomial broadcast;
//! - gather and scatter (Algorithms 4 and 5): [`mod@super::gatherv`].
//!
//! The time is that of the outer algorithm for G ranks plus the inner's for p / G: equations 3.1 to 3.23. Algorithms
//! with p in their startup term gain most at G = sqrt(p). With G = 1 only the inner algorithm runs, with G = p only the
//! outer.

use std::fmt;
use std::rc::Rc;

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::division::Division;
pub use crate::collectives::division::Groups;
use crate::collectives::gatherv::Gather;
use crate::collectives::in_place::{self, InPlace, Part, joined};
use crate::collectives::{allreduce, broadcast, reduce};
use tributary::error::{Error, Result};
use tributary::schedule::{Builder, OpId, Schedule};

/// Algorithm from which a hierarchy can be built: one that works in place ([`InPlace`]), or a gather and scatter
/// ([`Gather`]).
pub trait Base: fmt::Debug + 'static {
    /// Returns the algorithm's row in the registry.
    fn algorithm(&self) -> &Algorithm;
}

impl Base for InPlace {
    fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }
}

impl Base for Gather {
    fn algorithm(&self) -> &Algorithm {
        self.gather
    }
}

/// Algorithm, or hierarchy of algorithms.
#[derive(Debug)]
pub enum Scheme<A: Base = InPlace> {
    /// One algorithm among all members.
    Plain(&'static A),
    /// Algorithms on several levels; see [`hierarchical`].
    Hierarchical(Box<Hierarchy<A>>),
}

/// Groups of ranks, the algorithm inside them, and the algorithm among their leaders.
#[derive(Debug)]
pub struct Hierarchy<A: Base> {
    pub(super) groups: Groups,
    pub(super) inner: Scheme<A>,
    pub(super) outer: Scheme<A>,
}

impl<A: Base> From<&'static A> for Scheme<A> {
    fn from(algorithm: &'static A) -> Self {
        Self::Plain(algorithm)
    }
}

/// Returns the hierarchy with `inner` inside each of `groups` and `outer` among their leaders. Both may be hierarchies.
///
/// # Errors
/// Algorithms of different operations; zero groups.
pub fn hierarchical<A: Base>(
    groups: Groups,
    inner: impl Into<Scheme<A>>,
    outer: impl Into<Scheme<A>>,
) -> Result<Scheme<A>> {
    let (inner, outer) = (inner.into(), outer.into());
    if inner.operation() != outer.operation() {
        let allowed = format!("an algorithm of {:?}, like that inside", inner.operation());
        return Err(Error::argument("algorithm among leaders", &outer, allowed));
    }
    if matches!(groups, Groups::Count(0)) {
        return Err(Error::argument("groups", 0, "1 or more"));
    }
    Ok(Scheme::Hierarchical(Box::new(Hierarchy { groups, inner, outer })))
}

impl<A: Base> Scheme<A> {
    /// Returns the operation; [`Operation::Gather`] for gather and scatter.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Plain(algorithm) => algorithm.algorithm().operation,
            Self::Hierarchical(hierarchy) => hierarchy.inner.operation(),
        }
    }

    /// Checks that `ranks` ranks can be divided into the groups of this scheme.
    pub(super) fn check(&self, ranks: usize, whole: bool) -> Result<()> {
        let Self::Hierarchical(hierarchy) = self else { return Ok(()) };
        match &hierarchy.groups {
            Groups::Count(count) if whole && *count > ranks => {
                return Err(Error::argument("groups", count, format!("1 to {ranks}, the number of ranks")));
            }
            Groups::Nodes(topology) if topology.ranks() != ranks => {
                let allowed = format!("{ranks}, the number of ranks");
                return Err(Error::argument("ranks of the topology to group by", topology.ranks(), allowed));
            }
            _ => {}
        }
        hierarchy.inner.check(ranks, false)?;
        hierarchy.outer.check(ranks, false)
    }

    /// Returns the number of groups that `ranks` ranks form.
    pub(super) fn groups(hierarchy: &Hierarchy<A>, ranks: f64) -> f64 {
        let groups = match &hierarchy.groups {
            Groups::Count(count) => *count as f64,
            Groups::Nodes(topology) => topology.nodes() as f64,
        };
        groups.min(ranks)
    }
}

impl Scheme {
    /// Returns one rank's schedule among all ranks.
    ///
    /// # Errors
    /// A bad problem ([`Problem::check`]), a reduction of bytes that are not whole words, more groups than ranks, a
    /// topology of another number of ranks: the same error on all ranks.
    pub fn schedule(&self, problem: &Problem<'_>) -> Result<Schedule> {
        problem.check()?;
        self.check(problem.ranks(), true)?;
        let bytes = problem.sizes[problem.root];
        if self.operation() != Operation::Broadcast && !bytes.is_multiple_of(8) {
            return Err(Error::argument("bytes to combine", bytes, "a multiple of 8"));
        }
        Ok(self.unchecked(problem))
    }

    fn unchecked(&self, problem: &Problem<'_>) -> Schedule {
        in_place::schedule(self.operation(), problem, |part, builder, before| self.append(part, builder, before))
    }

    /// Adds the operations of this rank in the collective that `part` describes; see [`super::in_place`].
    pub fn append(&self, part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        match self {
            Self::Plain(algorithm) => (algorithm.append)(part, builder, before),
            Self::Hierarchical(hierarchy) => hierarchy.append(self.operation(), part, builder, before),
        }
    }

    /// Returns the time in seconds by the model (equations 3.1 to 3.23), for a number of ranks, bytes and segments: the
    /// sum over the levels, with groups of equal size.
    pub fn time(&self, rates: &Rates, ranks: f64, bytes: f64, segments: f64) -> f64 {
        match self {
            Self::Plain(algorithm) => (algorithm.time)(rates, ranks, bytes, segments),
            Self::Hierarchical(hierarchy) => {
                let groups = Self::groups(hierarchy, ranks);
                hierarchy.outer.time(rates, groups, bytes, segments)
                    + hierarchy.inner.time(rates, ranks / groups, bytes, segments)
            }
        }
    }
}

impl<A: Base> fmt::Display for Scheme<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(algorithm) => write!(f, "{}", algorithm.algorithm().name),
            Self::Hierarchical(hierarchy) => match &hierarchy.groups {
                Groups::Count(count) => write!(f, "hierarchical({count}, {}, {})", hierarchy.inner, hierarchy.outer),
                Groups::Nodes(_) => write!(f, "hierarchical(nodes, {}, {})", hierarchy.inner, hierarchy.outer),
            },
        }
    }
}

impl Hierarchy<InPlace> {
    fn append(&self, operation: Operation, part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let levels = Levels::new(&self.groups, part);
        match operation {
            Operation::Broadcast => {
                let here = levels.leaders(part).map(|part| self.outer.append(&part, builder, before));
                let here = levels.between(builder, here.unwrap_or_else(|| before.to_vec()));
                self.inner.append(&levels.inside(part), builder, &here)
            }
            Operation::Reduce => {
                let reduced = self.inner.append(&levels.inside(part), builder, before);
                let Some(leaders) = levels.leaders(part) else { return reduced };
                let reduced = levels.between(builder, reduced);
                self.outer.append(&leaders, builder, &reduced)
            }
            _ => {
                let combined = self.inner.append(&levels.inside(part), builder, before);
                let combined = levels.between(builder, combined);
                let combined = match levels.peers(part) {
                    Some(peers) => self.outer.append(&peers, builder, &combined),
                    None => combined,
                };
                match levels.followers(part) {
                    Some(followers) => {
                        in_place::finished_broadcast(&broadcast::BINOMIAL, &followers, builder, &combined)
                    }
                    None => combined,
                }
            }
        }
    }
}

/// Numbers of this rank and of the root in their groups.
struct Levels {
    division: Rc<Division>,
    /// Number of this rank's group, and this rank's number in the group.
    mine: (usize, usize),
    /// Number of the root's group, and the root's number in the group.
    root: (usize, usize),
}

impl Levels {
    fn new(groups: &Groups, part: &Part<'_>) -> Self {
        let division = Rc::new(Division::new(groups, &part.group));
        let (mine, root) = (division.locate(part.group.me()), division.locate(part.root));
        Self { division, mine, root }
    }

    /// Returns the number in `group` of the group's leader.
    fn leader(root: (usize, usize), group: usize) -> usize {
        if group == root.0 { root.1 } else { 0 }
    }

    fn inside<'a>(&self, part: &'a Part<'_>) -> Part<'a> {
        let (group, index) = self.mine;
        part.among(self.division.inside(&part.group, group, index), Self::leader(self.root, group))
    }

    /// Returns the collective among the leaders, if this rank is a leader.
    fn leaders<'a>(&self, part: &'a Part<'_>) -> Option<Part<'a>> {
        let (root, (group, index)) = (self.root, self.mine);
        let across = || self.division.across(&part.group, group, move |group| Self::leader(root, group));
        (index == Self::leader(root, group)).then(|| part.among(across(), root.0))
    }

    /// Returns the collective among the members with this rank's number in all groups, if every group has such a
    /// member.
    fn peers<'a>(&self, part: &'a Part<'_>) -> Option<Part<'a>> {
        let (group, index) = self.mine;
        let across = || self.division.across(&part.group, group, move |_| index);
        (index < self.division.smallest()).then(|| part.among(across(), self.root.0))
    }

    /// Returns the broadcast of the result from one member to those that had no peer in the smallest group, this rank
    /// among them; `None` if there are no such members.
    fn followers<'a>(&self, part: &'a Part<'_>) -> Option<Part<'a>> {
        let (division, smallest, (group, index)) = (self.division.clone(), self.division.smallest(), self.mine);
        let first = index % smallest;
        let size = (division.size(group) - first).div_ceil(smallest);
        let member = move |number| division.member(group, first + number * smallest);
        (size > 1).then(|| part.among(part.group.part(size, index / smallest, member), 0))
    }

    /// Returns the operations that the second level waits for, joined into one if there are two levels.
    fn between(&self, builder: &mut Builder, ids: Vec<OpId>) -> Vec<OpId> {
        let levels = self.division.count() > 1 && self.division.size(self.mine.0) > 1;
        if levels { joined(builder, &ids).into_iter().collect() } else { ids }
    }
}

/// Returns one rank's schedule of a hierarchy with one group per node and the algorithm `base` on both levels.
fn by_node(base: &'static InPlace, problem: &Problem<'_>) -> Schedule {
    let groups = Groups::Nodes(problem.topology.clone());
    Scheme::Hierarchical(Box::new(Hierarchy { groups, inner: base.into(), outer: base.into() })).unchecked(problem)
}

/// Hierarchical broadcast: binomial trees among the nodes, then inside every node.
pub static BROADCAST: Algorithm = Algorithm {
    operation: Operation::Broadcast,
    name: "hierarchical",
    about: "binomial among one rank of every node, then binomial inside every node",
    source: "Hasanov, thesis, 3.1, Algorithm 1",
    cost: "(ceil(log2 n) + ceil(log2 p/n))(t_s + m t_w) on n nodes, n - 1 messages between nodes",
    irregular: false,
    schedule: |problem| by_node(&broadcast::BINOMIAL, problem),
};

/// Hierarchical reduction: binomial trees inside every node, then among the nodes.
pub static REDUCE: Algorithm = Algorithm {
    operation: Operation::Reduce,
    name: "hierarchical",
    about: "binomial inside every node, then binomial among one rank of every node",
    source: "Hasanov, thesis, 3.2.1, Algorithm 2",
    cost: "(ceil(log2 n) + ceil(log2 p/n))(t_s + m t_w + m t_c) on n nodes, n - 1 messages between nodes",
    irregular: false,
    schedule: |problem| by_node(&reduce::BINOMIAL, problem),
};

/// Hierarchical allreduce: recursive doubling inside every node, then among the nodes.
pub static ALLREDUCE: Algorithm = Algorithm {
    operation: Operation::Allreduce,
    name: "hierarchical",
    about: "recursive doubling inside every node, then among the ranks with the same number on all nodes",
    source: "Hasanov, thesis, 3.2.2, Algorithm 3, equation 3.15",
    cost: "log2 p (t_s + m t_w + m t_c) for powers of two",
    irregular: false,
    schedule: |problem| by_node(&allreduce::RECURSIVE_DOUBLING, problem),
};
