//! `trib-lab guidelines`: the performance guidelines for irregular gather and scatter (irregular gather and scatter,
//! section 4).
//!
//! | guideline | says |
//! |---|---|
//! | (1) | MPI_Gather(m) <= MPI_Gatherv(m): where all blocks are equal, the regular operation is no slower |
//! | (2) | MPI_Gatherv(m) <= MPI_Allreduce(1) + MPI_Gather(m'): no slower than padding all blocks to the largest |
//!
//! and the same for scatter. One run checks the MPI library's operations and ours, over the six distributions of
//! section 5.
//!
//! | module | holds |
//! |---|---|
//! | `sizes` | the distributions |
//! | `benchmark` | the measurements on MPI |
//! | `judge` | violations, by the medians of pairs |
//! | `show` | the table and the JSON |

mod benchmark;
mod judge;
mod show;
mod sizes;

use trib::{Failure, say};

use crate::cli::guidelines::GuidelinesOptions;

/// Measures, and prints the report. Runs in every process.
pub fn run(options: &GuidelinesOptions) -> Result<(), Failure> {
    let world = tributary::fabric::mpi::initialise()?;
    let mut benchmark = benchmark::Benchmark::new(&world)?;
    let prints = benchmark.prints();
    let mut all = Vec::new();
    for &operation in &options.operations {
        for problem in sizes::problems(benchmark.ranks(), &options.blocks) {
            let times = benchmark.measure(operation, &problem, options.repetitions as usize);
            let times = times.map_err(|error| Failure::new(error).said_by(prints))?;
            let violations = judge::violations(operation, &problem, &times, options.slack);
            all.push(show::MeasuredProblem { operation, problem, times, violations });
        }
    }
    match (prints, options.json) {
        (false, _) => Ok(()),
        (true, true) => say(show::json(&benchmark, options, &all)),
        (true, false) => say(show::table(&benchmark, options, &all)),
    }
}
