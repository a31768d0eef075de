//! Locality-aware Bruck allgather: every rank of a region fetches from another region, then the region gathers.
//!
//! Paper: Bienz, Gautam, Kharel, A Locality-Aware Bruck Allgather (EuroMPI/USA 2022), section 3, Algorithm 2, equation 4.
//! First each region gathers its own blocks (Algorithm 1). Then, in rounds: where region R has all of the d regions from R
//! on, its rank l (l = 1, 2, ..., not 0) receives those of the d regions from R + l d on, from rank l there, and the region
//! gathers what its ranks received; d grows by the factor q, the ranks of a region. With r = q^k regions a rank sends k
//! messages and q + q^2 + ... + q^k blocks to other regions, at most ceil(log2 q) (k + 1) messages inside its own:
//! k t_s + (q + ... + q^k) m t_w outside. Equation 4 has the last term of that sum, p / q blocks.
//!
//! **Any shape.** Where r is no power of q, the last round fetches only the regions that are missing; ranks without a fetch
//! bring nothing. Where regions differ in size, one with fewer ranks than fetches deals them out in equal shares; the factor
//! is then the largest of those by which a rank of the smallest region has the fewest messages (a region of one rank: 2).
//! **More levels**: what a region gathers, it gathers by the same algorithm over the regions inside it
//! ([`locality_bruck`]); innermost is Algorithm 1. O(p) memory a rank, O(p) time a level where regions hold consecutive
//! ranks (O(p log p) elsewhere).

use super::bruck;
use super::staged::{Circle, Gathered, Staged, part};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::error::{Error, Result};
use crate::schedule::{Buffer, Schedule, Span};
use crate::topology::{Rank, Topology};

/// See the module.
pub static LOCALITY_BRUCK: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "locality_bruck",
    about: "each rank of a node fetches from another node, then the node gathers: few and small messages between nodes",
    source: "Bienz et al. 2022, Algorithm 2, equation 4",
    cost: "q^k nodes of q ranks: k t_s + (q + ... + q^k) m t_w between nodes, ceil(log2 q) (k + 1) t_s + (p - 1) m t_w inside",
    irregular: true,
    schedule: |problem| over(problem, &[problem.topology]),
};

/// The schedule of one rank over several levels of locality, the coarsest first (nodes, sockets, ...): each level is a
/// topology of the same ranks, whose nodes are the level's regions. A region that reaches over several of the level above
/// counts as several. Of no level: Algorithm 1.
///
/// # Errors
/// A level that does not have as many ranks as the problem.
pub fn locality_bruck(problem: &Problem<'_>, levels: &[&Topology]) -> Result<Schedule> {
    for (index, level) in levels.iter().enumerate() {
        if level.ranks() != problem.ranks() {
            let what = format!("ranks of locality level {index}");
            return Err(Error::argument(what, level.ranks(), format!("{}, as the problem has", problem.ranks())));
        }
    }
    Ok(over(problem, levels))
}

fn over(problem: &Problem<'_>, levels: &[&Topology]) -> Schedule {
    let mut order: Vec<Rank> = (0..problem.ranks()).collect();
    let regions = |rank: Rank| levels.iter().map(move |level| level.node_of(rank));
    order.sort_by(|&a, &b| regions(a).cmp(regions(b)));
    let me = order.iter().position(|&rank| rank == problem.rank).unwrap_or_default();
    let circle = Circle::new(order.iter().map(|&rank| problem.sizes[rank]));
    let mut staged = Staged::default();
    let gathered = among(&mut staged, levels, &order, &circle, me, problem.own(Buffer::Send));
    let turned = order[gathered.first..].iter().chain(&order[..gathered.first]).copied();
    staged.place(problem, turned, gathered.span)
}

/// Gathers among `ranks`, those of a region next to each other, the contributions of `circle`; this rank is `ranks[me]` and
/// brings `own`.
fn among(staged: &mut Staged, levels: &[&Topology], ranks: &[Rank], circle: &Circle, me: usize, own: Span) -> Gathered {
    let Some((level, inner)) = levels.split_first() else {
        return bruck::among(staged, ranks, circle, me, own);
    };
    let regions = Regions::new(level, ranks, circle);
    let here = regions.starts.partition_point(|&start| start <= me) - 1;
    if regions.count() == 1 {
        return among(staged, inner, ranks, circle, me, own);
    }
    let (first, mates) = (regions.starts[here], regions.ranks(here));
    // All regions, this one first.
    let all = staged.scratch(circle.total());
    let factor = regions.factor();
    let mates_circle = Circle::new((0..mates.len()).map(|index| circle.bytes(first + index, 1)));
    let gathered = among(staged, inner, mates, &mates_circle, me - first, own);
    staged.turn(gathered, &mates_circle, all);
    let mut held = 1;
    while held < regions.count() {
        let round = regions.round(held, factor);
        let fetched = round.fetch(staged, here, me - first, all);
        let brought = Circle::new((0..mates.len()).map(|index| round.brought(here, index)));
        let gathered = among(staged, inner, mates, &brought, me - first, fetched);
        staged.turn(gathered, &brought, part(all, regions.circle.bytes(here, held), brought.total()));
        held = round.regions_from(round.fetches + 1).min(regions.count());
    }
    Gathered { span: all, first }
}

