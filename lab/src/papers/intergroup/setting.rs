//! Builds two groups and their blocks: the eight settings of section 5, and others.

use crate::collectives::intergroup::Pair;
use crate::collectives::{Operation, Problem, TwoGroups, algorithm};
use tributary::schedule::{ReduceOp, Schedule};
use tributary::{Rank, Topology};

use crate::papers::PapersError;

/// Two groups and their blocks. Group A is ranks 0, 1, ..., group B the ranks after them, as in the paper's program.
pub(super) struct World {
    pub(super) groups: TwoGroups,
    pub(super) topology: Topology,
    pub(super) sizes: Vec<u64>,
}

/// Returns the greatest block of group A and of group B, in quarters of the greatest of all. Equation 5 gives 4.21 and
/// 6.68 with a factor of 4 between the groups, which the paper does not print.
fn quarters(setting: u32) -> (u64, u64) {
    match setting {
        3 => (4, 1),
        4 => (1, 4),
        _ => (4, 4),
    }
}

impl World {
    /// Creates groups whose ranks have blocks of these sizes in bytes.
    pub(super) fn of_sizes(a: Vec<u64>, b: Vec<u64>, per_node: usize) -> Result<Self, PapersError> {
        let (p, all) = (a.len(), a.len() + b.len());
        let groups = TwoGroups::new((0..p).collect(), (p..all).collect())?;
        Ok(Self { groups, topology: Topology::blocks(all, per_node)?, sizes: [a, b].concat() })
    }

    /// Creates setting 1 to 8 with `ranks` ranks in all and a greatest block of `bytes` bytes. p/q is 1 in settings 1,
    /// 5 and 6, 25/7 in the others. In settings 6 and 8 rank i of a group has i equal parts of the greatest block.
    pub(super) fn setting(setting: u32, ranks: usize, per_node: usize, bytes: u64) -> Result<Self, PapersError> {
        if !(1..=8).contains(&setting) || !ranks.is_multiple_of(32) {
            return Err(PapersError::new(format!(
                "setting {setting}, {ranks} ranks; allowed: 1 to 8, a multiple of 32"
            )));
        }
        let p = if [1, 5, 6].contains(&setting) { ranks / 2 } else { ranks / 32 * 25 };
        let blocks = |ranks: usize, size: u64| match setting {
            6 | 8 => (0..ranks as u64).map(|i| i * size / (ranks as u64 - 1)).collect(),
            _ => vec![size; ranks],
        };
        let (a, b) = quarters(setting);
        Self::of_sizes(blocks(p, bytes * a / 4), blocks(ranks - p, bytes * b / 4), per_node)
    }

    /// Returns the sizes of the groups and their mean blocks, for the cost formulas.
    pub(super) fn pair(&self) -> Pair {
        let group = |members: &[Rank]| {
            let (count, total) =
                (members.len() as f64, members.iter().map(|&rank| self.sizes[rank]).sum::<u64>() as f64);
            (count, total / count)
        };
        let ((p, k_a), (q, k_b)) = (group(self.groups.a()), group(self.groups.b()));
        Pair { p, q, k_a, k_b }
    }

    /// Returns the size of the greatest block of all, in bytes.
    pub(super) fn largest(&self) -> f64 {
        self.sizes.iter().copied().max().unwrap_or(0) as f64
    }

    /// Returns one rank's schedule by an algorithm of the library.
    pub(super) fn schedule(&self, name: &str, rank: Rank) -> Result<Schedule, PapersError> {
        let known = algorithm(Operation::IntergroupAllgather, name);
        let known = known.ok_or_else(|| PapersError::new(format!("intergroup allgather {name}: unknown")))?;
        let (topology, sizes, groups) = (&self.topology, &self.sizes, Some(&self.groups));
        let problem = Problem { rank, topology, root: 0, sizes, with: ReduceOp::Sum, segment: 8, groups };
        Ok((known.schedule)(&problem))
    }

    /// Returns the schedules of all ranks.
    pub(super) fn schedules(&self, name: &str) -> Result<Vec<Schedule>, PapersError> {
        (0..self.sizes.len()).map(|rank| self.schedule(name, rank)).collect()
    }
}

/// Returns the algorithm of a setting: Algorithm 1 for 1 to 4, Algorithm 2 for 5 to 8.
pub(super) fn algorithm_of(setting: u32) -> &'static str {
    if setting <= 4 { "allgather" } else { "allgatherv" }
}
