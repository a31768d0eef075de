//! The options of `trib-lab tune kernels`.

use std::path::PathBuf;

use clap::Args;
use trib::cli::replay::Fabric;
use trib::cli::values;

/// Text that `trib-lab tune kernels --help` prints after the options.
pub const KERNELS: &str = "\
A ratio is the time with auto divided by that of the best fixed choice, or of the default without auto (balanced in
both phases, under its own throttle). File I/O and connections cost nothing, so that only the exchange is compared.

Examples:
  trib-lab tune kernels --nodes 4
      every pattern on four machines, in a minute
  trib-lab tune kernels --resume rows.jsonl --markdown page.md
      all writes, in an hour or two, as a table in a page; goes on where it stopped
  trib-lab tune kernels --nodes 16 --choice trib_throttle_mode=batch --choice trib_throttle_data=8
      two throttles beside the default one
  mpiexec -n 16 trib-lab tune kernels --measure mpi
      measures here, on one, two and four pretended nodes";

/// Options of `trib-lab tune kernels`.
#[derive(Args)]
pub struct KernelsOptions {
    /// A machine of `trib-lab sim machines`, or a machine file. May be repeated; by default cori-knl, summit,
    /// perlmutter and frontier.
    #[arg(long = "machine", value_name = "NAME|FILE")]
    pub machines: Vec<String>,
    /// Number of nodes, all of them full. May be repeated; by default 1, 4, 16, 64 and 256.
    #[arg(long = "nodes", value_name = "N")]
    pub nodes: Vec<usize>,
    /// Maximum number of ranks: larger cases are left out.
    #[arg(long, value_name = "P", default_value_t = 20_000)]
    pub most: usize,
    /// Only these patterns, with their parameters in one word: `ior -t 16KiB -s 64`. May be repeated.
    #[arg(long = "pattern", value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// A folder of captures whose writes are repeated. Simulated: the largest call of each, on the largest multiple of
    /// its ranks that fits on the nodes. Measured: only captures of the same number of ranks. May be repeated. Without
    /// --pattern and --capture, all patterns are written.
    #[arg(long = "capture", value_name = "DIR")]
    pub captures: Vec<PathBuf>,
    /// Simulate balanced and these hints instead of all fixed choices. May be repeated.
    #[arg(long = "choice", value_name = "HINTS")]
    pub choices: Vec<String>,
    /// Simulate this number of rounds, spread evenly, and scale their time up; 0: all rounds.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub sample: usize,
    /// Keep results in this file, a JSON object a line, and do not simulate again what is in the file.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Write the table into this document, between its two comments. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub markdown: Vec<PathBuf>,
    /// Print one JSON object on standard output, and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Options of measured writes.
    #[command(flatten)]
    pub measured: Measured,
}

/// Options of measured writes.
#[derive(Args)]
#[command(next_help_heading = "Measured")]
pub struct Measured {
    /// Measure here instead of simulating: on threads of this process, or on the processes that mpiexec started.
    #[arg(long, value_enum, value_name = "FABRIC", conflicts_with_all = ["machines", "nodes", "most", "choices", "sample"])]
    pub measure: Option<Fabric>,
    /// Number of ranks; 8 by default. Under MPI, mpiexec sets it.
    #[arg(long, value_name = "P", value_parser = values::threads, requires = "measure")]
    pub ranks: Option<u64>,
    /// Pretend that every node has this number of ranks, a divisor of the number of ranks. May be repeated; by default
    /// all ranks, a half, and a quarter.
    #[arg(long, value_name = "N", requires = "measure")]
    pub ranks_per_node: Vec<usize>,
    /// Number of turns: in each turn, every choice writes once.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = values::times, requires = "measure")]
    pub turns: u64,
    /// Number of times that each file is written with the same calls: the first is measured separately, because later
    /// ones reuse its plans.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::times, requires = "measure")]
    pub passes: u64,
    /// The file that is written, which must not exist, and is removed at the end; by default in $TMPDIR.
    #[arg(long, value_name = "FILE", requires = "measure")]
    pub file: Option<PathBuf>,
}
