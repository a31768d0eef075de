//! The options of `trib sim` and `trib bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::replay::Fabric;
use super::values::{amount, kernels, positive, ranks, repetitions, rounds, times};
use crate::means::MOST_BYTES;
use crate::source::Chosen;

/// What the simulator does.
#[derive(Subcommand)]
pub enum SimCommand {
    /// Simulate an all-to-many exchange, again and again: every rank sends to every receiver.
    AllToMany(AllToManyArguments),
    /// Simulate a collective write of an application: lists, rounds of data, placement, file servers.
    Write(WriteOptions),
    /// List the machines; or one, with every number, its unit and its source.
    Machines(MachinesOptions),
    /// Compare the simulator with measurements, row by row; or fit a machine's host to them.
    Fit(FitOptions),
    /// Measure exchanges on this machine, fit the machine `laptop` to some of them and predict the others.
    #[command(after_help = VALIDATE)]
    Validate(ValidateOptions),
}

const VALIDATE: &str = "\
Each time is the least of --repetitions. Ranks beyond the processors share them: an exchange then takes no less than all work
over the processors (docs/laboratory/simulator.md#against-this-machine).

Examples:
  trib sim validate --output laptop.toml
      on threads, in some seconds
  mpiexec -n 4 trib sim validate --fabric mpi
      on MPI (built with --features mpi)
  trib sim all-to-many --machine laptop.toml --ranks 8 --receivers 2
      with the machine that was found";

/// Options of `trib sim all-to-many`.
#[derive(Args)]
pub struct AllToManyArguments {
    /// A machine of `trib sim machines`, or a machine file.
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
    /// Most requests of a rank outstanding; 0 for no limit. By default the kernel's.
    #[arg(long, value_name = "W")]
    pub throttle: Option<u32>,
    /// Keep the throttle as a sliding window, not in batches.
    #[arg(long)]
    pub window: bool,
    /// How often, one after the other without a barrier.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repetitions)]
    pub iterations: u32,
    /// Bytes of a message, from the fewest to the most of any rank.
    #[arg(long, value_name = "MIN..MAX", default_value = "32..256", value_parser = range)]
    pub message: (u64, u64),
    /// Let connections cost nothing.
    #[arg(long)]
    pub no_connections: bool,
    /// Let messages hold the links between nodes: the machine's dragonfly or fat tree, static minimal routes.
    #[arg(long)]
    pub links: bool,
    /// Standard deviation of costs and latencies, relative to the mean.
    #[arg(long, value_name = "SIGMA", value_parser = amount)]
    pub noise: Option<f64>,
    /// Seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write the schedules in GOAL, for LogGOPSim, and simulate nothing: text if FILE ends with .goal, else binary.
    #[arg(long, value_name = "FILE")]
    pub goal: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The form in which ranks tell aggregators what they have.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListForm {
    /// 16 bytes for every request, merged by a heap at the aggregator: ROMIO.
    Pairs,
    /// Packed lists, heads and tails, placed without merging: Tributary.
    Packed,
}

/// Options of `trib sim write`.
#[derive(Args)]
pub struct WriteOptions {
    /// The pattern and its parameters, as of `trib replay`.
    #[command(subcommand)]
    pub pattern: Chosen,
    /// What is simulated.
    #[command(flatten)]
    pub how: WriteHow,
}

/// How the write is simulated.
#[derive(Args)]
pub struct WriteHow {
    /// A machine of `trib sim machines`, or a machine file.
    #[arg(long, global = true, value_name = "NAME|FILE", default_value = "cori-knl", help_heading = "How")]
    pub machine: String,
    /// Number of ranks.
    #[arg(long, global = true, value_name = "P", value_parser = ranks, conflicts_with = "nodes", help_heading = "How")]
    pub ranks: Option<usize>,
    /// Number of nodes, all of them full.
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
    /// Keep the throttle over steps of the kernel, sends and receives together, as the paper's implementation does; not
    /// over sends and receives apart, as Tributary does.
    #[arg(long, global = true, help_heading = "How")]
    pub throttle_steps: bool,
    /// The kernel pairwise exchanges empty messages too, as the paper's does.
    #[arg(long, global = true, help_heading = "How")]
    pub empty_steps: bool,
    /// lustre or gpfs; by default the machine's.
    #[arg(long, global = true, value_name = "NAME", help_heading = "How")]
    pub driver: Option<String>,
    /// Any hint; may be given often. `trib hints` lists them.
    #[arg(long = "hint", global = true, value_name = "KEY=VALUE", help_heading = "How")]
    pub hints: Vec<String>,
    /// Form of the lists, and what an aggregator does with them.
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value = "packed", help_heading = "How")]
    pub list_form: ListForm,
    /// Go on exchanging while windows are written (`trib_write_buffers` of them in memory).
    #[arg(long, global = true, help_heading = "How")]
    pub write_behind: bool,
    /// Let writing to the file take no time.
    #[arg(long, global = true, help_heading = "How")]
    pub no_io: bool,
    /// Let connections cost nothing.
    #[arg(long, global = true, help_heading = "How")]
    pub no_connections: bool,
    /// Which of the pattern's collective calls, from 0 on.
    #[arg(long, global = true, value_name = "N", default_value_t = 0, help_heading = "How")]
    pub call: usize,
    /// Simulate so many rounds, spread evenly, and scale their time up; 0: all.
    #[arg(long, global = true, value_name = "N", default_value_t = 8, help_heading = "How")]
    pub sample: usize,
    /// Print JSON.
    #[arg(long, global = true, help_heading = "How")]
    pub json: bool,
}

/// Options of `trib sim machines`.
#[derive(Args)]
pub struct MachinesOptions {
    /// The machine to show, or a machine file; without it, all.
    pub machine: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib sim fit`.
#[derive(Args)]
pub struct FitOptions {
    /// Measurements: a CSV file with the columns ranks_per_node, ranks, receivers, kernel, iterations and end_to_end_s.
    #[arg(value_name = "FILE")]
    pub measurements: PathBuf,
    /// A machine of `trib sim machines`, or a machine file: where the fit begins.
    #[arg(long, value_name = "NAME|FILE", default_value = "cori-knl")]
    pub machine: String,
    /// Rounds of the fit; 0 compares only.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = rounds)]
    pub rounds: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib sim validate`.
#[derive(Args)]
pub struct ValidateOptions {
    /// What carries the messages: threads of this process, or the processes that mpiexec started.
    #[arg(long, value_enum, default_value = "threads")]
    pub fabric: Fabric,
    /// How often each exchange is measured.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = times)]
    pub repetitions: u64,
    /// Rounds of the fit; 0 predicts with the machine as it is.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = rounds)]
    pub rounds: u32,
    /// A few small exchanges, a few times: in a second or two, to see that it works.
    #[arg(long)]
    pub quick: bool,
    /// Write the fitted machine as a machine file.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What is measured.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Speed and memory of the simulator on this machine.
    Sim(BenchSimOptions),
}

/// Options of `trib bench sim`.
#[derive(Args)]
pub struct BenchSimOptions {
    /// Add 1,048,576 ranks to 256 receivers.
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
