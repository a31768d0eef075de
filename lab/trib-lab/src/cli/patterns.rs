//! The options of `trib-lab patterns` and `trib-lab picture`.

use std::path::PathBuf;

use clap::Args;

use trib::cli::values::{positive, ranks, size};
use trib::source::Chosen;

/// Options of `trib-lab patterns`.
#[derive(Args)]
pub struct PatternsOptions {
    /// The pattern to show, with its parameters; without it, all.
    #[command(subcommand)]
    pub pattern: Option<Chosen>,
    /// Number of ranks.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, help_heading = "Numbers")]
    pub ranks: Option<usize>,
    /// How the file is divided among aggregators.
    #[command(flatten)]
    pub division: DivisionOptions,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
}

/// The two ways in which a file is divided among aggregators.
#[derive(Args)]
pub struct DivisionOptions {
    /// Number of aggregators.
    #[arg(long, global = true, value_name = "A", default_value_t = 64, value_parser = positive, help_heading = "Numbers")]
    pub aggregators: u64,
    /// Bytes of a stripe (Lustre).
    #[arg(long, global = true, value_name = "SIZE", default_value = "1MiB", value_parser = size, help_heading = "Numbers")]
    pub stripe: u64,
    /// Bytes of a window (GPFS).
    #[arg(long, global = true, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = "Numbers")]
    pub window: u64,
}

/// Options of `trib-lab picture`.
#[derive(Args)]
pub struct PictureOptions {
    /// The pattern and its parameters. They must be small: a picture has some hundred cells.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// The part that is drawn.
    #[command(flatten)]
    pub drawing: Drawing,
    /// The file to write.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Picture")]
    pub output: Option<PathBuf>,
}

/// The part of a pattern that is drawn.
#[derive(Args)]
pub struct Drawing {
    /// Number of ranks.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, help_heading = "Picture")]
    pub ranks: Option<usize>,
    /// Offset of the first byte drawn; 0 by default. Without it and --bytes, the whole file is drawn, or, if most cells
    /// would be of several ranks, a part in which most are of one.
    #[arg(long, global = true, value_name = "OFFSET", help_heading = "Picture")]
    pub from: Option<u64>,
    /// Number of bytes drawn; all from --from on by default.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Picture")]
    pub bytes: Option<u64>,
    /// Bytes per row of the picture; 64 cells by default.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Picture")]
    pub row: Option<u64>,
    /// Bytes of a stripe; one row of the picture by default.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Picture")]
    pub stripe: Option<u64>,
    /// Number of aggregators, which own stripes round-robin; 2 by default.
    #[arg(long, global = true, value_name = "A", value_parser = positive, help_heading = "Picture")]
    pub aggregators: Option<u64>,
    /// Round of an exchange (wrf) to draw, from 0 on; by default the first with messages.
    #[arg(long, global = true, value_name = "N", help_heading = "Picture")]
    pub round: Option<usize>,
}

impl Drawing {
    /// Returns the number of aggregators, which own stripes round-robin.
    pub fn aggregators(&self) -> u64 {
        self.aggregators.unwrap_or(2)
    }

    /// Returns the name of the first given option that applies to files only.
    pub fn of_a_file(&self) -> Option<&'static str> {
        let given = [
            ("--from", self.from.is_some()),
            ("--bytes", self.bytes.is_some()),
            ("--row", self.row.is_some()),
            ("--stripe", self.stripe.is_some()),
            ("--aggregators", self.aggregators.is_some()),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    }
}

/// Options of `trib-lab lists`.
#[derive(Args)]
pub struct ListsOptions {
    /// The pattern and its parameters.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// Number of ranks, and the place of the lists.
    #[command(flatten)]
    pub place: ListsPlace,
}

/// Options of lists that all patterns share.
#[derive(Args)]
pub struct ListsPlace {
    /// Number of ranks; by default that of the pattern's own data, else 16.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, help_heading = "Lists")]
    pub ranks: Option<usize>,
    /// Path prefix of the files to write.
    #[arg(long, global = true, value_name = "PREFIX", help_heading = "Lists")]
    pub output: Option<PathBuf>,
}
