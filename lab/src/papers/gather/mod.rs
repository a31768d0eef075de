//! Irregular gather and scatter (Träff, 2019): tables 1 to 5, simulated row by row.
//!
//! Every row is one gather of one distribution of block sizes, to the middle rank, by MPI_Gather on blocks padded to
//! the largest, by MPI_Gatherv, and by the paper's ordered tree (TUW_Gatherv); real schedules on the table's machine.
//! Compared with the tables' least times, as section 5 asks for: averages have outliers of other jobs in them.
//!
//! | file | holds |
//! |---|---|
//! | `problem` | the distributions of block sizes |
//! | `library` | what the MPI libraries do |
//! | `ordered` | TUW_Gatherv |
//! | `sequence` | schedules one after the other |

mod library;
mod ordered;
mod problem;
mod sequence;

use std::sync::Arc;

use crate::sim::{self, Machine};
use serde::Deserialize;
use tributary::Topology;

use self::library::Library;
use self::problem::Blocks;
use self::sequence::Sequence;
use super::{Axis, Context, Draw, Drawing, Measure, PapersError, Parameters, Values};

/// Number of bytes of the tables' unit, MPI_INT.
const UNIT: u64 = 4;
/// Average block sizes of the tables, in units.
const AVERAGES: [u64; 5] = [1, 10, 100, 1_000, 10_000];
/// Average block sizes of the smaller instances, in units.
const SMALLER: [u64; 3] = [1, 10, 100];
/// Irregular distributions of block sizes, apart from two blocks.
const IRREGULAR: [Blocks; 4] = [Blocks::Random, Blocks::Spikes, Blocks::Decreasing, Blocks::Alternating];

pub(super) static MEASURES: &[Measure] = &[
    Measure { name: "times", about: "microseconds of the three operations in a table row", run: times },
    Measure {
        name: "guideline-1",
        about: "MPI_Gather over MPI_Gatherv, equal blocks; above 1 is violated",
        run: first,
    },
    Measure { name: "guideline-2", about: "MPI_Gatherv over the padding; above 1 is violated", run: second },
    Measure { name: "tuw-guideline-2", about: "TUW_Gatherv over the padding, smaller irregular rows", run: ours },
    Measure { name: "gain", about: "MPI_Gatherv over TUW_Gatherv, the best irregular row", run: gain },
    Measure { name: "tuw-guideline-1", about: "MPI_Gather over TUW_Gatherv, equal blocks, the best row", run: regular },
];

pub(super) static DRAWINGS: &[Draw] = &[Draw { name: "times", run: draw }];

/// Table of the paper: the MPI library that was measured, and the number of ranks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    library: Library,
    ranks: usize,
}

/// Row of a table: the table, and a distribution of blocks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableRow {
    library: Library,
    ranks: usize,
    blocks: Blocks,
    average: u64,
}

/// Figure of the paper: a table, and a distribution of blocks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    library: Library,
    ranks: usize,
    blocks: Blocks,
}

/// Times of one gather, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    gather: f64,
    /// Time of MPI_Allreduce, then MPI_Gather: the right side of guideline 2.
    padded: f64,
    gatherv: f64,
    ordered: f64,
}

fn times(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let Times { gather, gatherv, ordered, .. } = *row(with.read()?, context)?;
    Ok(named([("MPI_Gather", gather), ("MPI_Gatherv", gatherv), ("TUW_Gatherv", ordered)]))
}

fn first(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let times = row(with.read()?, context)?;
    Ok(named([("MPI_Gather / MPI_Gatherv", times.gather / times.gatherv)]))
}

fn second(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let times = row(with.read()?, context)?;
    Ok(named([("MPI_Gatherv / padding", times.gatherv / times.padded)]))
}

fn ours(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let worst = most(with.read()?, &IRREGULAR, &SMALLER, context, |times| times.ordered / times.padded)?;
    Ok(named([("TUW_Gatherv / padding, at most", worst)]))
}

fn gain(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let best = most(with.read()?, &IRREGULAR, &AVERAGES, context, |times| times.gatherv / times.ordered)?;
    Ok(named([("MPI_Gatherv / TUW_Gatherv, at most", best)]))
}

fn regular(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let best = most(with.read()?, &[Blocks::Same], &AVERAGES, context, |times| times.gather / times.ordered)?;
    Ok(named([("MPI_Gather / TUW_Gatherv, at most", best)]))
}

fn named<const N: usize>(values: [(&str, f64); N]) -> Values {
    values.map(|(name, value)| (name.to_string(), value)).into()
}

/// Returns the greatest value of the function `of` over some rows of a table.
fn most(
    Table { library, ranks }: Table,
    blocks: &[Blocks],
    averages: &[u64],
    context: &Context,
    of: fn(&Times) -> f64,
) -> Result<f64, PapersError> {
    let mut most = f64::MIN;
    for &blocks in blocks {
        for &average in averages {
            most = most.max(of(&*row(TableRow { library, ranks, blocks, average }, context)?));
        }
    }
    Ok(most)
}

fn row(row: TableRow, context: &Context) -> Result<Arc<Times>, PapersError> {
    context.once(&format!("gather {row:?}"), || {
        let machine = context.machine(if row.library == Library::Intel { "vsc-3" } else { "jupiter" })?;
        simulate(row, &machine)
    })
}

fn simulate(row: TableRow, machine: &Machine) -> Result<Times, PapersError> {
    let TableRow { library, ranks, blocks, average } = row;
    let topology = Topology::blocks(ranks, machine.ranks_per_node)?;
    let root = ranks / 2;
    let sizes: Vec<u64> = blocks.units(ranks, average).into_iter().map(|units| units * UNIT).collect();
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let run = |sequence: &Sequence| -> Result<f64, PapersError> {
        Ok(sim::run(machine, &topology, sequence, 0, |_| {})?.seconds().total * 1e6)
    };
    let mut padded = Sequence::of(library.allreduce(ranks));
    padded.then(library.gather(ranks, root, largest));
    Ok(Times {
        gather: run(&Sequence::of(library.gather(ranks, root, largest)))?,
        padded: run(&padded)?,
        gatherv: run(&Sequence::of(library.gatherv(root, &sizes)))?,
        ordered: run(&ordered::gatherv(root, &sizes)?)?,
    })
}

fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let Curve { library, ranks, blocks } = with.read()?;
    let mut curves = [("MPI_Gather", vec![]), ("MPI_Gatherv", vec![]), ("TUW_Gatherv", vec![])];
    for average in AVERAGES {
        let times = row(TableRow { library, ranks, blocks, average }, context)?;
        for ((_, curve), time) in curves.iter_mut().zip([times.gather, times.gatherv, times.ordered]) {
            curve.push(((average * UNIT) as f64, time));
        }
    }
    Ok(Drawing::Curves {
        x: Axis::log("average block, bytes"),
        y: Axis::log("microseconds"),
        curves: curves.into_iter().map(|(name, curve)| (name.to_string(), curve)).collect(),
    })
}
