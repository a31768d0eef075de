//! Test case on which an algorithm is counted and drawn: ranks, nodes, root, sizes.

use trib::Failure;
use tributary::schedule::{ReduceOp, Schedule};
use tributary::{Rank, Topology};
use tributary_lab::collectives::{Algorithm, Operation, Problem, TwoGroups};

use super::catalogue::{Entry, What};
use super::exchange;
use super::notes::{self, Aggregators, Example};

/// Test case on which an algorithm is counted and drawn.
pub struct AlgorithmCase {
    /// Number of ranks, and the node of each.
    pub topology: Topology,
    /// Largest number of ranks on a node.
    pub ranks_per_node: usize,
    /// Root of the operation.
    pub root: Rank,
    /// m: number of bytes of a block, or of the message of a broadcast or reduction.
    pub unit: u64,
    /// Number of bytes of every rank's block.
    pub sizes: Vec<u64>,
    /// Number of bytes of a segment, or the threshold of the ordered tree.
    pub segment: u64,
    /// Ranks that receive in an exchange, ascending.
    pub receivers: Vec<Rank>,
    /// Two groups for intergroup operations: the second has the ranks of the last node or, with a single node, the last
    /// quarter of the ranks.
    groups: TwoGroups,
}

/// Bytes that an operation moves, and the send buffers that hold them.
pub struct Contents {
    /// Parts of all input data: the number of bytes of each part, and the rank whose colour the part has.
    pub parts: Vec<(u64, Rank)>,
    /// For each rank: the ranges (first, end) of bytes that its send buffer holds, in order.
    pub brought: Vec<Vec<(u64, u64)>>,
    /// True if all ranks have the same byte positions, which the operation combines.
    pub combines: bool,
    /// For each rank: the range (first, end) of bytes that its bar shows. Some ranks have no bar; all bars are equally
    /// long.
    pub shown: Vec<Option<(u64, u64)>>,
}

impl AlgorithmCase {
    /// Creates a case with blocks of `unit` bytes on every rank.
    ///
    /// # Errors
    /// Zero ranks, zero ranks per node.
    pub fn even(entry: &Entry, ranks: usize, ranks_per_node: usize, unit: u64) -> Result<Self, Failure> {
        let example = Example { ranks, ranks_per_node, root: 0, weights: &[], aggregators: Aggregators::PerNode };
        Self::of(entry, &example, unit)
    }

    /// Creates the case of an example, with `unit` bytes for a block of weight 1.
    ///
    /// # Errors
    /// Zero ranks, zero ranks per node; a root that is no rank.
    pub fn of(entry: &Entry, example: &Example, unit: u64) -> Result<Self, Failure> {
        let Example { ranks, ranks_per_node, root, weights, ref aggregators } = *example;
        let topology = Topology::blocks(ranks, ranks_per_node)?;
        if root >= ranks {
            return Err(Failure::new(format!("root: {root}; allowed: 0 to {}", ranks - 1)));
        }
        let receivers = match aggregators {
            Aggregators::PerNode => (0..topology.nodes()).map(|node| topology.rank_at(node, 0)).collect(),
            Aggregators::Lowest(count) => (0..ranks.min(*count)).collect(),
        };
        let weight = |rank: Rank| weights.get(rank).map_or(1, |&weight| weight);
        let sizes = (0..ranks).map(|rank| weight(rank) * unit).collect();
        let segment = notes::segment(entry, ranks, unit);
        let second = if topology.nodes() > 1 { topology.ranks_on(topology.nodes() - 1) } else { ranks.div_ceil(4) };
        let first = ranks - second;
        let groups = TwoGroups::new((0..first).collect(), (first..ranks).collect())?;
        Ok(Self { topology, ranks_per_node, root, unit, sizes, segment, receivers, groups })
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }

    /// Returns the problem on `rank`.
    fn problem(&self, rank: Rank) -> Problem<'_> {
        let Self { topology, root, sizes, segment, groups, .. } = self;
        let (with, groups) = (ReduceOp::Sum, Some(groups));
        Problem { rank, topology, root: *root, sizes, with, segment: *segment, groups }
    }

    /// Returns the schedules of all ranks by an algorithm.
    pub fn schedules(&self, entry: &Entry) -> Vec<Schedule> {
        let of: &dyn Fn(Rank) -> Schedule = match entry.what {
            What::Collective(algorithm) => &|rank| (algorithm.schedule)(&self.problem(rank)),
            What::Flat(kernel) => &|rank| exchange::flat(self, kernel, rank),
            What::TwoLayer => &|rank| exchange::two_layer(self, rank),
        };
        (0..self.ranks()).map(of).collect()
    }

    /// Returns the input data of all ranks.
    pub fn contents(&self, entry: &Entry) -> Contents {
        match entry.what {
            What::Collective(algorithm) => self.contents_of(algorithm),
            What::Flat(_) | What::TwoLayer => exchange::contents(self),
        }
    }

    fn contents_of(&self, algorithm: &Algorithm) -> Contents {
        let (message, total) = (self.sizes[self.root], self.sizes.iter().sum());
        let at_root = |bytes| self.by(|rank| if rank == self.root { (0, bytes) } else { (0, 0) });
        let first = |rank: Rank| self.sizes[..rank].iter().sum::<u64>();
        let one_message = vec![(message, self.root)];
        let blocks = || self.sizes.iter().copied().zip(0..).collect();
        let combines = matches!(algorithm.operation, Operation::Reduce | Operation::Allreduce);
        let (parts, brought): (Vec<_>, _) = match algorithm.operation {
            Operation::Broadcast => (one_message, at_root(message)),
            Operation::Reduce | Operation::Allreduce => (one_message, self.by(|_| (0, message))),
            Operation::Scatter => (blocks(), at_root(total)),
            _ => (blocks(), self.by(|rank| (first(rank), first(rank + 1)))),
        };
        let all = parts.iter().map(|(bytes, _)| bytes).sum();
        Contents { parts, brought, combines, shown: vec![Some((0, all)); self.ranks()] }
    }

    /// Returns a list with one range for every rank.
    fn by(&self, range: impl Fn(Rank) -> (u64, u64)) -> Vec<Vec<(u64, u64)>> {
        (0..self.ranks()).map(|rank| vec![range(rank)]).collect()
    }

    /// Returns the ranks that are marked in pictures, and their role.
    pub fn marked(&self, entry: &Entry) -> (Vec<Rank>, &'static str) {
        match entry.what {
            What::Flat(_) | What::TwoLayer => (self.receivers.clone(), "aggregator"),
            What::Collective(algorithm) => match algorithm.operation {
                Operation::Gather | Operation::Scatter | Operation::Broadcast | Operation::Reduce => {
                    (vec![self.root], "root")
                }
                Operation::IntergroupAllgather => (self.groups.b().to_vec(), "of the second group"),
                _ => (Vec::new(), ""),
            },
        }
    }
}
