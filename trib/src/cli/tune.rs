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
    /// The part that is tuned.
    #[command(subcommand)]
    pub what: What,
}

/// The parts that can be tuned.
#[derive(Subcommand)]
pub enum What {
    /// Measure every collective algorithm with every number of groups that divides the ranks, and write the table of the
    /// fastest.
    #[command(after_help = COLLECTIVES)]
    Collectives(CollectivesOptions),
}

const COLLECTIVES: &str = "\
Each measurement is repeated until the mean is known to --error with --confidence, by Student's t, but at most
--most times.

Examples:
  trib tune collectives --ranks 8 --quick
      measures on threads, in seconds
  mpiexec -n 64 trib tune collectives --fabric mpi --output tuned.json
      measures on MPI (trib built with --features mpi)
  TRIB_HINTS=trib_tuned_table=tuned.json trib replay e3sm-f
      replays a pattern; its agreements use the table";

/// Options of `trib tune collectives`.
#[derive(Args)]
pub struct CollectivesOptions {
    /// Number of ranks; 16 by default. Under MPI, mpiexec sets it.
    #[arg(long, value_name = "P", value_parser = values::threads)]
    pub ranks: Option<u64>,
    /// How ranks run: as threads of this process, or as processes that mpiexec started.
    #[arg(long, value_enum, default_value = "threads")]
    pub fabric: Fabric,
    /// Measure only this operation: broadcast, reduce, allreduce, gather, scatter. May be repeated.
    #[arg(long = "operation", value_name = "NAME", value_parser = operation)]
    pub operations: Vec<Operation>,
    /// Bytes of the message, or of every rank's block: a multiple of 8. May be repeated; by default 8, 1k, 16k and 256k.
    #[arg(long = "bytes", value_name = "SIZE", value_parser = values::size)]
    pub sizes: Vec<u64>,
    /// Smallest number of repetitions; 5 by default, 3 with --quick.
    #[arg(long, value_name = "N", value_parser = values::repetitions)]
    pub least: Option<u32>,
    /// Largest number of repetitions; 100 by default, 10 with --quick.
    #[arg(long, value_name = "N", value_parser = values::repetitions)]
    pub most: Option<u32>,
    /// Confidence level of the mean.
    #[arg(long, value_name = "0..1", default_value_t = 0.95)]
    pub confidence: f64,
    /// Relative error of the mean at which repetition ends.
    #[arg(long, value_name = "PART", default_value_t = 0.025)]
    pub error: f64,
    /// Measure less: two sizes, few repetitions, and only the number of groups nearest to the square root of the ranks.
    #[arg(long)]
    pub quick: bool,
    /// Write the table to this file; by default it is printed.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object with all measurements on standard output, and nothing else.
    #[arg(long)]
    pub json: bool,
}

fn operation(text: &str) -> Result<Operation, String> {
    let found = OPERATIONS.into_iter().find(|operation| operation.to_string() == text);
    found.ok_or_else(|| format!("allowed: {}", OPERATIONS.map(|operation| operation.to_string()).join(", ")))
}
