//! `trib-lab sim validate`: compares the simulator with this machine.
//!
//! The command measures exchanges, fits five parameters of the machine `laptop` to some of them, and predicts the
//! others, which have other kernels, ranks, receivers and sizes.
//!
//! | module | holds |
//! |---|---|
//! | `case` | the exchanges, and their simulation |
//! | `measure` | their measurement on a fabric |
//! | `file` | the machine file |
//! | `hosts` | whole writes and reads on emulated hosts |
//! | `show` | the table and the JSON |

mod case;
mod file;
mod hosts;
mod measure;
mod show;

use std::pin::pin;

use crate::machines::machine;
use crate::tune::writable;
use trib::Failure;
use trib::cli::replay::Fabric;
use trib::parallel::{parallel_map, processors};
use tributary::collectives::agree;
use tributary::fabric::{mpi, threads};
use tributary::{Endpoint, Error};
use tributary_lab::machines::MACHINES;
use tributary_lab::sim::Machine;

use super::descent::{Comparison, FittedParameter, descend};
use crate::cli::sim::ValidateOptions;
use case::ValidatedExchange;

/// Name of the machine from which the fit starts.
const MACHINE: &str = "laptop";
/// Default number of measurements of each exchange.
const REPETITIONS: u64 = 20;
/// Number of ranks on threads.
const RANKS: usize = 16;

/// The latency of all protocols and paths.
const LATENCY: FittedParameter = FittedParameter {
    name: "latency",
    places: |machine| {
        let lines = machine.paths.iter_mut().flat_map(|path| [&mut path.short, &mut path.eager, &mut path.rendezvous]);
        lines.map(|line| &mut line.latency).collect()
    },
};

/// Parameters that are fitted. All protocols have the same latency, and a byte costs sender and receiver the same.
const PARAMETERS: [FittedParameter; 5] = [
    FittedParameter { name: "host.send", places: |machine| vec![&mut machine.host.send] },
    FittedParameter { name: "host.post_receive", places: |machine| vec![&mut machine.host.post_receive] },
    FittedParameter { name: "host.receive", places: |machine| vec![&mut machine.host.receive] },
    LATENCY,
    FittedParameter {
        name: "byte",
        places: |machine| vec![&mut machine.host.send_byte, &mut machine.host.receive_byte],
    },
];

/// Measurements, fitted machine and predictions.
struct Validation {
    fabric: &'static str,
    machine: Machine,
    cases: Vec<ValidatedExchange>,
    measured: Vec<f64>,
    comparison: Comparison,
}

impl Validation {
    /// Returns the errors of the fitted cases, or of the predicted ones.
    fn errors(&self, fitted: bool) -> Vec<f64> {
        let of = self.cases.iter().zip(&self.comparison.errors);
        of.filter(|(case, _)| case.fitted == fitted).map(|(_, error)| *error).collect()
    }
}

/// Measures, fits, predicts and prints the result. Under MPI, runs in every process.
pub fn run(options: &ValidateOptions) -> Result<(), Failure> {
    if let Some(task) = &options.hosts_task {
        return hosts::under_mpi(task);
    }
    if let Some(hosts) = options.hosts {
        return hosts::run(options, hosts);
    }
    let repetitions = options.repetitions.unwrap_or(REPETITIONS);
    let repetitions = if options.quick { repetitions.min(3) } else { repetitions };
    if options.fabric == Fabric::Mpi {
        return on_mpi(options, repetitions);
    }
    writable(options.output.as_deref())?;
    let ranks = if options.quick { 4 } else { RANKS };
    let cases = case::all(ranks, options.quick);
    let measured = threads::run(ranks, |transport| measure::all(&mut Endpoint::new(transport), &cases, repetitions))?;
    let first = measured.into_iter().next().ok_or_else(|| Failure::new("no ranks"))?;
    finish(options, "threads", cases, first?)
}

/// Runs the command on MPI, in every process.
fn on_mpi(options: &ValidateOptions, repetitions: u64) -> Result<(), Failure> {
    let world = mpi::initialise()?;
    let mut endpoint = Endpoint::new(Box::new(world.endpoint()?));
    let (ranks, prints, waiting) = (endpoint.ranks(), endpoint.rank() == 0, endpoint.waiting().clone());
    let failed = |error: Error| Failure::new(error).said_by(prints);
    let ready = match (ranks, prints) {
        (1, _) => Err(Error::argument("ranks", 1, "2 or more, by mpiexec -n")),
        (_, true) => writable(options.output.as_deref()),
        _ => Ok(()),
    };
    waiting.wait(pin!(agree(&mut endpoint, ready))).map_err(failed)?;
    let cases = case::all(ranks, options.quick);
    let measured = measure::all(&mut endpoint, &cases, repetitions).map_err(failed)?;
    if prints { finish(options, "mpi", cases, measured) } else { Ok(()) }
}

fn finish(
    options: &ValidateOptions,
    fabric: &'static str,
    cases: Vec<ValidatedExchange>,
    measured: Vec<f64>,
) -> Result<(), Failure> {
    let cores = processors();
    let simulate = |machine: &Machine, of: &dyn Fn(&ValidatedExchange) -> bool| -> Result<Comparison, Failure> {
        let chosen: Vec<_> = cases.iter().zip(&measured).filter(|(case, _)| of(case)).collect();
        let seconds = parallel_map(&chosen, cores, |(case, _)| case.simulated(machine, cores));
        Ok(Comparison::of(seconds.into_iter().collect::<Result<_, _>>()?, chosen.iter().map(|(_, seconds)| **seconds)))
    };
    let mut machine = machine(MACHINE)?;
    begin(&mut machine);
    let fitted = |machine: &Machine| simulate(machine, &|case| case.fitted);
    let (machine, _) = descend(machine, &PARAMETERS, options.rounds, 2.0, Comparison::by_factor, fitted)?;
    let comparison = simulate(&machine, &|_| true)?;
    let validation = Validation { fabric, machine, cases, measured, comparison };
    if let Some(path) = &options.output {
        let before = MACHINES.iter().find(|(name, _)| *name == MACHINE).map_or("", |(_, text)| text);
        let text = file::text(&validation.machine, before, fabric);
        std::fs::write(path, text).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    }
    show::show(&validation, cores, options)
}

/// Adapts the machine to shared memory: processors move the bytes, not a wire, so a byte costs processor time, and all
/// paths are the same.
fn begin(machine: &mut Machine) {
    if machine.host.send_byte == 0.0 {
        (machine.host.send_byte, machine.host.receive_byte) = (100.0, 100.0);
    }
    for path in &mut machine.paths {
        for line in [&mut path.short, &mut path.eager, &mut path.rendezvous] {
            line.byte = 0.0;
        }
    }
}