/// Consecutive ranks of one list, cut into regions.
struct Regions<'a> {
    all: &'a [Rank],
    /// The index of the first rank of every region, and the end.
    starts: Vec<usize>,
    /// What the regions bring.
    circle: Circle,
}

impl<'a> Regions<'a> {
    fn new(level: &Topology, all: &'a [Rank], circle: &Circle) -> Self {
        let mut starts = vec![0];
        starts.extend((1..all.len()).filter(|&i| level.node_of(all[i - 1]) != level.node_of(all[i])));
        starts.push(all.len());
        let sums = Circle::new(starts.windows(2).map(|ends| circle.bytes(ends[0], ends[1] - ends[0])));
        Self { all, starts, circle: sums }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn ranks(&self, region: usize) -> &'a [Rank] {
        &self.all[self.starts[region]..self.starts[region + 1]]
    }

    /// By how much the number of regions held grows: the factor of fewest messages for a rank of the smallest region, the
    /// largest of those; the ranks of a region where all are equal.
    fn factor(&self) -> usize {
        let sizes = || self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        let (smallest, largest) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
        let messages = |factor: usize| {
            let (mut held, mut messages) = (1, 0);
            while held < self.count() {
                messages += self.round(held, factor).fetches.div_ceil(smallest);
                held *= factor;
            }
            messages
        };
        (2..=largest.max(2)).rev().min_by_key(|&factor| messages(factor)).unwrap_or(2)
    }

    fn round(&self, held: usize, factor: usize) -> Round<'_> {
        Round { regions: self, held, fetches: (factor - 1).min((self.count() - 1) / held) }
    }
}

/// One round of messages between regions.
struct Round<'a> {
    regions: &'a Regions<'a>,
    /// How many regions every region has, from itself on.
    held: usize,
    /// Fetches 1, 2, ... so many for each region.
    fetches: usize,
}

impl Round<'_> {
    /// How far away the regions of `fetch` begin.
    fn regions_from(&self, fetch: usize) -> usize {
        fetch * self.held
    }

    /// How many regions `fetch` brings.
    fn regions_of(&self, fetch: usize) -> usize {
        self.held.min(self.regions.count() - self.regions_from(fetch))
    }

    /// Bytes that `fetch` brings to region `to`.
    fn bytes(&self, to: usize, fetch: usize) -> u64 {
        let from = (to + self.regions_from(fetch)) % self.regions.count();
        self.regions.circle.bytes(from, self.regions_of(fetch))
    }

    /// Bytes that rank `index` of region `to` receives.
    fn brought(&self, to: usize, index: usize) -> u64 {
        served(self.regions.ranks(to).len(), self.fetches, index).map(|fetch| self.bytes(to, fetch)).sum()
    }

    /// Sends and receives what falls to rank `index` of region `here`, which has its regions at the start of `all`.
    fn fetch(&self, staged: &mut Staged, here: usize, index: usize, all: Span) -> Span {
        let count = self.regions.count();
        let mine = || served(self.regions.ranks(here).len(), self.fetches, index);
        let peer = |region: usize, fetch: usize| {
            let ranks = self.regions.ranks(region % count);
            ranks[server(ranks.len(), self.fetches, fetch)]
        };
        for fetch in mine() {
            let to = here + count - self.regions_from(fetch);
            let len = self.regions.circle.bytes(here, self.regions_of(fetch));
            staged.send(peer(to, fetch), part(all, 0, len));
        }
        let fetched = staged.scratch(self.brought(here, index));
        let mut at = 0;
        for fetch in mine() {
            let len = self.bytes(here, fetch);
            staged.receive(peer(here + self.regions_from(fetch), fetch), part(fetched, at, len));
            at += len;
        }
        fetched
    }
}

/// Which of the `ranks` of a region sends and receives `fetch`: its like where there are enough, else in equal shares.
fn server(ranks: usize, fetches: usize, fetch: usize) -> usize {
    if fetches < ranks { fetch } else { (fetch - 1) * ranks / fetches }
}

/// The fetches of which rank `index` is the server.
fn served(ranks: usize, fetches: usize, index: usize) -> std::ops::Range<usize> {
    if fetches >= ranks {
        return (index * fetches).div_ceil(ranks) + 1..((index + 1) * fetches).div_ceil(ranks) + 1;
    }
    if (1..=fetches).contains(&index) { index..index + 1 } else { 0..0 }
}
