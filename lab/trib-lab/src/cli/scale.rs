//! The options of `trib-lab scale`.

use clap::Args;
use trib::cli::values::ranks;

/// Options of `trib-lab scale`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ScaleOptions {
    /// A program: e3sm-f, e3sm-g, btio, s3d, flash or ior, of a size for many ranks, or any pattern of `trib-lab patterns` with its
    /// parameters, in quotes. May be repeated; by default those six.
    #[arg(long = "program", value_name = "NAME")]
    pub programs: Vec<String>,
    /// Number of ranks; may be repeated.
    #[arg(long = "ranks", value_name = "P", value_parser = ranks, default_value = "1024")]
    pub ranks: Vec<usize>,
    /// A machine of `trib-lab sim machines`, or a machine file.
    #[arg(long, value_name = "NAME|FILE", default_value = "cori-knl")]
    pub machine: String,
    /// Ranks of a node; by default the machine's.
    #[arg(long, value_name = "N", value_parser = ranks)]
    pub ranks_per_node: Option<usize>,
    /// Any hint of `trib hints`; may be repeated. By default the engine chooses; a file on Lustre has stripes of 1 MiB on 64
    /// servers, or as many as ranks.
    #[arg(long = "hint", value_name = "KEY=VALUE")]
    pub hints: Vec<String>,
    /// Read what was written, and take the time of the read.
    #[arg(long)]
    pub read: bool,
    /// Let connections cost nothing.
    #[arg(long)]
    pub no_connections: bool,
    /// Seed of the order of ranks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON, a line for each run.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  trib-lab scale --program e3sm-f --ranks 1024 --machine cori-knl
      the write of E3SM's F case on 1,024 ranks of Cori, with the engine's own choices
  trib-lab scale --program 'btio --grid 256 --iterations 2' --ranks 256 --machine hosts-lab --json
      another size, on the emulated hosts of lab/docs/simulator.md";
