//! The options of `trib-lab advise`.

use std::path::PathBuf;

use clap::Args;

use trib::cli::values::ranks;

/// Options of `trib-lab advise`.
#[derive(Args)]
pub struct AdviseOptions {
    /// The capture (`TRIB_CAPTURE=DIR` makes one).
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// The machine: one of `trib-lab sim machines`, a machine file, or the file of `trib-lab tune machine`.
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: String,
    /// A machine whose file servers hold the file, such as cori-knl (Lustre) or summit (GPFS). By default those of
    /// --machine; where the machine has none, as in the file of `trib-lab tune machine`, file I/O takes no time.
    #[arg(long, value_name = "NAME|FILE")]
    pub storage: Option<String>,
    /// Number of ranks, a multiple of the capture's: each of its ranks becomes several that do as much. Default: the
    /// capture's number.
    #[arg(long, value_name = "P", value_parser = ranks)]
    pub ranks: Option<usize>,
    /// Ranks of a node; by default the machine's.
    #[arg(long, value_name = "N")]
    pub ranks_per_node: Option<usize>,
    /// The write of the capture that advice is for, from 0 on; by default the one with the most bytes.
    #[arg(long, value_name = "N")]
    pub call: Option<usize>,
    /// Simulate this number of rounds of each candidate, spread evenly, and scale their time up; 0: all rounds [default: 2].
    /// Where every node has a file system of its own, as on the machine hosts-lab, the engine runs: always all rounds.
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Hints that are set anyway; may be given often.
    #[arg(long = "hint", value_name = "KEY=VALUE")]
    pub hints: Vec<String>,
    /// Write the hints to this file, for TRIB_HINTS_FILE.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object: the advice and every candidate.
    #[arg(long)]
    pub json: bool,
}
