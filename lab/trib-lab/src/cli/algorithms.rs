//! The options of `trib-lab algorithms`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use trib::cli::values::size;

/// Options of `trib-lab algorithms`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AlgorithmsOptions {
    /// What to do with one algorithm; without it, all are listed.
    #[command(subcommand)]
    pub command: Option<AlgorithmsCommand>,
    /// Number of ranks for which rounds, messages and bytes are counted.
    #[arg(long, value_name = "P", default_value_t = 16)]
    pub ranks: usize,
    /// Ranks per node.
    #[arg(long, value_name = "Q", default_value_t = 4)]
    pub ranks_per_node: usize,
    /// Bytes of a rank's block, or of the message of a broadcast or reduction.
    #[arg(long, value_name = "SIZE", default_value = "1KiB", value_parser = size)]
    pub bytes: u64,
    /// Print a JSON array.
    #[arg(long)]
    pub json: bool,
}

/// Command about one algorithm.
#[derive(Subcommand)]
pub enum AlgorithmsCommand {
    /// Draw the messages of an algorithm round by round, and the blocks that each rank then has, as SVG.
    Show(ShowOptions),
}

/// Options of `trib-lab algorithms show`.
#[derive(Args)]
pub struct ShowOptions {
    /// The algorithm.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Its operation, if several operations have an algorithm of that name.
    #[arg(long, value_name = "OPERATION")]
    pub operation: Option<String>,
    /// Number of ranks; by default those of the algorithm's example.
    #[arg(long, value_name = "P")]
    pub ranks: Option<usize>,
    /// Ranks of a node; by default those of the algorithm's example.
    #[arg(long, value_name = "Q")]
    pub ranks_per_node: Option<usize>,
    /// Root of the operation; by default that of the algorithm's example.
    #[arg(long, value_name = "RANK")]
    pub root: Option<usize>,
    /// The file to write; by default the picture is printed.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
