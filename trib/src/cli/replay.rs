//! The options that all replays share. They may come before or after the pattern's name.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values;
use crate::source::Chosen;

/// Fabric on which the ranks of a replay run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fabric {
    /// Ranks are threads of this process.
    Threads,
    /// Ranks are the processes that mpiexec started.
    Mpi,
}

/// Layout of a rank's bytes in memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryLayout {
    /// Contiguous memory.
    Contiguous,
    /// Memory with gaps of 16 bytes before, between and after the extents. The gaps must not change.
    Noncontiguous,
}

/// The format of the file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// Only the pattern's bytes, at their offsets.
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
    /// How the pattern runs.
    #[command(flatten)]
    pub how: How,
    /// Results.
    #[command(flatten)]
    pub wanted: Wanted,
}

/// How a pattern runs.
#[derive(Args)]
pub struct How {
    /// Number of ranks. Default: the number in the pattern's own data, or 16. With --fabric mpi, mpiexec sets it.
    #[arg(long, global = true, value_name = "P", value_parser = values::ranks, help_heading = "How")]
    pub ranks: Option<usize>,
    /// Run ranks as threads of this process, or as processes that mpiexec started.
    #[arg(long, global = true, value_enum, default_value = "threads", help_heading = "How")]
    pub fabric: Fabric,
    #[arg(long, global = true, value_name = "NAME", help_heading = "How", help = values::kernels("Kernel of both phases"))]
    #[expect(missing_docs, reason = "the help is made of the registry")]
    pub kernel: Option<String>,
    /// Kernel of the metadata phase.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub kernel_meta: Option<String>,
    /// Kernel of the data phase.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub kernel_data: Option<String>,
    /// Throttle of both phases: maximum number of outstanding sends of a rank, and of outstanding receives.
    #[arg(long, global = true, value_name = "W", help_heading = "How")]
    pub throttle: Option<String>,
    /// File-system driver: auto, posix, lustre, gpfs, nfs.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub driver: Option<String>,
    /// Treat every N consecutive ranks as one node.
    #[arg(long, global = true, value_name = "N", help_heading = "How")]
    pub ranks_per_node: Option<String>,
    /// Any hint of `trib hints`; may be repeated. It overrides TRIB_HINTS, TRIB_HINTS_FILE and other sources of hints.
    #[arg(long = "hint", global = true, value_name = "KEY=VALUE", help_heading = "How")]
    pub hints: Vec<String>,
    /// Layout of each rank's memory. Default: the pattern's. noncontiguous: with gaps of 16 bytes before, between and
    /// after the extents; the replay checks that the gaps do not change.
    #[arg(long, global = true, value_enum, value_name = "LAYOUT", help_heading = "How")]
    pub buffer: Option<MemoryLayout>,
    /// Format of the file: only the bytes of the pattern, or NetCDF classic (e3sm-*, flash, btio).
    #[arg(long, global = true, value_enum, default_value = "raw", help_heading = "How")]
    pub format: FileFormat,
}

/// Results of a replay.
#[derive(Args)]
pub struct Wanted {
    /// Compare the file byte for byte with a file that one process writes without the library.
    #[arg(long, global = true, help_heading = "Result")]
    pub verify: bool,
    /// Read the file back collectively and compare each rank's buffer, with its gaps, with the buffer that it wrote.
    #[arg(long, global = true, conflicts_with_all = ["plan_only", "read_only"], help_heading = "Result")]
    pub read: bool,
    /// Write nothing; read this file collectively. With --verify, compare each rank's buffer with the pattern.
    #[arg(long, global = true, value_name = "FILE", conflicts_with_all = ["plan_only", "output"], help_heading = "Result")]
    pub read_only: Option<PathBuf>,
    /// Write nothing; count requests, bytes, rounds, messages and metadata, for any number of ranks.
    #[arg(long, global = true, conflicts_with_all = ["verify", "output"], help_heading = "Result")]
    pub plan_only: bool,
    /// Write this file and keep it. Default: a file in $TMPDIR, removed at the end.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Result")]
    pub output: Option<PathBuf>,
    /// Do not compute the SHA-256 of the file, because one rank reads the whole file for it.
    #[arg(long, global = true, help_heading = "Result")]
    pub no_digest: bool,
    /// Print one JSON object on standard output, and nothing else.
    #[arg(long, global = true, help_heading = "Result")]
    pub json: bool,
}
