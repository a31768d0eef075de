//! The options of `trib reproduce`.

use std::path::PathBuf;

use clap::Args;

use super::values::threads;

/// Options of `trib reproduce`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ReproduceOptions {
    /// Papers: main, intergroup, locality, gather, thesis; without any, all.
    #[arg(value_name = "PAPER")]
    pub papers: Vec<String>,
    /// Only claims whose name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    pub claim: Option<String>,
    /// Only claims that are measured at once; under a minute together.
    #[arg(long)]
    pub quick: bool,
    /// List the claims and measure nothing.
    #[arg(long, conflicts_with_all = ["html", "figures"])]
    pub list: bool,
    /// Write a page with the claims and the figures.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the figures, an SVG each.
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Claims measured at a time; by default one a processor.
    #[arg(long, value_name = "N", value_parser = threads)]
    pub jobs: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
A claim is `reproduced` if what is measured or simulated here keeps the bound that the paper's
words give. One that is not stays in the table, with the reason. The exit code is 1 if a verdict
differs from the one that was found last.

Examples:
  trib reproduce --quick
      what takes under a minute
  trib reproduce main --claim figure-5 --html figure5.html
      what the main paper's figure 5 says, as a page with pictures
  trib reproduce --html papers.html --figures pictures
      everything: some 17 minutes of processor time, on all processors, and 6 GB of memory";
