//! `trib sim fit`: the simulator against measurements, and a machine's host fitted to them.

use tributary::sim::Machine;

use super::machines;
use super::measurements::{self, Measurement};
use super::sweep;
use crate::cli::sim::FitOptions;
use crate::{Failure, listing, say};

/// What is fitted: one set for all kernels and sizes.
type Parameter = (&'static str, fn(&mut Machine) -> Option<&mut f64>);

const PARAMETERS: [Parameter; 8] = [
    ("host.post_receive", |machine| Some(&mut machine.host.post_receive)),
    ("host.receive", |machine| Some(&mut machine.host.receive)),
    ("host.walk.near", |machine| Some(&mut machine.host.walk.near)),
    ("host.walk.far", |machine| Some(&mut machine.host.walk.far)),
    ("host.walk.knee", |machine| Some(&mut machine.host.walk.knee)),
    ("host.walk.end", |machine| Some(&mut machine.host.walk.end)),
    ("connection.receive", |machine| machine.connection.as_mut().map(|connection| &mut connection.receive)),
    ("connection.held", |machine| machine.connection.as_mut().map(|connection| &mut connection.held)),
];

/// Simulated times of all rows, and how far off they are.
struct Comparison {
    seconds: Vec<f64>,
    /// |simulated - measured| / measured, by row.
    errors: Vec<f64>,
}

/// Compares, fits if asked to, and prints.
pub fn run(options: &FitOptions) -> Result<(), Failure> {
    let rows = measurements::read(&options.measurements)?;
    if rows.is_empty() {
        return Err(Failure::new(format!("{}: no rows; allowed: 1 or more", options.measurements.display())));
    }
    let mut machine = machines::machine(&options.machine)?;
    let mut comparison = compare(&machine, &rows)?;
    let mut step = 1.25;
    for _ in 0..options.rounds {
        for (_, parameter) in PARAMETERS {
            for factor in [step, 1.0 / step] {
                let mut other = machine.clone();
                let Some(value) = parameter(&mut other) else { continue };
                *value *= factor;
                let found = compare(&other, &rows)?;
                if found.score() < comparison.score() && other.host.walk.knee <= other.host.walk.end {
                    (machine, comparison) = (other, found);
                    break;
                }
            }
        }
        step = 1.0 + (step - 1.0) / 1.5;
    }
    print(&mut machine, &rows, &comparison, options.json)
}

impl Comparison {
    /// What the fit makes small: the mean error, large errors counted more.
    fn score(&self) -> f64 {
        self.errors.iter().map(|error| error + error * error).sum::<f64>() / self.errors.len() as f64
    }

    fn median(&self) -> f64 {
        let mut sorted = self.errors.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] }
    }

    fn worst(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }
}

/// Simulates all rows, on all cores.
fn compare(machine: &Machine, rows: &[Measurement]) -> Result<Comparison, Failure> {
    let messages = |row: &Measurement| row.ranks * row.receivers * row.iterations as usize;
    let run = |row: &Measurement| Ok(row.simulated(machine)?.total);
    let seconds = sweep::on_all_cores(rows, messages, run)?;
    let errors = rows.iter().zip(&seconds).map(|(row, seconds)| (seconds - row.seconds).abs() / row.seconds).collect();
    Ok(Comparison { seconds, errors })
}

fn print(machine: &mut Machine, rows: &[Measurement], comparison: &Comparison, json: bool) -> Result<(), Failure> {
    let fitted: Vec<(&str, f64)> =
        PARAMETERS.iter().filter_map(|(name, parameter)| Some((*name, *parameter(machine)?))).collect();
    if json {
        let compared = rows.iter().zip(&comparison.seconds).zip(&comparison.errors);
        let rows: Vec<_> = compared
            .map(|((row, simulated), error)| {
                serde_json::json!({
                    "ranks": row.ranks, "receivers": row.receivers, "kernel": row.kernel, "iterations": row.iterations,
                    "measured": row.seconds, "simulated": simulated, "error": error,
                })
            })
            .collect();
        return say(serde_json::to_string_pretty(&serde_json::json!({
            "rows": rows, "median": comparison.median(), "worst": comparison.worst(),
            "parameters": fitted.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        }))?);
    }
    let mut table =
        listing::table(["ranks", "receivers", "kernel", "iterations", "measured s", "simulated s", "error"]);
    for ((row, seconds), error) in rows.iter().zip(&comparison.seconds).zip(&comparison.errors) {
        table.add_row([
            row.ranks.to_string(),
            row.receivers.to_string(),
            row.kernel.clone(),
            row.iterations.to_string(),
            format!("{:.4}", row.seconds),
            format!("{seconds:.4}"),
            format!("{:.1} %", error * 100.0),
        ]);
    }
    let parameters: Vec<_> = fitted.iter().map(|(name, value)| format!("{name} {value:.0}")).collect();
    say(format!(
        "{table}\nmedian error {:.1} %, worst {:.1} %\nparameters (times in ps): {}",
        comparison.median() * 100.0,
        comparison.worst() * 100.0,
        parameters.join(", ")
    ))
}
