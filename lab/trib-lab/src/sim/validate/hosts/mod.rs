//! `trib-lab sim validate --hosts`: compares the simulator with whole writes and reads on emulated hosts, whose links and
//! files have known rates.
//!
//! | module | holds |
//! |---|---|
//! | `case` | the writes and reads, and which of them are fitted |
//! | `choice` | which case the simulator would choose, and how far it and the library's own are from the best |
//! | `measure` | their measurement on emulated hosts |
//! | `predict` | their simulation |
//! | `show` | the table and the JSON lines |

mod case;
mod choice;
mod measure;
mod predict;
mod show;

use trib::Failure;
use trib::parallel::{parallel_map, processors};
use tributary_lab::sim::Machine;

use self::case::{HostsCase, RowDirection};
use self::measure::MeasuredCase;
use self::predict::KnownCase;
use super::super::descent::{Comparison, FittedParameter, descend, worst};
use super::LATENCY;
use crate::cli::sim::ValidateOptions;
use crate::kernels::{keep, known};
use crate::machines::machine;

pub use measure::under_mpi;

/// Number of picoseconds in a microsecond.
const MICRO: f64 = 1e6;
/// Default number of measurements of a case.
const REPETITIONS: u64 = 3;

/// Parameters that are fitted, the same for all rows. Rates and latencies of links and files are known.
const PARAMETERS: [FittedParameter; 5] = [
    FittedParameter {
        name: "message",
        places: |machine| {
            let host = &mut machine.host;
            vec![&mut host.send, &mut host.receive, &mut host.control]
        },
    },
    FittedParameter {
        name: "message byte",
        places: |machine| {
            let host = &mut machine.host;
            vec![&mut host.send_byte, &mut host.receive_byte, &mut host.rendezvous_byte]
        },
    },
    FittedParameter { name: "host.copy_byte", places: |machine| vec![&mut machine.host.copy_byte] },
    FittedParameter { name: "requests.visit", places: |machine| vec![&mut machine.requests.visit] },
    LATENCY,
];

/// One measured and predicted write or read.
pub struct Row {
    /// The case.
    pub case: HostsCase,
    /// Direction of the row.
    pub direction: RowDirection,
    /// Measured seconds: the minimum of all measurements, because other programs only add to it.
    pub measured: f64,
    /// Maximum of all measurements.
    pub most: f64,
    /// Simulated seconds.
    pub simulated: f64,
}

impl Row {
    /// Returns true if the machine was fitted to this row.
    pub fn is_fitted(&self) -> bool {
        self.case.is_fitted(self.direction)
    }

    /// Returns the relative error.
    pub fn error(&self) -> f64 {
        (self.simulated - self.measured).abs() / self.measured
    }
}

/// Measures, fits, predicts and prints the result.
///
/// # Errors
/// Hosts cannot be made; a run or a simulation fails; files that cannot be read or written.
pub fn run(options: &ValidateOptions, hosts: u64) -> Result<(), Failure> {
    let quick = options.quick;
    let ranks = case::ranks(hosts, quick);
    let mut machine = machine(&options.machine)?;
    machine.processors = Some(processors());
    if let Some(storage) = &mut machine.storage {
        storage.latency = options.file_latency as f64 * MICRO;
    }
    let mut cases = case::all(hosts, options.captures.as_deref(), quick)?;
    if options.choice {
        cases.extend(chosen(&machine, &cases, hosts, ranks)?);
    }
    let measured = measured(options, hosts, &cases)?;
    if let (true, Some(path)) = (measured.is_empty(), &options.resume) {
        return Err(Failure::new(format!(
            "resume: {} has no measurement of {hosts} hosts; allowed: what an earlier run kept",
            path.display()
        )));
    }
    let known = measured.iter().map(|measured| KnownCase::new(&measured.case, hosts, ranks));
    let known: Vec<KnownCase> = known.collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for (at, measured) in measured.iter().enumerate() {
        for (direction, seconds) in [(RowDirection::Write, &measured.write), (RowDirection::Read, &measured.read)] {
            let Some(least) = seconds.iter().copied().min_by(f64::total_cmp) else { continue };
            let (case, most) = (measured.case.clone(), worst(seconds));
            rows.push((at, Row { case, direction, measured: least, most, simulated: 0.0 }));
        }
    }
    let simulate = |machine: &Machine, of: &dyn Fn(&Row) -> bool| -> Result<Comparison, Failure> {
        let chosen: Vec<_> = rows.iter().filter(|(_, row)| of(row)).collect();
        let seconds = parallel_map(&chosen, processors(), |(at, row)| known[*at].seconds(machine, row.direction));
        Ok(Comparison::of(seconds.into_iter().collect::<Result<_, _>>()?, chosen.iter().map(|(_, row)| row.measured)))
    };
    let fitted = |machine: &Machine| simulate(machine, &Row::is_fitted);
    let (machine, _) = descend(machine, &PARAMETERS, options.rounds, 1.5, Comparison::by_error, fitted)?;
    let comparison = simulate(&machine, &|_| true)?;
    let simulated = comparison.seconds.into_iter();
    let rows: Vec<Row> =
        rows.into_iter().zip(simulated).map(|((_, row), simulated)| Row { simulated, ..row }).collect();
    show::show(&machine, &rows, options.json)
}

/// Returns the cases that the library and `trib-lab advise` choose for each pattern and rate.
fn chosen(machine: &Machine, cases: &[HostsCase], hosts: u64, ranks: u64) -> Result<Vec<HostsCase>, Failure> {
    case::chosen(cases, ranks, |case| {
        let known = KnownCase::new(case, hosts, ranks)?;
        [RowDirection::Write, RowDirection::Read].map(|way| known.advised(machine, way)).into_iter().collect()
    })
}

/// Returns the measured cases: those of earlier runs, if `--resume` names a file, and the others measured now.
fn measured(options: &ValidateOptions, hosts: u64, cases: &[HostsCase]) -> Result<Vec<MeasuredCase>, Failure> {
    let mut all: Vec<MeasuredCase> = options.resume.as_deref().map_or(Ok(Vec::new()), known)?;
    let latency = options.file_latency;
    all.retain(|one| (one.hosts, one.latency) == (hosts, latency) && cases.contains(&one.case));
    let mut due: Vec<HostsCase> = Vec::new();
    due.extend(cases.iter().filter(|case| !all.iter().any(|one| one.case == **case)).cloned());
    due.retain(|_| !options.no_measure);
    // The cases of a pattern run in one job, in turns, if they are few.
    due.sort_by(|one, other| (one.rate, &one.pattern).cmp(&(other.rate, &other.pattern)));
    for of_rate in due.chunk_by(|one, next| one.rate == next.rate) {
        measure::on_hosts(
            of_rate,
            (hosts, latency, options.quick),
            options.repetitions.unwrap_or(REPETITIONS),
            |one| {
                options.resume.iter().try_for_each(|path| keep(path, &one))?;
                all.push(one);
                Ok(())
            },
        )?;
    }
    all.sort_by_key(|one| cases.iter().position(|case| *case == one.case));
    Ok(all)
}
