//! The options of `trib-lab compare`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use trib::cli::slow_file::SlowFileOptions;
use trib::cli::values::{amount, threads, times};

/// Options of `trib-lab compare`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct CompareOptions {
    /// A pattern to run; may be repeated. `--list` shows all patterns.
    #[arg(long = "pattern", value_name = "NAME", conflicts_with = "all")]
    pub patterns: Vec<String>,
    /// Run all patterns.
    #[arg(long)]
    pub all: bool,
    /// List the patterns and measure nothing.
    #[arg(long)]
    pub list: bool,
    /// The MPI library under comparison, and ours.
    #[command(flatten)]
    pub tools: Tools,
    /// Options that say what is measured.
    #[command(flatten)]
    pub measure: MeasureOptions,
    /// Skip the measurements that are already in this file of JSON lines, and append the new ones.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Replace the tables between their two marker comments in this file; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub markdown: Vec<PathBuf>,
    /// Print JSON: one object per line, for each pattern, number of ranks and directory.
    #[arg(long)]
    pub json: bool,
}

/// Options for the MPI library and ours.
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
    /// Another library to compare with: a shell command in which {ranks}, {lists}, {file}, {parts}, {repeats} and
    /// {budget} are filled in. May be repeated.
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub peers: Vec<String>,
}

/// Parses a number of processors of a host.
pub fn cores(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..=1024.0).contains(number));
    number.ok_or_else(|| "allowed: 0.01 to 1024".to_string())
}

/// Options that say what is measured, and how often.
#[derive(Args)]
pub struct MeasureOptions {
    /// Numbers of ranks.
    #[arg(long, value_name = "P,P,...", value_delimiter = ',', default_value = "2,16", value_parser = threads)]
    pub ranks: Vec<u64>,
    /// Give every N consecutive ranks a host name of their own, as on separate hosts. Linux only, for users who may
    /// create a UTS namespace (root).
    #[arg(long, value_name = "N", value_parser = threads)]
    pub ranks_per_host: Option<u64>,
    /// Run everything on N emulated hosts: namespaces of this machine, each with a network, a host name and a /dev/shm
    /// of its own, which exist while the command runs. Linux only. Only root can make them; other users get host names
    /// only.
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "ranks_per_host")]
    pub hosts: Option<u64>,
    /// Limit the link of every host to this rate in both directions, in the notation of tc: 1gbit.
    #[arg(long, value_name = "RATE", requires = "hosts")]
    pub shape: Option<String>,
    /// Let each emulated host use this number of processors, such as 0.5. Otherwise a host uses the time of others whose ranks
    /// wait.
    #[arg(long, value_name = "N", requires = "hosts", value_parser = cores)]
    pub cores: Option<f64>,
    /// A slow file system.
    #[command(flatten)]
    pub slow_file: SlowFileOptions,
    /// Directory for the files; may be repeated. Default: with --hosts a tmpfs that the hosts share, otherwise /dev/shm
    /// (memory), or $TMPDIR.
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
    /// Returns the decomposition map that was given for a pattern.
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
Every pattern is run in alternation by the MPI library alone, by the MPI library with its best hints, and with
the preload library. A ratio is another library's time divided by ours, pair by pair: above 1 ours is faster.

Examples:
  trib-lab compare --mpi mpich --pattern btio --ranks 4
      measures one pattern
  trib-lab compare --mpi openmpi --all --ranks 2 --resume rows.jsonl --markdown page.md
      measures all patterns and writes the table; the same command continues after an interruption
  trib-lab compare --mpicc mpicc --mpiexec mpiexec --all --hosts 4 --ranks 16 --shape 1gbit
      measures all patterns on four emulated hosts with links of 1 Gbit/s
  trib-lab compare --pattern btio --hosts 4 --ranks 16 --shape 200mbit --file-rate 25000000 --file-latency 300
      measures one pattern where links and files are slow, and says how far each library is from the longer floor

With --file-rate a command of --peer has LD_PRELOAD and TRIB_COMPARE_FILE in its environment, which its ranks must get, too.";
