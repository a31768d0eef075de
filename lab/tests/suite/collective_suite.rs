//! Runs every collective algorithm on any fabric and compares its result with the operation's definition.
#![allow(dead_code, reason = "each test file uses what it needs")]

use tributary::fabric::Buffers;
use tributary::schedule::{Buffer, ReduceOp};
use tributary::{Endpoint, Rank, Topology};
use tributary_lab::collectives::{ALGORITHMS, Algorithm, Operation, Problem, TwoGroups};

/// All collective operations.
pub const ALL: [Operation; 7] = [
    Operation::Allgather,
    Operation::Gather,
    Operation::Scatter,
    Operation::Broadcast,
    Operation::Reduce,
    Operation::Allreduce,
    Operation::IntergroupAllgather,
];

/// Test case: a problem that all ranks share.
pub struct Case {
    pub topology: Topology,
    pub root: Rank,
    pub sizes: Vec<u64>,
    pub segment: u64,
    pub groups: Option<TwoGroups>,
}

impl Case {
    pub fn problem(&self, rank: Rank) -> Problem<'_> {
        let Self { topology, root, sizes, segment, groups } = self;
        let (with, groups) = (ReduceOp::Sum, groups.as_ref());
        Problem { rank, topology, root: *root, sizes, with, segment: *segment, groups }
    }

    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }
}

/// Returns true if all ranks have blocks of the same length, or if the operation has only one message.
pub fn one_message(operation: Operation) -> bool {
    matches!(operation, Operation::Broadcast | Operation::Reduce | Operation::Allreduce)
}

/// Returns block sizes for `ranks` ranks: equal ones, and for irregular algorithms six distributions, some of them with
/// zeros.
pub fn sizes(algorithm: &Algorithm, ranks: usize, turn: usize) -> Vec<u64> {
    let equal = [8, 64, 1000 * 8, 0][turn % 4];
    if !algorithm.irregular || one_message(algorithm.operation) {
        return vec![equal; ranks];
    }
    let of = |rank: usize| match turn % 6 {
        0 => 24,
        1 => (rank * 7919 + turn * 31) as u64 % 50,
        2 => {
            if rank % 5 == 2 {
                4000
            } else {
                3
            }
        }
        3 => (ranks - rank) as u64,
        4 => {
            if rank.is_multiple_of(2) {
                40
            } else {
                0
            }
        }
        _ => {
            if rank == ranks / 3 || rank + 1 == ranks {
                999
            } else {
                0
            }
        }
    };
    (0..ranks).map(of).collect()
}

/// Returns all cases at `ranks` ranks: nodes of several sizes, roots, sizes, segments.
pub fn cases(algorithm: &Algorithm, ranks: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for turn in 0..6 {
        let per_node = [1, 2, 3, 4, 7, ranks][turn].clamp(1, ranks);
        cases.push(Case {
            topology: Topology::blocks(ranks, per_node).unwrap(),
            root: [0, ranks - 1, ranks / 2, ranks / 3, 1 % ranks, 0][turn],
            sizes: sizes(algorithm, ranks, turn),
            segment: [64, 24, 1 << 10][turn % 3],
            groups: Some(two_groups(ranks, turn)),
        });
    }
    cases
}

/// Returns two groups in one of six arrangements: halves, alternating ranks, one against all in descending order, a
/// quarter in any order, some ranks in neither, only group A.
pub fn two_groups(ranks: usize, turn: usize) -> TwoGroups {
    let those = |is_in: &dyn Fn(usize) -> bool| (0..ranks).filter(|&rank| is_in(rank)).collect::<Vec<Rank>>();
    let (a, b) = match turn % 6 {
        0 => (those(&|rank| rank < ranks / 2), those(&|rank| rank >= ranks / 2)),
        1 => (those(&|rank| rank % 2 == 1), those(&|rank| rank % 2 == 0)),
        2 => (vec![ranks / 2], those(&|rank| rank != ranks / 2).into_iter().rev().collect()),
        3 => {
            let mut quarter = those(&|rank| rank % 4 == 1);
            quarter.sort_by_key(|rank| rank * 7919 % 31);
            (those(&|rank| rank % 4 != 1), quarter)
        }
        4 => (those(&|rank| rank % 5 < 3), those(&|rank| rank % 5 == 3)),
        _ => (those(&|_| true), Vec::new()),
    };
    TwoGroups::new(a, b).unwrap()
}

