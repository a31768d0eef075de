//! `trib-lab sim fit`: compares the simulator with measurements, and fits a machine's host parameters to them.

use crate::machines::machine;
use trib::parallel::{parallel_map, processors};
use trib::{Failure, listing, say};
use tributary_lab::sim::Machine;

use super::descent::{Comparison, Parameter, descend, median, worst};
use super::measurements::{self, Measurement};
use crate::cli::sim::FitOptions;

/// Parameters that are fitted, the same for all kernels and sizes.
const PARAMETERS: [Parameter; 8] = [
    Parameter { name: "host.post_receive", places: |machine| vec![&mut machine.host.post_receive] },
    Parameter { name: "host.receive", places: |machine| vec![&mut machine.host.receive] },
    Parameter { name: "host.walk.near", places: |machine| vec![&mut machine.host.walk.near] },
    Parameter { name: "host.walk.far", places: |machine| vec![&mut machine.host.walk.far] },
    Parameter { name: "host.walk.knee", places: |machine| vec![&mut machine.host.walk.knee] },
    Parameter { name: "host.walk.end", places: |machine| vec![&mut machine.host.walk.end] },
    Parameter {
        name: "connection.receive",
        places: |machine| machine.connection.iter_mut().map(|connection| &mut connection.receive).collect(),
    },
    Parameter {
        name: "connection.held",
        places: |machine| machine.connection.iter_mut().map(|connection| &mut connection.held).collect(),
    },
];

/// Compares the simulator with measurements, fits a machine if the options ask for it, and prints the result.
pub fn run(options: &FitOptions) -> Result<(), Failure> {
    let rows = measurements::read(&options.measurements)?;
    if rows.is_empty() {
        return Err(Failure::new(format!("{}: no rows; allowed: 1 or more", options.measurements.display())));
    }
    let machine = machine(&options.machine)?;
    let compare = |machine: &Machine| compare(machine, &rows);
    let (machine, comparison) = descend(machine, &PARAMETERS, options.rounds, 1.25, Comparison::by_error, compare)?;
    print(&machine, &rows, &comparison, options.json)
}

/// Simulates all rows on all cores, and compares them with the measured times.
fn compare(machine: &Machine, rows: &[Measurement]) -> Result<Comparison, Failure> {
    // The longest runs come first, so that all cores end at about the same time.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| std::cmp::Reverse(rows[row].ranks * rows[row].receivers * rows[row].iterations as usize));
    let simulated = parallel_map(&order, processors(), |&row| (row, rows[row].simulated(machine)));
    let mut seconds = vec![0.0; rows.len()];
    for (row, simulated) in simulated {
        seconds[row] = simulated?.total;
    }
    Ok(Comparison::of(seconds, rows.iter().map(|row| row.seconds)))
}

fn print(machine: &Machine, rows: &[Measurement], comparison: &Comparison, json: bool) -> Result<(), Failure> {
    let fitted: Vec<(&str, f64)> =
        PARAMETERS.iter().filter_map(|parameter| Some((parameter.name, parameter.value(machine)?))).collect();
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
            "rows": rows, "median": median(&comparison.errors), "worst": worst(&comparison.errors),
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
        median(&comparison.errors) * 100.0,
        worst(&comparison.errors) * 100.0,
        parameters.join(", ")
    ))
}
