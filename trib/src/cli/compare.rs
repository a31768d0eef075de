//! The options of `trib compare`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use regex::Regex;

use super::values::{amount, threads, timer, times};

/// Options of `trib compare`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct CompareOptions {
    /// A pattern to run; may be repeated. `--list` shows all patterns.
    #[arg(long = "pattern", value_name = "NAME", conflicts_with_all = ["all", "command"])]
    pub patterns: Vec<String>,
    /// Run all patterns.
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
    pub measure: MeasureOptions,
    /// Skip the measurements that are already in this file of JSON lines, and append the new ones.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub resume: Option<PathBuf>,
    /// Replace the tables between their two marker comments in this file; may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub markdown: Vec<PathBuf>,
    /// Print JSON: one object per line, for each pattern, number of ranks and directory.
    #[arg(long)]
    pub json: bool,
    /// How your program is measured.
    #[command(flatten)]
    pub program: ProgramOptions,
    /// Your program: the launcher with its options, the program and its arguments. {directory} is replaced by a new folder in
    /// --directory for each run.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How your program is measured.
#[derive(Args)]
pub struct ProgramOptions {
    /// Try hints for the MPI library, as for the patterns, and measure with the fastest hints too; with MPICH also without collective
    /// I/O. The hints reach the program through ROMIO_HINTS and PNETCDF_HINTS.
    #[arg(long, requires = "command", conflicts_with_all = ["patterns", "all"])]
    pub best: bool,
    /// A regular expression that finds the program's own time in its output; the first group is a number of seconds. Several
    /// matches are added.
    #[arg(long, value_name = "REGEX", value_parser = timer, requires = "command", conflicts_with_all = ["patterns", "all"])]
    pub timer: Option<Regex>,
    /// A shell command to run before each run; {directory} is replaced as in the command.
    #[arg(long, value_name = "COMMAND", requires = "command", conflicts_with_all = ["patterns", "all"])]
    pub prepare: Option<String>,
}

/// The MPI library and ours.
#[derive(Args)]
pub struct Tools {
    /// The MPI library, by the names that Debian gives its tools, such as mpicc.mpich.
    #[arg(long, value_enum, value_name = "MPI", conflicts_with_all = ["mpicc", "mpiexec"])]
    pub mpi: Option<MpiName>,
    /// The C compiler wrapper of the MPI library. Default: $MPICC, or mpicc.
    #[arg(long, value_name = "PROGRAM")]
    pub mpicc: Option<String>,
    /// The launcher of the MPI library. Default: $MPIEXEC, or mpiexec.
    #[arg(long, value_name = "PROGRAM")]
    pub mpiexec: Option<String>,
    /// The library to preload. Default: the library installed with this program.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Another library to compare with: a shell command in which {ranks}, {lists}, {file}, {parts}, {repeats} and {budget}
    /// are replaced. For your program: a command like yours, without quotes. May be repeated.
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub peers: Vec<String>,
}

/// What is measured, and how often.
#[derive(Args)]
pub struct MeasureOptions {
    /// Numbers of ranks.
    #[arg(long, value_name = "P,P,...", value_delimiter = ',', default_value = "2,16", value_parser = threads)]
    pub ranks: Vec<u64>,
    /// Give every N consecutive ranks a host name of their own, as on separate hosts. Linux only, for users who may create a
    /// UTS namespace (root).
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "command")]
    pub ranks_per_host: Option<u64>,
    /// Run everything on N emulated hosts: namespaces of this machine, each with a network, a host name and a /dev/shm of its own,
    /// which exist while the command runs. Linux only. Only root can make them; other users get host names only.
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "ranks_per_host")]
    pub hosts: Option<u64>,
    /// Limit the link of every host to this rate in both directions, in the notation of tc: 1gbit.
    #[arg(long, value_name = "RATE", requires = "hosts")]
    pub shape: Option<String>,
    /// Directory for the files; may be repeated. Default: with --hosts a tmpfs that the hosts share, otherwise /dev/shm (memory), or
    /// $TMPDIR.
    #[arg(long = "directory", value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Number of measurements of each library, in alternation.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = times)]
    pub pairs: u64,
    /// Maximum number of repetitions inside a run; the result is their median.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = times)]
    pub repeats: u64,
    /// A run starts no repetition after this number of seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.4, value_parser = amount)]
    pub budget: f64,
    /// Factor for the sizes of the patterns (except the E3SM cases).
    #[arg(long, value_name = "0..1", default_value_t = 1.0, value_parser = amount)]
    pub scale: f64,
    /// Decomposition map of E3SM's F case. Default: the small built-in map.
    #[arg(long, value_name = "FILE")]
    pub map_f: Option<PathBuf>,
    /// Decomposition map of E3SM's G case. Default: a generated map.
    #[arg(long, value_name = "FILE")]
    pub map_g: Option<PathBuf>,
    /// Decomposition map of E3SM's I case. Default: a generated map.
    #[arg(long, value_name = "FILE")]
    pub map_i: Option<PathBuf>,
    /// Start no measurement after this number of minutes; `--resume` continues.
    #[arg(long, value_name = "MINUTES", default_value_t = 25.0, value_parser = amount)]
    pub minutes: f64,
    /// Do not count system calls, which needs additional runs.
    #[arg(long)]
    pub no_system_calls: bool,
}

impl MeasureOptions {
    /// The map that was given for a pattern.
    pub fn map_of(&self, pattern: &str) -> Option<&Path> {
        match pattern {
            "e3sm-f" | "e3sm-f-over" => self.map_f.as_deref(),
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
trib compare runs every pattern in alternation with the MPI library alone, with the MPI library and its best hints, and
with the preload library. A ratio is the time of the other library divided by ours: above 1, ours is faster.

Examples:
  trib compare --mpi mpich --pattern btio --ranks 4
      measures one pattern
  trib compare --mpi openmpi --all --ranks 2 --resume rows.jsonl --markdown docs/performance.md
      measures all patterns and writes the table; the same command continues after an interruption
  trib compare --mpicc mpicc --mpiexec mpiexec --all --hosts 4 --ranks 16 --shape 1gbit
      measures all patterns on four emulated hosts with links of 1 Gbit/s
  trib compare -- mpiexec -n 4 ./program input
      measures your program, with and without the library
  trib compare --best --timer 'write time: (\\S+)' -- mpiexec -n 4 ./program -o {directory}/out
      measures also with the best hints of the MPI library, and uses the time that the program prints";
