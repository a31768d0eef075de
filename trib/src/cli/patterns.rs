//! The options of `trib patterns` and `trib picture`.

use std::path::PathBuf;

use clap::Args;

use super::values::{positive, ranks, size};
use crate::source::Chosen;

/// Options of `trib patterns`.
#[derive(Args)]
pub struct PatternsOptions {
    /// The pattern to show, with its parameters; without it, all.
    #[command(subcommand)]
    pub pattern: Option<Chosen>,
    /// Number of ranks.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, help_heading = "Numbers")]
    pub ranks: Option<usize>,
    /// How the file is divided.
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

/// Options of `trib picture`.
#[derive(Args)]
pub struct PictureOptions {
    /// The pattern and its parameters. Small ones: a picture has some hundred cells.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// What is drawn, and where to.
    #[command(flatten)]
    pub drawing: Drawing,
    /// The file to write.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Picture")]
    pub output: Option<PathBuf>,
}

/// What is drawn.
#[derive(Args)]
pub struct Drawing {
    /// Number of ranks.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, help_heading = "Picture")]
    pub ranks: Option<usize>,
    /// First byte of the file that is drawn; 0 by default.
    #[arg(long, global = true, value_name = "OFFSET", help_heading = "Picture")]
    pub from: Option<u64>,
    /// Bytes of the file that are drawn; all by default.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Picture")]
    pub bytes: Option<u64>,
    /// Bytes of a row of the picture; by default 64 cells.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Picture")]
    pub row: Option<u64>,
    /// Bytes of a stripe; by default a row of the picture.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Picture")]
    pub stripe: Option<u64>,
    /// Number of aggregators that the stripes are dealt to; 2 by default.
    #[arg(long, global = true, value_name = "A", value_parser = positive, help_heading = "Picture")]
    pub aggregators: Option<u64>,
    /// The round of an exchange that is drawn, from 0 on; by default the first with messages.
    #[arg(long, global = true, value_name = "N", help_heading = "Picture")]
    pub round: Option<usize>,
}

impl Drawing {
    /// First byte of the file that is drawn.
    pub fn from(&self) -> u64 {
        self.from.unwrap_or(0)
    }

    /// Number of aggregators that the stripes are dealt to.
    pub fn aggregators(&self) -> u64 {
        self.aggregators.unwrap_or(2)
    }

    /// The first option that is given and makes sense for a file alone.
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

/// Options of `trib lists`.
#[derive(Args)]
pub struct ListsOptions {
    /// The pattern and its parameters.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// For whom, and where.
    #[command(flatten)]
    pub place: ListsPlace,
}

/// Options of lists that all patterns share.
#[derive(Args)]
pub struct ListsPlace {
    /// Number of ranks; by default what the pattern's own data are for, else 16.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, help_heading = "Lists")]
    pub ranks: Option<usize>,
    /// What the names of the files begin with.
    #[arg(long, global = true, value_name = "PREFIX", help_heading = "Lists")]
    pub output: Option<PathBuf>,
}
