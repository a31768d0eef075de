//! The options of `trib-lab sim` and `trib-lab bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use trib::cli::replay::Fabric;
use trib::cli::values::{amount, kernels, positive, ranks, repetitions, rounds, threads, times};
use trib::limits::MOST_BYTES;
use trib::source::Chosen;

/// The commands of the simulator.
#[derive(Subcommand)]
pub enum SimCommand {
    /// Simulate repeated all-to-many exchanges: every rank sends to every receiver.
    AllToMany(AllToManyArguments),
    /// Simulate a collective write of an application: metadata, rounds of data, placement, file servers.
    Write(WriteOptions),
    /// Compare throttles and a rank list on machines whose links are known: a table, in minutes.
    Throttles(ThrottlesOptions),
    /// List the machines, or show one: every number with its unit and source.
    Machines(MachinesOptions),
    /// Compare the simulator with measurements, row by row, or fit a machine's host parameters to them.
    Fit(FitOptions),
    /// Measure exchanges on this machine, fit the machine `laptop` to some of them, and predict the others.
    #[command(after_help = VALIDATE)]
    Validate(ValidateOptions),
}

const VALIDATE: &str = "\
Each time is the minimum over --repetitions. If there are more ranks than processors, ranks share them: an
exchange then takes at least the sum of all work divided by the processors (lab/docs/simulator.md#against-this-machine).

Examples:
  trib-lab sim validate --output laptop.toml
      measures on threads, in some seconds
  mpiexec -n 4 trib-lab sim validate --fabric mpi
      measures on MPI
  trib-lab sim validate --hosts 4 --captures benchmarks/captures --resume rows.jsonl
      measures whole writes and reads on emulated hosts, in minutes; a second run continues
  trib-lab sim all-to-many --machine laptop.toml --ranks 8 --receivers 2
      simulates an exchange on the fitted machine";

/// Options of `trib-lab sim all-to-many`.
#[derive(Args)]
pub struct AllToManyArguments {
    /// A machine of `trib-lab sim machines`, or a machine file.
    #[arg(long, value_name = "NAME|FILE", default_value = "cori-knl")]
    pub machine: String,
    /// Number of ranks.
    #[arg(long, value_name = "P", value_parser = ranks)]
    pub ranks: usize,
    /// Ranks of a node; by default the machine's.
    #[arg(long, value_name = "N")]
    pub ranks_per_node: Option<usize>,
    /// Number of receivers, spread evenly over the ranks.
    #[arg(long, value_name = "R", value_parser = ranks)]
    pub receivers: usize,
    #[arg(long, value_name = "NAME", default_value = "ascending_issend", help = kernels("The kernel"))]
    pub kernel: String,
    /// Local aggregators of a node (two_layer).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub local_aggregators: u64,
    /// Throttle: the maximum number of requests that a rank has outstanding; 0 for no limit. By default the kernel's.
    #[arg(long, value_name = "W")]
    pub throttle: Option<u32>,
    /// Throttle by a sliding limit, not in batches.
    #[arg(long)]
    pub window: bool,
    /// Number of exchanges, one after another without a barrier.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repetitions)]
    pub iterations: u32,
    /// Bytes of a message: one number, or a range from which each rank takes its own.
    #[arg(long, value_name = "MIN..MAX", default_value = "32..256", value_parser = range)]
    pub message: (u64, u64),
    /// Let connections cost nothing.
    #[arg(long)]
    pub no_connections: bool,
    /// Simulate the links between nodes, with contention: the machine's dragonfly or fat tree, static minimal routes.
    #[arg(long)]
    pub links: bool,
    /// Noise: standard deviation of costs and latencies, relative to the mean.
    #[arg(long, value_name = "SIGMA", value_parser = amount)]
    pub noise: Option<f64>,
    /// Seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Simulate nothing, but write the schedules in GOAL for LogGOPSim: as text if FILE ends with .goal, else binary.
    #[arg(long, value_name = "FILE")]
    pub goal: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The form of the metadata that ranks send to aggregators.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListForm {
    /// 16 bytes per request, merged by a heap at the aggregator, as in ROMIO.
    Pairs,
    /// Packed lists in a first part of fixed size and a rest, placed without merging, as in Tributary.
    Packed,
}

/// Options of `trib-lab sim write`.
#[derive(Args)]
pub struct WriteOptions {
    /// The pattern and its parameters, as in `trib replay`.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// How the write is simulated.
    #[command(flatten)]
    pub how: WriteHow,
}

/// How the write is simulated.
#[derive(Args)]
pub struct WriteHow {
    /// A machine of `trib-lab sim machines`, or a machine file.
    #[arg(long, global = true, value_name = "NAME|FILE", default_value = "cori-knl", help_heading = "How")]
    pub machine: String,
    /// Number of ranks.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, conflicts_with = "nodes", help_heading = "How")]
    pub ranks: Option<usize>,
    /// Number of nodes, all of them full; instead of --ranks.
    #[arg(long, global = true, value_name = "N", value_parser = ranks, help_heading = "How")]
    pub nodes: Option<usize>,
    /// Ranks of a node; by default the machine's.
    #[arg(long, global = true, value_name = "N", help_heading = "How")]
    pub ranks_per_node: Option<usize>,
    #[arg(long, global = true, value_name = "NAME", help_heading = "How", help = kernels("Kernel of both phases"))]
    pub kernel: Option<String>,
    /// Kernel of the metadata phase.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub metadata_kernel: Option<String>,
    /// Throttle of both phases.
    #[arg(long, global = true, value_name = "W", help_heading = "How")]
    pub throttle: Option<String>,
    /// Throttle steps of the kernel, sends and receives together, as the paper's implementation does. Tributary
    /// throttles sends and receives separately.
    #[arg(long, global = true, help_heading = "How")]
    pub throttle_steps: bool,
    /// Let the kernel pairwise exchange empty messages too, as the paper's implementation does.
    #[arg(long, global = true, help_heading = "How")]
    pub empty_steps: bool,
    /// File-system driver: lustre, gpfs or posix; by default the machine's.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub driver: Option<String>,
    /// Any hint of `trib hints`; may be repeated.
    #[arg(long = "hint", global = true, value_name = "KEY=VALUE", help_heading = "How")]
    pub hints: Vec<String>,
    /// Form of the metadata, and what an aggregator does with it.
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value = "packed", help_heading = "How")]
    pub list_form: ListForm,
    /// Exchange the next windows while earlier ones are written; `trib_write_buffers` windows are in memory.
    #[arg(long, global = true, help_heading = "How")]
    pub write_behind: bool,
    /// Let file I/O take no time.
    #[arg(long, global = true, help_heading = "How")]
    pub no_io: bool,
    /// Let connections cost nothing.
    #[arg(long, global = true, help_heading = "How")]
    pub no_connections: bool,
    /// Number of the pattern's collective call to simulate, from 0 on.
    #[arg(long, global = true, value_name = "N", default_value_t = 0, help_heading = "How")]
    pub call: usize,
    /// Simulate only this number of rounds, evenly spread, and scale their time up; 0: all rounds.
    #[arg(long, global = true, value_name = "N", default_value_t = 8, help_heading = "How")]
    pub sample: usize,
    /// Print JSON.
    #[arg(long, global = true, help_heading = "How")]
    pub json: bool,
}