/// Returns the block of one rank; words of 8 bytes for reductions.
pub fn block(rank: Rank, len: u64) -> Vec<u8> {
    (0..len).map(|i| (rank as u64 * 131 + i * 7 + (i >> 8)) as u8).collect()
}

/// Runs every algorithm of `operations` on this endpoint's ranks and checks this rank's result. Collective.
pub fn run(endpoint: &mut Endpoint, operations: &[Operation]) {
    run_and(endpoint, operations, |_, _, _, _| {});
}

/// Does what [`run`] does, and passes each result to `also`, with its operation, case and rank. Collective.
pub fn run_and(endpoint: &mut Endpoint, operations: &[Operation], mut also: impl FnMut(Operation, &Case, Rank, &[u8])) {
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    for algorithm in ALGORITHMS.iter().filter(|algorithm| operations.contains(&algorithm.operation)) {
        for case in cases(algorithm, ranks) {
            let problem = case.problem(rank);
            let mut buffers = Buffers::default();
            buffers.set(Buffer::Send, contribution(algorithm.operation, &case, rank));
            endpoint.run_and_wait((algorithm.schedule)(&problem), &mut buffers, 7).unwrap();
            let expected = expected(algorithm.operation, &case, rank);
            let got = buffers.get(Buffer::Receive);
            let what =
                format!("{:?} {}: rank {rank} of {ranks}, sizes {:?}", algorithm.operation, algorithm.name, case.sizes);
            also(algorithm.operation, &case, rank, got);
            if expected.is_none() {
                continue;
            }
            assert!(got == expected.unwrap_or_default(), "{what}");
        }
    }
}

/// Returns the contents of a rank's send buffer.
pub fn contribution(operation: Operation, case: &Case, rank: Rank) -> Vec<u8> {
    let all = |from: Rank| (0..case.ranks()).flat_map(|to| block(from * 64 + to, case.sizes[to])).collect();
    match operation {
        Operation::Allgather | Operation::Gather | Operation::IntergroupAllgather => block(rank, case.sizes[rank]),
        Operation::Scatter if rank == case.root => all(rank),
        Operation::Broadcast if rank == case.root => block(rank, case.sizes[rank]),
        Operation::Scatter | Operation::Broadcast => Vec::new(),
        Operation::Reduce | Operation::Allreduce => block(rank, case.sizes[case.root]),
    }
}

/// Returns the contents of the receive buffer by the operation's definition; `None` if the definition leaves them open.
pub fn expected(operation: Operation, case: &Case, rank: Rank) -> Option<Vec<u8>> {
    let blocks = || (0..case.ranks()).flat_map(|from| block(from, case.sizes[from])).collect();
    let folded = || {
        let words = |rank| -> Vec<u64> {
            block(rank, case.sizes[case.root]).chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let mut sum = vec![0u64; case.sizes[case.root] as usize / 8];
        (0..case.ranks()).for_each(|rank| sum.iter_mut().zip(words(rank)).for_each(|(s, l)| *s = s.wrapping_add(l)));
        sum.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()
    };
    match operation {
        Operation::Allgather => Some(blocks()),
        Operation::IntergroupAllgather => {
            let groups = case.groups.as_ref().and_then(|groups| groups.locate(rank));
            let other = groups.map_or(&[][..], |(_, _, other)| other);
            Some(other.iter().flat_map(|&from| block(from, case.sizes[from])).collect())
        }
        Operation::Gather => (rank == case.root).then(blocks),
        Operation::Scatter => Some(block(case.root * 64 + rank, case.sizes[rank])),
        Operation::Broadcast => Some(block(case.root, case.sizes[case.root])),
        Operation::Reduce => (rank == case.root).then(folded),
        Operation::Allreduce => Some(folded()),
    }
}
