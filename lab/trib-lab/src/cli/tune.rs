//! The options of `trib-lab tune`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use trib::cli::replay::Fabric;

use super::kernels::{KERNELS, KernelsOptions};
use trib::cli::values;

/// The commands of `trib-lab tune`.
#[derive(Subcommand)]
pub enum TuneCommand {
    /// Measure what messages cost on this machine, for the hint trib_machine: `auto` then chooses kernels by it.
    #[command(after_help = MACHINE)]
    Machine(MachineOptions),
    /// Simulate or measure writes with every kernel and with the choice of `auto`, and compare.
    #[command(after_help = KERNELS)]
    Kernels(Box<KernelsOptions>),
}

const MACHINE: &str = "\
Messages between nodes are measured; with one node, messages between its ranks. Takes less than a minute. Start as many
ranks on a node as your programs do: all of them are needed to fill its port. The table shows what was measured beside
what the library assumes without a file.

Examples:
  mpiexec -n 64 trib-lab tune machine --fabric mpi --output machine.json
      measures on MPI
  TRIB_HINTS=trib_machine=machine.json mpiexec -n 64 ./program
      the kernels of its files are chosen by the file";

/// Options of `trib-lab tune machine`.
#[derive(Args)]
pub struct MachineOptions {
    /// Number of ranks; 8 by default. Under MPI, mpiexec sets it.
    #[arg(long, value_name = "P", value_parser = values::threads)]
    pub ranks: Option<u64>,
    /// Run ranks as threads of this process, or as processes that mpiexec started.
    #[arg(long, value_enum, default_value = "threads")]
    pub fabric: Fabric,
    /// Pretend that every node has this number of consecutive ranks; 0: as the machine says.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub ranks_per_node: usize,
    /// Write the figures to this file; by default they are printed.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object with all that was measured on standard output, and nothing else.
    #[arg(long)]
    pub json: bool,
}
