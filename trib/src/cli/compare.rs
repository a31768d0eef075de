//! The options of `trib compare`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::values::{amount, threads, times};

/// Options of `trib compare`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct CompareOptions {
    /// A pattern; may be given often. `--list` names them.
    #[arg(long = "pattern", value_name = "NAME", conflicts_with_all = ["all", "command"])]
    pub patterns: Vec<String>,
    /// All patterns.
    #[arg(long, conflicts_with = "command")]
    pub all: bool,
    /// List the patterns and measure nothing.
    #[arg(long)]
    pub list: bool,
    /// The MPI and the libraries.
    #[command(flatten)]
    pub tools: Tools,
    /// What is measured.
    #[command(flatten)]
    pub extent: Extent,
    /// A file of JSON lines: what it has is not measured again, what is measured is appended.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub resume: Option<PathBuf>,
    /// Write the tables between their two marker comments in this file; may be given often.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub markdown: Vec<PathBuf>,
    /// Print JSON: an object a line for each pattern, number of ranks and directory.
    #[arg(long)]
    pub json: bool,
    /// Directory with the rows that the job scripts of benchmarks/batch wrote: draw the main paper's figures 4 and 5 for
    /// that machine, and measure nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "patterns", "all", "list"])]
    pub from: Option<PathBuf>,
    /// Where those figures and their page go; by default the directory of the rows.
    #[arg(long, value_name = "DIR", requires = "from")]
    pub output: Option<PathBuf>,
    /// A program of yours: its launcher, itself and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The MPI library and ours.
#[derive(Args)]
pub struct Tools {
    /// The MPI library, by the names that distributions give its tools.
    #[arg(long, value_enum, value_name = "MPI", conflicts_with_all = ["mpicc", "mpiexec"])]
    pub mpi: Option<MpiName>,
    /// Its compiler wrapper for C; by default $MPICC or mpicc.
    #[arg(long, value_name = "PROGRAM")]
    pub mpicc: Option<String>,
    /// Its launcher; by default $MPIEXEC or mpiexec.
    #[arg(long, value_name = "PROGRAM")]
    pub mpiexec: Option<String>,
    /// The library to preload; by default it is looked for beside this program.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Another peer for the patterns: a command of the shell in which {ranks}, {lists}, {file}, {parts}, {repeats} and
    /// {budget} are filled in; may be given often.
    #[arg(long = "peer", value_name = "NAME=COMMAND", conflicts_with = "command")]
    pub peers: Vec<String>,
}

/// What is measured, and how often.
#[derive(Args)]
pub struct Extent {
    /// Numbers of ranks.
    #[arg(long, value_name = "P,P,...", value_delimiter = ',', default_value = "2,16", value_parser = threads)]
    pub ranks: Vec<u64>,
    /// Pretend hosts: so many consecutive ranks get a host name of their own, by which MPI libraries and ours tell hosts apart.
    /// Linux only, for users who may make a UTS namespace (root).
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "command")]
    pub ranks_per_host: Option<u64>,
    /// Where the files are written; may be given often. By default memory (/dev/shm), or else $TMPDIR.
    #[arg(long = "directory", value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// How often each is measured, in turns.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = times)]
    pub pairs: u64,
    /// Repetitions inside of a run at most; their median counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = times)]
    pub repeats: u64,
    /// Seconds after which a run repeats nothing more.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.4, value_parser = amount)]
    pub budget: f64,
    /// Sizes as a part of the usual ones (the E3SM cases keep theirs).
    #[arg(long, value_name = "0..1", default_value_t = 1.0, value_parser = amount)]
    pub scale: f64,
    /// Decomposition map of E3SM's F case; by default the small one that is built in.
    #[arg(long, value_name = "FILE")]
    pub map_f: Option<PathBuf>,
    /// Decomposition map of E3SM's G case; by default a generated one.
    #[arg(long, value_name = "FILE")]
    pub map_g: Option<PathBuf>,
    /// Decomposition map of E3SM's I case; by default a generated one.
    #[arg(long, value_name = "FILE")]
    pub map_i: Option<PathBuf>,
    /// Minutes after which nothing more is begun; `--resume` goes on.
    #[arg(long, value_name = "MINUTES", default_value_t = 25.0, value_parser = amount)]
    pub minutes: f64,
    /// Do not count system calls, which takes runs of its own.
    #[arg(long)]
    pub no_system_calls: bool,
}

impl Extent {
    /// The map that was given for a pattern.
    pub fn map_of(&self, pattern: &str) -> Option<&Path> {
        match pattern {
            "e3sm-f" => self.map_f.as_deref(),
            "e3sm-g" => self.map_g.as_deref(),
            "e3sm-i" => self.map_i.as_deref(),
            _ => None,
        }
    }
}

/// An MPI library whose tools have known names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MpiName {
    /// mpicc.mpich and mpiexec.mpich.
    Mpich,
    /// mpicc.openmpi and mpiexec.openmpi.
    #[value(name = "openmpi")]
    OpenMpi,
}

const EXAMPLES: &str = "\
Every pattern is run by the MPI library alone, by it with its best hints, and with the preload library,
in turns. A ratio is a peer's time divided by ours, pair by pair: above 1 ours is faster.

Examples:
  trib compare --mpi mpich --pattern btio --ranks 4
      one pattern
  trib compare --mpi openmpi --all --ranks 2 --resume rows.jsonl --markdown docs/performance.md
      all of them, and the table; goes on where it was interrupted
  trib compare -- mpiexec -n 4 ./program input
      a program of yours, with and without the library";