/// Options of `trib-lab sim throttles`.
#[derive(Args)]
pub struct ThrottlesOptions {
    /// Simulate only the first cases.
    #[arg(long, value_name = "N", value_parser = ranks)]
    pub cases: Option<usize>,
}

/// Options of `trib-lab sim machines`.
#[derive(Args)]
pub struct MachinesOptions {
    /// The machine to show, or a machine file; by default all machines are listed.
    pub machine: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib-lab sim fit`.
#[derive(Args)]
pub struct FitOptions {
    /// Measurements: CSV files with the columns ranks_per_node, ranks, receivers, kernel, iterations, end_to_end_s and
    /// machine. Without the last, the machine is cori-knl.
    #[arg(value_name = "FILE", required = true)]
    pub measurements: Vec<PathBuf>,
    /// Start of the fit for all rows: a machine of `trib-lab sim machines`, or a machine file. By default the machine
    /// that a row names.
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Number of rounds of the fit; 0 only compares.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = rounds)]
    pub rounds: u32,
    /// Fit only rows of at most this number of messages, and predict the others.
    #[arg(long, value_name = "N", value_parser = positive)]
    pub largest: Option<u64>,
    /// Leave out each kernel, each number of ranks and each machine in turn, fit the other rows from rough costs, and
    /// predict what was left out.
    #[arg(long)]
    pub leave_out: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib-lab sim validate`.
#[derive(Args)]
pub struct ValidateOptions {
    /// Run ranks as threads of this process, or as processes that mpiexec started.
    #[arg(long, value_enum, default_value = "threads")]
    pub fabric: Fabric,
    /// Number of measurements of each exchange [default: 20, with --hosts 3].
    #[arg(long, value_name = "N", value_parser = times)]
    pub repetitions: Option<u64>,
    /// Number of rounds of the fit; 0 predicts with the machine `laptop` unchanged.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = rounds)]
    pub rounds: u32,
    /// Measure only a few small exchanges, to check in a second or two that it works.
    #[arg(long)]
    pub quick: bool,
    /// Write the fitted machine as a machine file.
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    pub output: Option<PathBuf>,
    /// Measure whole writes and reads on this number of emulated hosts of 4 ranks, with links and files of known rates,
    /// and compare them with the machine `hosts-lab`. As root, with an MPI library that `trib-lab hosts` takes.
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "fabric")]
    pub hosts: Option<u64>,
    /// Microseconds that each read or write of a file takes on the emulated hosts, beyond its bytes.
    #[arg(long, value_name = "US", default_value_t = 300, value_parser = times, requires = "hosts")]
    pub file_latency: u64,
    /// The machine that is compared with the emulated hosts: a machine of `trib-lab sim machines`, or a machine file.
    #[arg(long, value_name = "NAME|FILE", default_value = "hosts-lab", requires = "hosts")]
    pub machine: String,
    /// Add the captures e3sm-f, e3sm-g and e3sm-i of this folder, which are of 16 ranks.
    #[arg(long, value_name = "FOLDER", requires = "hosts")]
    pub captures: Option<PathBuf>,
    /// Also measure what the library chooses by itself, and what `trib-lab advise` finds with --machine.
    #[arg(long, requires = "hosts")]
    pub choice: bool,
    /// Keep what is measured in this file, and measure only what it does not have.
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub resume: Option<PathBuf>,
    /// Measure nothing: compare only with what the file of --resume has.
    #[arg(long, requires = "resume")]
    pub no_measure: bool,
    /// Measure the cases of this file, under mpiexec on emulated hosts.
    #[arg(long, value_name = "FILE", hide = true)]
    pub hosts_task: Option<PathBuf>,
    /// Print JSON; with --hosts, a line for each row.
    #[arg(long)]
    pub json: bool,
}

/// The measurements of `trib-lab bench`.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Measure speed and memory of the simulator on this machine.
    Sim(BenchSimOptions),
}

/// Options of `trib-lab bench sim`.
#[derive(Args)]
pub struct BenchSimOptions {
    /// Add a case of 1,048,576 ranks and 256 receivers.
    #[arg(long)]
    pub million: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once("..").unwrap_or((text, text));
    match (numbers.0.parse(), numbers.1.parse()) {
        (Ok(least), Ok(most)) if least <= most && most <= MOST_BYTES => Ok((least, most)),
        _ => Err(format!("allowed: a number of bytes, or MIN..MAX, up to {MOST_BYTES}")),
    }
}
