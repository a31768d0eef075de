//! Collectives in one level and in two, on the simulated Graphene cluster of Grid'5000 (chapter 3).

use crate::collectives::{GATHERS, Gather, Groups, IN_PLACE, InPlace, Operation, Problem, Scheme, hierarchical};
use crate::sim::{self, Machine, Schedules};
use serde::Deserialize;
use tributary::Topology;
use tributary::schedule::{ReduceOp, Schedule};

use super::best;
use crate::papers::{Context, PapersError, Parameters, Values};

/// Collective operation that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Collective {
    Broadcast,
    Reduce,
    Allreduce,
    Gather,
    Scatter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GridCase {
    collective: Collective,
    algorithm: String,
    ranks: usize,
    ranks_per_node: usize,
    /// Number of bytes of the message; of a gather or scatter, of every rank's block.
    bytes: u64,
    /// Segment size in bytes; the whole message where the thesis gives none.
    segment: Option<u64>,
    /// Segment size in bytes with groups, where a library chooses another.
    grouped_segment: Option<u64>,
    /// Numbers of groups that are tried; by default powers of two from 2 to half the ranks.
    groups: Option<Vec<usize>>,
}

/// Collective among all ranks of a topology, from or to rank 0.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) collective: Collective,
    pub(super) algorithm: &'a str,
    pub(super) topology: &'a Topology,
    pub(super) bytes: u64,
    pub(super) segment: u64,
}

impl Run<'_> {
    /// Returns the schedules of all ranks with `groups` groups and the same algorithm on both levels.
    pub(super) fn schedules(&self, groups: usize) -> Result<Vec<Schedule>, PapersError> {
        let sizes = vec![self.bytes; self.topology.ranks()];
        let problem = |rank| Problem {
            rank,
            topology: self.topology,
            root: 0,
            sizes: &sizes,
            with: ReduceOp::Max,
            segment: self.segment,
            groups: None,
        };
        let ranks = 0..self.topology.ranks();
        let groups = Groups::Count(groups);
        let schedules: tributary::Result<Vec<_>> = match self.collective {
            Collective::Gather | Collective::Scatter => {
                let algorithm = self.of_blocks()?;
                let scheme = hierarchical(groups, algorithm, algorithm)?;
                let scatter = self.collective == Collective::Scatter;
                let one = |rank| if scatter { scheme.scatter(&problem(rank)) } else { scheme.gather(&problem(rank)) };
                ranks.map(one).collect()
            }
            _ => {
                let algorithm = self.of_message()?;
                let scheme: Scheme = hierarchical(groups, algorithm, algorithm)?;
                ranks.map(|rank| scheme.schedule(&problem(rank))).collect()
            }
        };
        Ok(schedules?)
    }

    fn of_message(&self) -> Result<&'static InPlace, PapersError> {
        let operation = match self.collective {
            Collective::Broadcast => Operation::Broadcast,
            Collective::Reduce => Operation::Reduce,
            _ => Operation::Allreduce,
        };
        let is = |it: &&&InPlace| it.algorithm.operation == operation && it.algorithm.name == self.algorithm;
        IN_PLACE.iter().find(is).copied().ok_or_else(|| self.unknown())
    }

    fn of_blocks(&self) -> Result<&'static Gather, PapersError> {
        GATHERS.iter().find(|it| it.gather.name == self.algorithm).copied().ok_or_else(|| self.unknown())
    }

    fn unknown(&self) -> PapersError {
        PapersError::new(format!("algorithm {}: not one of {:?}", self.algorithm, self.collective))
    }

    fn seconds(&self, machine: &Machine, groups: usize) -> Result<f64, PapersError> {
        let schedules = Schedules::new(self.schedules(groups)?);
        Ok(sim::run(machine, self.topology, &schedules, 0, |_| {})?.seconds().total)
    }
}

/// Measures the time without groups divided by the time with the best number of groups.
pub(super) fn speedup(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let GridCase { collective, algorithm, ranks, ranks_per_node, bytes, segment, grouped_segment, groups } =
        with.read()?;
    let machine = context.machine("grid5000-graphene")?;
    let topology = Topology::blocks(ranks, ranks_per_node)?;
    let segment = segment.unwrap_or(bytes.next_multiple_of(8));
    let plain = Run { collective, algorithm: &algorithm, topology: &topology, bytes, segment };
    let grouped = Run { segment: grouped_segment.unwrap_or(segment), ..plain };
    let counts = groups.unwrap_or_else(|| (1..).map(|power| 1 << power).take_while(|two| 2 * two <= ranks).collect());
    let with_groups = best(counts, |groups| grouped.seconds(&machine, groups))?;
    Ok(vec![("speedup".to_string(), plain.seconds(&machine, 1)? / with_groups)])
}
