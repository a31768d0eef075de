//! Locality-aware Bruck allgather: every rank of a region fetches from another region, then the region gathers.
//!
//! Paper: Bienz, Gautam, Kharel, A Locality-Aware Bruck Allgather (EuroMPI/USA 2022), section 3, Algorithm 2, equation
//! 4. First each region gathers its own blocks (Algorithm 1). Then come message rounds. Before a round, region R has
//! the blocks of the d regions from R on. In the round, its rank l (l = 1, 2, ..., not 0) receives the blocks of the d
//! regions from R + l d on, from rank l there; then the region gathers the blocks that its ranks received. d grows by
//! the factor q, the number of ranks in a region. With r = q^k regions, a rank sends k messages with q + q^2 + ... +
//! q^k blocks to other regions, and at most ceil(log2 q) (k + 1) messages inside its own: k t_s + (q + ... + q^k) m t_w
//! outside. Equation 4 has the last term of that sum, p / q blocks.
//!
//! **Any shape.** If r is no power of q, the last round fetches only the missing regions, and ranks without a fetch
//! contribute nothing. If regions differ in size, a region with fewer ranks than fetches distributes them evenly over
//! its ranks. The factor is then the largest with which a rank of the smallest region has the fewest messages (2, if
//! that region has one rank). **More levels**: a region gathers by the same algorithm over the regions inside it
//! ([`of_levels`]); the innermost level is Algorithm 1. O(p) memory a rank; O(p) time a level where regions hold
//! consecutive ranks, O(p log p) elsewhere.

use super::bruck;
use super::staged::{Circle, Gathered, Staged, part};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use tributary::error::{Error, Result};
use tributary::schedule::{Buffer, Schedule, Span};
use tributary::topology::{Rank, Topology};

/// Locality-aware Bruck allgather (see the module).
pub static LOCALITY_BRUCK: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "locality_bruck",
    about: "each rank of a node fetches from another node, then the node gathers: few and small messages between nodes",
    source: "Bienz et al. 2022, Algorithm 2, equation 4",
    cost: "q^k nodes of q ranks: k t_s + (q + ... + q^k) m t_w between nodes, ceil(log2 q) (k + 1) t_s + (p - 1) m t_w inside",
    irregular: true,
    schedule: |problem| of_levels(problem.rank, problem.sizes, &[problem.topology]),
};

/// Returns the schedule of one rank of a locality-aware Bruck allgather over several levels of regions, the coarsest
/// first.
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
    Ok(of_levels(problem.rank, problem.sizes, levels))
}

/// Returns the schedule of one rank over several levels of locality, the coarsest first (nodes, sockets, ...). Rank r
/// has a block of `sizes[r]` bytes. Each level is a topology of the same ranks; its nodes are the regions. A region
/// that spans several regions of the level above counts as several. Without levels, the schedule is Algorithm 1.
pub(super) fn of_levels(rank: Rank, sizes: &[u64], levels: &[&Topology]) -> Schedule {
    let mut order: Vec<Rank> = (0..sizes.len()).collect();
    let regions = |rank: Rank| levels.iter().map(move |level| level.node_of(rank));
    order.sort_by(|&a, &b| regions(a).cmp(regions(b)));
    let me = order.iter().position(|&other| other == rank).unwrap_or_default();
    let circle = Circle::new(order.iter().map(|&rank| sizes[rank]));
    let mut staged = Staged::default();
    let own = Span::new(Buffer::Send, 0, sizes[rank]);
    let gathered = among(&mut staged, levels, &order, &circle, me, own);
    let turned = order[gathered.first..].iter().chain(&order[..gathered.first]).copied();
    staged.place(sizes, turned, gathered.span)
}

/// Gathers the contributions of `circle` among `ranks`, in which the ranks of a region are neighbours. This rank is
/// `ranks[me]` and contributes `own`.
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
    // The blocks of all regions, this region first.
    let all = staged.scratch(circle.total());
    let factor = regions.factor();
    let mates_circle = Circle::new((0..mates.len()).map(|index| circle.bytes(first + index, 1)));
    let gathered = among(staged, inner, mates, &mates_circle, me - first, own);
    staged.rotate_into(gathered, &mates_circle, all);
    let mut held = 1;
    while held < regions.count() {
        let round = regions.round(held, factor);
        let fetched = round.fetch(staged, here, me - first, all);
        let fetched_sizes = Circle::new((0..mates.len()).map(|index| round.fetched_bytes(here, index)));
        let gathered = among(staged, inner, mates, &fetched_sizes, me - first, fetched);
        staged.rotate_into(
            gathered,
            &fetched_sizes,
            part(all, regions.circle.bytes(here, held), fetched_sizes.total()),
        );
        held = round.regions_from(round.fetches + 1).min(regions.count());
    }
    Gathered { span: all, first }
}

/// List of ranks divided into regions of neighbours.
struct Regions<'a> {
    all: &'a [Rank],
    /// Index in the list of the first rank of every region, then the length of the list.
    starts: Vec<usize>,
    /// Number of bytes of each region's blocks.
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

    /// Returns the factor by which the number of fetched regions grows in a round: the largest with the fewest messages
    /// for a rank of the smallest region. It is the number of ranks of a region if all regions are equal.
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
    /// Number of regions whose blocks every region has before the round, counted from the region itself on.
    held: usize,
    /// Number of fetches for each region. A fetch is one message from another region; fetches are counted from 1.
    fetches: usize,
}

impl Round<'_> {
    /// Returns the distance, in regions, to the first region whose blocks `fetch` brings.
    fn regions_from(&self, fetch: usize) -> usize {
        fetch * self.held
    }

    /// Returns the number of regions whose blocks `fetch` brings.
    fn regions_of(&self, fetch: usize) -> usize {
        self.held.min(self.regions.count() - self.regions_from(fetch))
    }

    /// Returns the number of bytes that `fetch` brings to region `to`.
    fn bytes(&self, to: usize, fetch: usize) -> u64 {
        let from = (to + self.regions_from(fetch)) % self.regions.count();
        self.regions.circle.bytes(from, self.regions_of(fetch))
    }

    /// Returns the number of bytes that rank `index` of region `to` receives in this round.
    fn fetched_bytes(&self, to: usize, index: usize) -> u64 {
        served(self.regions.ranks(to).len(), self.fetches, index).map(|fetch| self.bytes(to, fetch)).sum()
    }

    /// Adds the sends and receives of rank `index` of region `here`, which has the blocks of earlier rounds at the
    /// start of `all`. Returns the space of the received blocks.
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
        let fetched = staged.scratch(self.fetched_bytes(here, index));
        let mut at = 0;
        for fetch in mine() {
            let len = self.bytes(here, fetch);
            staged.receive(peer(here + self.regions_from(fetch), fetch), part(fetched, at, len));
            at += len;
        }
        fetched
    }
}

/// Returns the index in a region of `ranks` ranks of the rank that sends and receives `fetch`: `fetch` itself if the
/// region has enough ranks; otherwise the region's fetches are distributed evenly.
fn server(ranks: usize, fetches: usize, fetch: usize) -> usize {
    if fetches < ranks { fetch } else { (fetch - 1) * ranks / fetches }
}

/// Returns the numbers of the fetches that rank `index` of a region sends and receives.
fn served(ranks: usize, fetches: usize, index: usize) -> std::ops::Range<usize> {
    if fetches >= ranks {
        return (index * fetches).div_ceil(ranks) + 1..((index + 1) * fetches).div_ceil(ranks) + 1;
    }
    if (1..=fetches).contains(&index) { index..index + 1 } else { 0..0 }
}
