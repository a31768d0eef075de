//! The options of `trib-lab import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trib::cli::values::amount;

/// Options of `trib-lab import`.
#[derive(Args)]
pub struct ImportOptions {
    /// What `darshan-dxt-parser LOG` prints, or PyDarshan's records as JSON (docs/reference/capture.md).
    #[arg(value_name = "FILE")]
    pub log: PathBuf,
    /// The file whose calls are imported, as the log names it; must be given if the log has several.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// What was recorded: calls of MPI-IO (what ranks asked for), or of the file system (what ranks or aggregators did). By
    /// default those of MPI-IO, if the log has them for the file.
    #[arg(long, value_enum, value_name = "MODULE")]
    pub module: Option<TraceModule>,
    /// A pause of up to so many seconds, in which no rank writes, does not end a call.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = amount)]
    pub gap: f64,
    /// The capture to write.
    #[arg(long, value_name = "FILE", required = true)]
    pub output: PathBuf,
}

/// A module of Darshan's extended tracing.
#[derive(Clone, Copy, ValueEnum)]
pub enum TraceModule {
    /// DXT_MPIIO.
    Mpiio,
    /// DXT_POSIX.
    Posix,
}
