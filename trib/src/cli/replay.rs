//! The options that all replays share: they may stand before the pattern's name or behind it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values;
use crate::source::Chosen;

/// What carries the messages.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fabric {
    /// Ranks are threads of this process.
    Threads,
    /// Ranks are the processes that mpiexec started.
    Mpi,
}

/// How a rank's bytes lie in its memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Buffer {
    /// One after the other.
    Contiguous,
    /// With 16 bytes before, between and behind the extents of the file, which must stay as they are.
    Noncontiguous,
}

/// What the file is.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The pattern's bytes at their places, nothing else.
    Raw,
    /// A valid NetCDF classic file, through the PnetCDF-like writer (e3sm-*, flash, btio).
    Netcdf,
}

/// Options of `trib replay`.
#[derive(Args)]
pub struct ReplayOptions {
    /// The pattern and its parameters.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// How it is run.
    #[command(flatten)]
    pub how: How,
    /// What comes of it.
    #[command(flatten)]
    pub wanted: Wanted,
}

/// How a pattern is run.
#[derive(Args)]
pub struct How {
    /// Number of ranks; by default what the pattern's own data are for, else 16. Under MPI it is mpiexec's.
    #[arg(long, global = true, value_name = "P", value_parser = values::ranks, help_heading = "How")]
    pub ranks: Option<usize>,
    /// What carries the messages: threads of this process, or the processes that mpiexec started.
    #[arg(long, global = true, value_enum, default_value = "threads", help_heading = "How")]
    pub fabric: Fabric,
    #[arg(long, global = true, value_name = "NAME", help_heading = "How", help = values::kernels("Kernel of both phases"))]
    pub kernel: Option<String>,
    /// Kernel of the metadata phase.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub kernel_meta: Option<String>,
    /// Kernel of the data phase.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub kernel_data: Option<String>,
    /// Throttle of both phases: most sends, and most receives, a rank has outstanding.
    #[arg(long, global = true, value_name = "W", help_heading = "How")]
    pub throttle: Option<String>,
    /// File-system driver: auto, posix, lustre, gpfs.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub driver: Option<String>,
    /// Pretend that nodes hold so many ranks.
    #[arg(long, global = true, value_name = "N", help_heading = "How")]
    pub ranks_per_node: Option<String>,
    /// Any hint; may be given often. `trib hints` lists them. Wins over TRIB_HINTS, TRIB_HINTS_FILE and the like.
    #[arg(long = "hint", global = true, value_name = "KEY=VALUE", help_heading = "How")]
    pub hints: Vec<String>,
    /// How each rank's bytes lie in its memory: by default as the pattern has them; noncontiguous: with 16 bytes, which
    /// must stay as they are, before, between and behind the extents.
    #[arg(long, global = true, value_enum, value_name = "LAYOUT", help_heading = "How")]
    pub buffer: Option<Buffer>,
    /// What the file is: the pattern's bytes and nothing else, or NetCDF classic (e3sm-*, flash, btio).
    #[arg(long, global = true, value_enum, default_value = "raw", help_heading = "How")]
    pub format: Format,
}

/// What comes of a replay.
#[derive(Args)]
pub struct Wanted {
    /// Compare the file byte for byte with one written serially, from the same data, without any of the engine.
    #[arg(long, global = true, help_heading = "Result")]
    pub verify: bool,
    /// Read the file back collectively and compare every rank's buffer with what it wrote, gaps included.
    #[arg(long, global = true, conflicts_with_all = ["plan_only", "read_only"], help_heading = "Result")]
    pub read: bool,
    /// Write nothing: read this file collectively; with --verify, compare every rank's buffer with the pattern.
    #[arg(long, global = true, value_name = "FILE", conflicts_with_all = ["plan_only", "output"], help_heading = "Result")]
    pub read_only: Option<PathBuf>,
    /// Only plan: requests, bytes, rounds, messages and metadata for any number of ranks. Writes nothing.
    #[arg(long, global = true, conflicts_with_all = ["verify", "output"], help_heading = "Result")]
    pub plan_only: bool,
    /// Keep the file here. Without it the file is temporary (in $TMPDIR) and removed at the end.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Result")]
    pub output: Option<PathBuf>,
    /// Do not read the file once more for its SHA-256, which takes one rank a while where the file is large.
    #[arg(long, global = true, help_heading = "Result")]
    pub no_digest: bool,
    /// Print one JSON object on standard output, and nothing else.
    #[arg(long, global = true, help_heading = "Result")]
    pub json: bool,
}
