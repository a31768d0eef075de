//! The options of `trib`, and the help one reads.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Collective I/O, from a laptop to a supercomputer: replay the write of a real code, verify it byte for byte, see where
/// the time goes, plan it for any number of ranks.
#[derive(Parser)]
#[command(version, max_term_width = 110, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trib replay e3sm-f --verify
      the climate model's write, 16 ranks as threads
  trib replay e3sm-f --map map.nc --driver lustre --kernel two_layer --ranks-per-node 4
      a real map, stripes, local aggregators on pretended nodes
  mpiexec -n 16 trib replay e3sm-f --fabric mpi --verify
      the same on MPI (built with --features mpi)
  trib replay e3sm-f --ranks 21600 --plan-only
      what production would exchange";

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Replay the collective write of an application.
    Replay(ReplayOptions),
    /// List all hints: value, default, unit, meaning.
    Hints(HintsOptions),
    /// Write a generated decomposition map in the format of E3SM-IO.
    Map(MapOptions),
}

/// Patterns that can be replayed.
#[derive(Clone, Copy, ValueEnum)]
pub enum PatternName {
    /// E3SM-IO, F case, history file h0: 414 variables, all-to-many for metadata and data.
    E3smF,
}

/// What carries the messages.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fabric {
    /// Ranks are threads of this process.
    Threads,
    /// Ranks are the processes that mpiexec started.
    Mpi,
}

/// Element type of the climate variables.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Element {
    /// 8 bytes, E3SM-IO's default.
    Double,
    /// 4 bytes, as in the paper.
    Float,
}

/// Options of `trib replay`.
#[derive(Args)]
pub struct ReplayOptions {
    /// The pattern.
    pub pattern: PatternName,

    /// Decomposition map (NetCDF classic). Without it: a small map of 16 ranks that is built in or, for any other number
    /// of ranks, generated decompositions.
    #[arg(long, value_name = "FILE", help_heading = "Pattern")]
    pub map: Option<PathBuf>,
    /// Number of ranks; the map's by default. Under MPI it is mpiexec's.
    #[arg(long, value_name = "P", help_heading = "Pattern")]
    pub ranks: Option<usize>,
    /// Run a map on another number of ranks than it was made for: ranks take several (or no) parts each.
    #[arg(long, help_heading = "Pattern")]
    pub fold: bool,
    /// Element type of the climate variables.
    #[arg(long = "type", value_enum, default_value = "double", value_name = "TYPE", help_heading = "Pattern")]
    pub element: Element,

    /// What carries the messages.
    #[arg(long, value_enum, default_value = "threads", help_heading = "How")]
    pub fabric: Fabric,
    /// Kernel of both phases; see also --kernel-meta and --kernel-data.
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub kernel: Option<String>,
    /// Kernel of the metadata phase.
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub kernel_meta: Option<String>,
    /// Kernel of the data phase.
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub kernel_data: Option<String>,
    /// Throttle of both phases: most sends, and most receives, a rank has outstanding.
    #[arg(long, value_name = "W", help_heading = "How")]
    pub throttle: Option<String>,
    /// File-system driver: auto, posix, lustre, gpfs.
    #[arg(long, value_name = "NAME", help_heading = "How")]
    pub driver: Option<String>,
    /// Pretend that nodes hold so many ranks.
    #[arg(long, value_name = "N", help_heading = "How")]
    pub ranks_per_node: Option<String>,
    /// Any hint; may be given often. `trib hints` lists them. Wins over TRIB_HINTS and TRIB_HINTS_FILE.
    #[arg(long = "hint", value_name = "KEY=VALUE", help_heading = "How")]
    pub hints: Vec<String>,

    /// Compare the file byte for byte with one written serially, from the same map, without any of the engine.
    #[arg(long, help_heading = "Result")]
    pub verify: bool,
    /// Only plan: requests, bytes, rounds, messages and metadata for any number of ranks. Writes nothing.
    #[arg(long, conflicts_with_all = ["verify", "output"], help_heading = "Result")]
    pub plan_only: bool,
    /// Keep the file here. Without it the file is temporary (in $TMPDIR) and removed at the end.
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    pub output: Option<PathBuf>,
    /// Print one JSON object on standard output, and nothing else.
    #[arg(long, help_heading = "Result")]
    pub json: bool,
}

/// Options of `trib hints`.
#[derive(Args)]
pub struct HintsOptions {
    /// Hints to show in force, on top of TRIB_HINTS_FILE and TRIB_HINTS.
    #[arg(long = "hint", value_name = "KEY=VALUE")]
    pub hints: Vec<String>,
    /// Print a JSON array.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib map`.
#[derive(Args)]
pub struct MapOptions {
    /// Number of ranks.
    #[arg(long, value_name = "P")]
    pub ranks: usize,
    /// Columns each rank owns.
    #[arg(long, default_value_t = 36)]
    pub columns_per_rank: u32,
    /// Runs in which it owns them.
    #[arg(long, default_value_t = 13)]
    pub groups: u32,
    /// Seed of the permutation of ranks.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
}
