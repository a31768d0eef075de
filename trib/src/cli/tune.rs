//! The options of `trib tune`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tributary::collectives::Operation;
use tributary::tuned::candidate::OPERATIONS;

use super::replay::Fabric;
use super::values;

/// Options of `trib tune`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct TuneOptions {
    /// What is tuned.
    #[command(subcommand)]
    pub what: What,
}

/// What can be tuned.
#[derive(Subcommand)]
pub enum What {
    /// Measure every collective algorithm, in groups of every factor of the ranks, and write the table of the fastest.
    #[command(after_help = COLLECTIVES)]
    Collectives(CollectivesOptions),
}

const COLLECTIVES: &str = "\
Each is repeated until the mean is known to --error with --confidence, by Student's t, but at most --most times.

Examples:
  trib tune collectives --ranks 8 --quick
      on threads, in seconds
  mpiexec -n 64 trib tune collectives --fabric mpi --output tuned.json
      on MPI (built with --features mpi)
  TRIB_HINTS=trib_tuned_table=tuned.json trib replay e3sm-f
      a replay whose agreements use the table";

/// Options of `trib tune collectives`.
#[derive(Args)]
pub struct CollectivesOptions {
    /// Number of ranks; 16 on threads. Under MPI it is mpiexec's.
    #[arg(long, value_name = "P", value_parser = values::threads)]
    pub ranks: Option<u64>,
    /// What carries the messages: threads of this process, or the processes that mpiexec started.
    #[arg(long, value_enum, default_value = "threads")]
    pub fabric: Fabric,
    /// Only this operation: broadcast, reduce, allreduce, gather, scatter. May be given often.
    #[arg(long = "operation", value_name = "NAME", value_parser = operation)]
    pub operations: Vec<Operation>,
    /// Bytes of the message, or of every rank's block: a multiple of 8. May be given often; by default 8, 1k, 16k and 256k.
    #[arg(long = "bytes", value_name = "SIZE", value_parser = values::size)]
    pub sizes: Vec<u64>,
    /// Repetitions at least; 5, if quick 3.
    #[arg(long, value_name = "N", value_parser = values::repetitions)]
    pub least: Option<u32>,
    /// Repetitions at most; 100, if quick 10.
    #[arg(long, value_name = "N", value_parser = values::repetitions)]
    pub most: Option<u32>,
    /// Confidence level of the mean.
    #[arg(long, value_name = "0..1", default_value_t = 0.95)]
    pub confidence: f64,
    /// Relative error of the mean that is good enough.
    #[arg(long, value_name = "PART", default_value_t = 0.025)]
    pub error: f64,
    /// Two sizes, few repetitions, and of the numbers of groups only the factor nearest to the square root of the ranks.
    #[arg(long)]
    pub quick: bool,
    /// Write the table here. Without it, it is printed.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object on standard output, all measurements in it, and nothing else.
    #[arg(long)]
    pub json: bool,
}

fn operation(text: &str) -> Result<Operation, String> {
    let found = OPERATIONS.into_iter().find(|operation| operation.to_string() == text);
    found.ok_or_else(|| format!("allowed: {}", OPERATIONS.map(|operation| operation.to_string()).join(", ")))
}
