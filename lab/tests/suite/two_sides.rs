//! Two groups of ranks with blocks: the schedules of all ranks, the required deliveries, and the exchange as text.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::schedule::{Action, Buffer, ReduceOp, Schedule, Span};
use tributary::{Rank, Topology};
use tributary_lab::collectives::{Operation, Problem, TwoGroups, algorithm};
use tributary_testing::validate::Delivery;

/// Ranks, two groups and the number of bytes of every rank's block.
#[derive(Debug)]
pub struct World {
    pub groups: TwoGroups,
    pub topology: Topology,
    pub sizes: Vec<u64>,
}

impl World {
    /// Creates groups with these block sizes: ranks 0, 1, ... are group A, the ranks after them group B.
    pub fn of_sizes(a: Vec<u64>, b: Vec<u64>) -> Self {
        let (p, all) = (a.len(), a.len() + b.len());
        let groups = TwoGroups::new((0..p).collect(), (p..all).collect()).unwrap();
        Self { groups, topology: Topology::blocks(all, 1).unwrap(), sizes: [a, b].concat() }
    }

    /// Creates groups of p and q ranks in any order, with one rank in neither group for some seeds, and sizes of any
    /// kind.
    pub fn interleaved(p: usize, q: usize, seed: usize) -> Self {
        let neither = usize::from(seed % 3 == 1);
        let mut ranks: Vec<Rank> = (0..p + q + neither).collect();
        ranks.shuffle(&mut SmallRng::seed_from_u64(seed as u64));
        let groups = TwoGroups::new(ranks[..p].to_vec(), ranks[p..p + q].to_vec()).unwrap();
        let topology = Topology::blocks(ranks.len(), 1).unwrap();
        Self { groups, topology, sizes: some_sizes(ranks.len(), seed) }
    }

    pub fn problem(&self, rank: Rank) -> Problem<'_> {
        let (topology, sizes, groups) = (&self.topology, &self.sizes, Some(&self.groups));
        Problem { rank, topology, root: 0, sizes, with: ReduceOp::Sum, segment: 8, groups }
    }

    /// Returns the schedules of all ranks.
    pub fn schedules(&self, name: &str) -> Vec<Schedule> {
        let algorithm = algorithm(Operation::IntergroupAllgather, name).unwrap();
        (0..self.sizes.len()).map(|rank| (algorithm.schedule)(&self.problem(rank))).collect()
    }

    /// Returns the required deliveries: every block of a group to every rank of the other, in the group's order.
    pub fn wanted(&self) -> Vec<Delivery> {
        let (a, b) = (self.groups.a(), self.groups.b());
        let mut all = Vec::new();
        for (givers, takers) in [(a, b), (b, a)] {
            let mut to_offset = 0;
            for &from in givers {
                let len = self.sizes[from];
                let delivery = |&to: &Rank| Delivery { from, from_offset: 0, to, to_offset, len };
                all.extend(takers.iter().map(delivery).filter(|delivery| delivery.len > 0));
                to_offset += len;
            }
        }
        all
    }

    /// Returns the number of bytes of all blocks of A, and of B.
    pub fn totals(&self) -> (u64, u64) {
        let total = |group: &[Rank]| group.iter().map(|&rank| self.sizes[rank]).sum();
        (total(self.groups.a()), total(self.groups.b()))
    }

    /// Returns the messages between the groups as text: one line a rank, sends and receives each in their order.
    pub fn exchange(&self, name: &str) -> String {
        let schedules = self.schedules(name);
        let number = |rank: Rank| {
            let in_a = self.groups.a().iter().position(|&member| member == rank);
            let in_b = || self.groups.b().iter().position(|&member| member == rank).unwrap();
            in_a.map_or_else(|| format!("b{}", in_b()), |number| format!("a{number}"))
        };
        let range = |span: &Span| format!("[{}..{}]", span.offset, span.offset + span.len);
        let mut text = String::new();
        for &rank in self.groups.a().iter().chain(self.groups.b()) {
            let is_other = |peer| self.groups.a().contains(&peer) != self.groups.a().contains(&rank);
            let (mut sends, mut receives) = (Vec::new(), Vec::new());
            for op in schedules[rank].ops() {
                match op.action {
                    Action::Send { to, .. } if is_other(to) => {
                        assert_eq!(op.span.buffer, Buffer::Send);
                        sends.push(format!(" {} {}", number(to), range(&op.span)));
                    }
                    Action::Receive { from } if is_other(from) => {
                        receives.push(format!(" {} from {}", range(&op.span), number(from)));
                    }
                    _ => {}
                }
            }
            text += &format!("{} sends{}; receives{}\n", number(rank), sends.join(","), receives.join(","));
        }
        text
    }
}

/// Returns block sizes of one of six kinds: equal, random with zeros, one huge block among small or empty ones, rising,
/// few of one byte, none.
pub fn some_sizes(ranks: usize, seed: usize) -> Vec<u64> {
    let mut random = SmallRng::seed_from_u64((ranks * 1000 + seed) as u64);
    let chosen = random.random_range(0..ranks);
    let mut of = |rank: usize| match seed % 7 {
        0 => 24,
        1 => random.random_range(0..200) * random.random_range(0..=1),
        2 | 3 if rank == chosen => 100_000,
        2 => random.random_range(0..4),
        4 => rank as u64,
        5 => u64::from(rank % 5 == 3),
        6 if ranks.is_multiple_of(2) => 1,
        _ => 0,
    };
    (0..ranks).map(&mut of).collect()
}
