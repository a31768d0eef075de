//! `trib guidelines`: the performance guidelines for irregular gather and scatter (irregular gather and scatter, section 4).
//!
//! | guideline | says |
//! |---|---|
//! | (1) | MPI_Gather(m) <= MPI_Gatherv(m): where all blocks are equal, the regular operation is no slower |
//! | (2) | MPI_Gatherv(m) <= MPI_Allreduce(1) + MPI_Gather(m'): no slower than padding all blocks to the largest |
//!
//! and the same of scatter. Held to them are the MPI library's operations and ours, in one run, over the six distributions of
//! section 5.
//!
//! | module | holds |
//! |---|---|
//! | `sizes` | the distributions |
//! | `contest` | who is measured, and how, on MPI |
//! | `judge` | medians, and which contestant violates which guideline |
//! | `show` | the table and the JSON |

#[cfg(feature = "mpi")]
mod contest;
#[cfg(any(feature = "mpi", test))]
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "the report needs MPI"))]
mod judge;
#[cfg(feature = "mpi")]
mod show;
#[cfg(any(feature = "mpi", test))]
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "the report needs MPI"))]
mod sizes;

use crate::Failure;
use crate::cli::guidelines::GuidelinesOptions;

/// Says that there is no MPI to compare with.
#[cfg(not(feature = "mpi"))]
pub fn run(_options: &GuidelinesOptions) -> Result<(), Failure> {
    let what = "guidelines: compares with MPI's own collectives, and this trib was built without MPI";
    Err(Failure::new(format!("{what}; build with `cargo build --release --features mpi`, start with mpiexec")))
}

/// Measures and reports. Every process comes here.
#[cfg(feature = "mpi")]
pub fn run(options: &GuidelinesOptions) -> Result<(), Failure> {
    use crate::say;

    let world = tributary::fabric::mpi::initialise()?;
    let mut contest = contest::Contest::new(&world)?;
    let speaks = contest.speaks();
    let mut all = Vec::new();
    for &operation in &options.operations {
        for problem in sizes::problems(contest.ranks(), &options.blocks) {
            let times = contest.measure(operation, &problem, options.repetitions as usize);
            let times = times.map_err(|error| Failure::new(error).said_by(speaks))?;
            let violations = judge::violations(operation, &problem, &times, options.slack);
            all.push(show::Measured { operation, problem, times, violations });
        }
    }
    match (speaks, options.json) {
        (false, _) => Ok(()),
        (true, true) => say(show::json(&contest, options, &all)),
        (true, false) => say(show::table(&contest, options, &all)),
    }
}
