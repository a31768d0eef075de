//! The options of `trib-lab reproduce`.

use std::path::PathBuf;

use clap::Args;
use trib::cli::values::threads;

/// Options of `trib-lab reproduce`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ReproduceOptions {
    /// Papers: main, intergroup, locality, gather, thesis; all by default.
    #[arg(value_name = "PAPER")]
    pub papers: Vec<String>,
    /// Check only claims whose name contains TEXT, and draw only such figures.
    #[arg(long, value_name = "TEXT")]
    pub claim: Option<String>,
    /// Check only claims that are quick to measure: under a minute in all.
    #[arg(long)]
    pub quick: bool,
    /// List the claims and measure nothing.
    #[arg(long, conflicts_with_all = ["html", "figures"])]
    pub list: bool,
    /// Write an HTML page with the claims and the figures.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the figures into this directory, each as an SVG file.
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Number of claims measured at the same time; by default one per processor.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub jobs: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
A claim is `reproduced` if the measurement or simulation here keeps the bound that the paper
states. A claim that is not reproduced stays in the table, with the reason. The exit code is 1
if a verdict differs from the recorded one.

Examples:
  trib-lab reproduce --quick
      checks the claims that take under a minute in all
  trib-lab reproduce main --claim figure-5 --html figure5.html
      checks the claims of the main paper's figure 5, and writes a page with pictures: 5 minutes of
      processor time, 5 GB of memory
  trib-lab reproduce --html papers.html --figures pictures
      checks all claims: 17 minutes of processor time, and 21 for the figures by the engine";
