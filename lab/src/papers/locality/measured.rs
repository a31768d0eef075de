//! Section 5, figures 9 and 10: the allgathers on Quartz, where a region is a node, and on Lassen, where it is a
//! socket.
//!
//! Two 4-byte integers a rank, by a program that has run before: request objects exist already. On Lassen one socket of
//! each node is used. `recursive_doubling` stands for the machine's own MPI library: MPICH, MVAPICH2's ancestor, uses
//! it for short messages of a power of two of ranks (Thakur et al. 2005); the algorithm of Spectrum MPI is not
//! published.

use crate::collectives::{Operation, Problem, algorithm};
use crate::sim::{self, Machine, Schedules};
use serde::Deserialize;
use tributary::schedule::{ReduceOp, Schedule};
use tributary::{Rank, Topology};

use crate::papers::{Axis, Context, Drawing, PapersError, Parameters, Values};

/// Name of the paper's own algorithm.
const OURS: &str = "locality_bruck";
/// Number of bytes that each rank contributes.
const BLOCK: u64 = 8;

/// Returns one rank's schedule of an allgather.
pub(super) fn schedule(name: &str, rank: Rank, topology: &Topology, sizes: &[u64]) -> Result<Schedule, PapersError> {
    let known = algorithm(Operation::Allgather, name);
    let known = known.ok_or_else(|| PapersError::new(format!("allgather {name}: unknown")))?;
    let problem = Problem { rank, topology, root: 0, sizes, with: ReduceOp::Sum, segment: 8, groups: None };
    Ok((known.schedule)(&problem))
}

/// Returns the simulated time of an allgather in microseconds.
fn microseconds(
    context: &Context,
    machine: &str,
    regions: usize,
    per_region: usize,
    name: &str,
) -> Result<f64, PapersError> {
    let made = context.once(&format!("locality {machine} {regions} x {per_region} {name}"), || {
        let mut machine = Machine::clone(&*context.machine(machine)?);
        machine.host.first_use = 0.0;
        machine.connection = None;
        if machine.name == "lassen" {
            machine.sockets = 1;
        }
        let topology = Topology::blocks(regions * per_region, per_region)?;
        let sizes = vec![BLOCK; topology.ranks()];
        let of = |rank| schedule(name, rank, &topology, &sizes);
        let schedules = (0..topology.ranks()).map(of).collect::<Result<Vec<_>, _>>()?;
        let outcome = sim::run(&machine, &topology, &Schedules::new(schedules), 0, |_| ())?;
        Ok(outcome.seconds().total * 1e6)
    });
    made.map(|time| *time)
}

/// Parameters of a measurement: the machine, and the numbers of ranks and regions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredCase {
    machine: String,
    /// Pairs of a number of ranks in a region and a number of regions.
    counts: Vec<(usize, usize)>,
    /// Names of the algorithms with which the locality-aware allgather is compared.
    others: Vec<String>,
}

/// Measures the microseconds of all algorithms.
pub(super) fn times(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let MeasuredCase { machine, counts, others } = with.read()?;
    let mut values = Values::new();
    for (per_region, regions) in counts {
        for name in others.iter().map(String::as_str).chain([OURS]) {
            values.push((name.to_string(), microseconds(context, &machine, regions, per_region, name)?));
        }
    }
    Ok(values)
}

/// Measures in what part of the cases the locality-aware allgather is the fastest.
pub(super) fn fastest(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let MeasuredCase { machine, counts, others } = with.read()?;
    let mut won = 0;
    for &(per_region, regions) in &counts {
        let time = |name: &str| microseconds(context, &machine, regions, per_region, name);
        let ours = time(OURS)?;
        let others = others.iter().map(|other| time(other)).collect::<Result<Vec<_>, _>>()?;
        won += usize::from(others.iter().all(|&other| ours < other));
    }
    Ok(vec![(format!("of {} counts", counts.len()), won as f64 / counts.len() as f64)])
}

/// Measures, in each case, the time of the fastest other algorithm divided by the time of the locality-aware allgather.
pub(super) fn improvement(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let MeasuredCase { machine, counts, others } = with.read()?;
    let of = |(per_region, regions): (usize, usize)| {
        let time = |name: &str| microseconds(context, &machine, regions, per_region, name);
        let others = others.iter().map(|other| time(other)).collect::<Result<Vec<_>, _>>()?;
        let best = others.into_iter().fold(f64::INFINITY, f64::min);
        Ok((format!("{regions} regions of {per_region}"), best / time(OURS)?))
    };
    counts.into_iter().map(of).collect()
}

/// Draws a panel of figures 9 and 10: the times over the number of regions, for one number of ranks in a region.
pub(super) fn figure(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let MeasuredCase { machine, counts, others } = with.read()?;
    let curve = |name: &str| {
        let point = |&(per_region, regions): &(usize, usize)| {
            Ok((regions as f64, microseconds(context, &machine, regions, per_region, name)?))
        };
        Ok((name.to_string(), counts.iter().map(point).collect::<Result<_, PapersError>>()?))
    };
    let curves = others.iter().map(String::as_str).chain([OURS]).map(curve).collect::<Result<_, PapersError>>()?;
    Ok(Drawing::Curves { x: Axis::log("regions"), y: Axis::log("microseconds"), curves })
}
