//! The options of `trib-lab import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trib::cli::values::amount;

/// Options of `trib-lab import`.
#[derive(Args)]
pub struct ImportOptions {
    /// Output of `darshan-dxt-parser LOG`, or records of PyDarshan as JSON (docs/reference/capture.md).
    #[arg(value_name = "FILE")]
    pub log: PathBuf,
    /// Import the calls on this file, named as in the log; required if the log has several files.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// Import calls of MPI-IO (the requests of ranks), or of the file system (the accesses of ranks or aggregators).
    /// Default: calls of MPI-IO, if the log has them for the file.
    #[arg(long, value_enum, value_name = "MODULE")]
    pub module: Option<TraceModule>,
    /// Maximum pause inside a call, in seconds: a longer time without a write of any rank ends the call.
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
