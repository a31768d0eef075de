//! The case on which an algorithm is counted and drawn: ranks, nodes, root, sizes.

use trib::Failure;
use tributary::schedule::{ReduceOp, Schedule};
use tributary::{Rank, Topology};
use tributary_lab::collectives::{Algorithm, Operation, Problem, TwoGroups};

use super::catalogue::{AlgorithmSource, Entry};
use super::exchange;
use super::notes::{self, Aggregators, Example};

/// The case on which an algorithm is counted and drawn.
pub struct AlgorithmCase {
    /// Ranks and nodes.
    pub topology: Topology,
    /// The largest number of ranks of a node.
    pub ranks_per_node: usize,
    /// The root of the operation.
    pub root: Rank,
    /// m: bytes of a block, or of the message of a broadcast or reduction.
    pub unit: u64,
    /// Bytes of every rank's block.
    pub sizes: Vec<u64>,
    /// Bytes of a segment, or the threshold of the ordered tree.
    pub segment: u64,
    /// The receivers of an exchange, ascending.
    pub receivers: Vec<Rank>,
    /// Two groups: the second has the ranks of the last node or, with a single node, the last quarter of the ranks.
    groups: TwoGroups,
}

/// The bytes of an operation, with the send buffers that hold them.
pub struct Contents {
    /// The parts of all input data: the bytes of each part, and the rank whose colour it has.
    pub parts: Vec<(u64, Rank)>,
    /// By rank: the bytes that its send buffer holds, in order, as (first, end).
    pub brought: Vec<Vec<(u64, u64)>>,
    /// Whether all ranks have the same bytes, which are to be combined.
    pub combines: bool,
    /// By rank: the bytes that its bar shows, as (first, end). Some ranks have no bar; all bars are equally long.
    pub shown: Vec<Option<(u64, u64)>>,
}

impl AlgorithmCase {
    /// Blocks of `unit` bytes on every rank.
    ///
    /// # Errors
    /// Zero ranks, zero ranks per node.
    pub fn even(entry: &Entry, ranks: usize, ranks_per_node: usize, unit: u64) -> Result<Self, Failure> {
        let example = Example { ranks, ranks_per_node, root: 0, weights: &[], aggregators: Aggregators::PerNode };
        Self::of(entry, &example, unit)
    }

    /// An example, with `unit` bytes for a block of weight 1.
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

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }

    /// The problem on `rank`.
    fn problem(&self, rank: Rank) -> Problem<'_> {
        let Self { topology, root, sizes, segment, groups, .. } = self;
        let (with, groups) = (ReduceOp::Sum, Some(groups));
        Problem { rank, topology, root: *root, sizes, with, segment: *segment, groups }
    }

    /// The schedules of all ranks.
    pub fn schedules(&self, entry: &Entry) -> Vec<Schedule> {
        let of: &dyn Fn(Rank) -> Schedule = match entry.what {
            AlgorithmSource::Collective(algorithm) => &|rank| (algorithm.schedule)(&self.problem(rank)),
            AlgorithmSource::Flat(kernel) => &|rank| exchange::flat(self, kernel, rank),
            AlgorithmSource::TwoLayer => &|rank| exchange::two_layer(self, rank),
        };
        (0..self.ranks()).map(of).collect()
    }

    /// The ranks' input data.
    pub fn contents(&self, entry: &Entry) -> Contents {
        match entry.what {
            AlgorithmSource::Collective(algorithm) => self.contents_of(algorithm),
            AlgorithmSource::Flat(_) | AlgorithmSource::TwoLayer => exchange::contents(self),
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

    /// One range for every rank.
    fn by(&self, range: impl Fn(Rank) -> (u64, u64)) -> Vec<Vec<(u64, u64)>> {
        (0..self.ranks()).map(|rank| vec![range(rank)]).collect()
    }

    /// The ranks that are marked in pictures, and their role.
    pub fn marked(&self, entry: &Entry) -> (Vec<Rank>, &'static str) {
        match entry.what {
            AlgorithmSource::Flat(_) | AlgorithmSource::TwoLayer => (self.receivers.clone(), "aggregator"),
            AlgorithmSource::Collective(algorithm) => match algorithm.operation {
                Operation::Gather | Operation::Scatter | Operation::Broadcast | Operation::Reduce => {
                    (vec![self.root], "root")
                }
                Operation::IntergroupAllgather => (self.groups.b().to_vec(), "of the second group"),
                _ => (Vec::new(), ""),
            },
        }
    }
}
