//! `trib-lab sim fit`: compares the simulator with measurements, and fits the costs of their machines to them.

use std::collections::BTreeMap;

use crate::machines::machine;
use trib::parallel::{parallel_map, processors};
use trib::{Failure, listing, say};
use tributary_lab::sim::figures::Origin;
use tributary_lab::sim::{Machine, Seconds};

use super::descent::{Comparison, FittedParameter, least_squares, median, worst};
use super::measurements::{self, Measurement};
use crate::cli::sim::FitOptions;

/// Cost that is fitted, the same for all rows, kernels and sizes.
struct Cost {
    fitted: FittedParameter<Vec<Machine>>,
    /// Rough value in picoseconds or entries on the first machine, from which fits with left out rows start.
    start: f64,
}

/// Costs that are fitted. A step changes a cost of all machines by the same factor, but on a machine that quotes it.
const COSTS: [Cost; 9] = [
    // Between 3 and 5 us of processor time a message: half at the receive, half at its posting.
    cost("host.post_receive", 4e6, |machines| each(machines, "host.post_receive", |one| &mut one.host.post_receive)),
    cost("host.receive", 4e6, |machines| each(machines, "host.receive", |one| &mut one.host.receive)),
    // A hit in the L2 cache (17 cycles at 1.4 GHz), and a comparison.
    cost("host.walk.near", 20e3, |machines| each(machines, "host.walk.near", |one| &mut one.host.walk.near)),
    // A miss: one line of MCDRAM.
    cost("host.walk.far", 150e3, |machines| each(machines, "host.walk.far", |one| &mut one.host.walk.far)),
    // Entries of two cache lines that half of a tile's L2 cache holds; a long queue has twice as many.
    cost("host.walk.knee", 4096.0, |machines| {
        let knees = machines.iter_mut().filter(|one| is_open(one, "host.walk.knee"));
        knees.flat_map(|one| [&mut one.host.walk.knee, &mut one.host.walk.end]).collect()
    }),
    // Three lines of MCDRAM.
    cost("host.copy", 450e3, |machines| each(machines, "host.copy", |one| &mut one.host.copy)),
    // Half of what a message of 64 KiB takes longer than one of 8 KiB on Haswell (10 us, 6 of them bytes), times 3.3.
    cost("host.rendezvous", 7e6, |machines| each(machines, "host.rendezvous", |one| &mut one.host.rendezvous)),
    // No other source is known: these two are what the rows of Cori gave.
    cost("connection.receive", 100e6, |machines| {
        let open = machines.iter_mut().filter(|one| is_open(one, "connection.receive"));
        open.filter_map(|one| one.connection.as_mut()).map(|connection| &mut connection.receive).collect()
    }),
    cost("connection.held", 200e3, |machines| {
        let open = machines.iter_mut().filter(|one| is_open(one, "connection.held"));
        open.filter_map(|one| one.connection.as_mut()).map(|connection| &mut connection.held).collect()
    }),
];

/// Speed of the cores of all machines but the first: one factor for all work of their processors. Fitted only if rows
/// of several machines are.
const CORE: FittedParameter<Vec<Machine>> = FittedParameter { name: "core", places: |machines| core(machines) };

const fn cost(name: &'static str, start: f64, places: fn(&mut Vec<Machine>) -> Vec<&mut f64>) -> Cost {
    Cost { fitted: FittedParameter { name, places }, start }
}

/// Returns true if a fit may change a figure of `machine`: the machine file does not quote it.
fn is_open(machine: &Machine, path: &str) -> bool {
    machine.figures.get(path).is_none_or(|figure| figure.origin != Origin::Quoted)
}

fn each<'a>(machines: &'a mut [Machine], path: &str, of: fn(&mut Machine) -> &mut f64) -> Vec<&'a mut f64> {
    machines.iter_mut().filter(|one| is_open(one, path)).map(of).collect()
}

/// Returns the costs that depend on the speed of a core, not on caches and memory.
fn core(machines: &mut [Machine]) -> Vec<&mut f64> {
    let mut all = Vec::new();
    for Machine { host, connection, .. } in machines.iter_mut().skip(1) {
        all.extend([&mut host.post_receive, &mut host.receive, &mut host.send, &mut host.control]);
        all.extend([&mut host.first_use, &mut host.check, &mut host.walk.near, &mut host.rendezvous]);
        if let Some(connection) = connection {
            all.extend([&mut connection.send, &mut connection.receive, &mut connection.held]);
        }
    }
    all
}

/// Rows that were fitted and rows that were predicted, of one fit.
struct Fit {
    /// Kind of the rows that were left out, such as `kernel two_layer`; `None` if all kinds were fitted.
    left_out: Option<String>,
    machines: Vec<Machine>,
    fitted: Compared,
    predicted: Compared,
}

/// Rows with their simulated times.
struct Compared {
    rows: Vec<Measurement>,
    comparison: Comparison,
}

impl Compared {
    /// Simulates rows on all cores, and compares them with the measured times.
    fn of(machines: &[Machine], rows: Vec<Measurement>) -> Result<Self, Failure> {
        let seconds = simulated(machines, &rows)?.into_iter().map(|seconds| seconds.total).collect();
        let comparison = Comparison::of(seconds, rows.iter().map(|row| row.seconds));
        Ok(Self { rows, comparison })
    }

    fn errors(&self) -> &[f64] {
        &self.comparison.errors
    }
}

/// Compares the simulator with measurements, fits their machines if the options ask for it, and prints the result.
pub fn run(options: &FitOptions) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for path in &options.measurements {
        rows.extend(measurements::read(path)?);
    }
    if rows.is_empty() {
        let path = options.measurements.first().map(|path| path.display().to_string());
        return Err(Failure::new(format!("{}: no rows; allowed: 1 or more", path.unwrap_or_default())));
    }
    if let Some(name) = &options.machine {
        rows.iter_mut().for_each(|row| row.machine.clone_from(name));
    }
    let mut machines: Vec<Machine> = Vec::new();
    for row in &rows {
        if !machines.iter().any(|machine| machine.name == row.machine) {
            machines.push(machine(&row.machine)?);
        }
    }
    let fits = |row: &Measurement| options.largest.is_none_or(|largest| row.messages() <= largest);
    let (fitted, predicted) = rows.iter().cloned().partition(fits);
    let start = if options.leave_out { started(machines) } else { machines };
    let mut all = vec![fit(start.clone(), fitted, predicted, options.rounds, None)?];
    if options.leave_out {
        for (kind, of) in KINDS {
            let mut values: Vec<String> = rows.iter().map(of).collect();
            values.sort_unstable();
            values.dedup();
            for value in values.iter().filter(|_| values.len() > 1) {
                let (out, rest): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|row| of(row) == *value);
                let rest = rest.into_iter().filter(fits).collect();
                all.push(fit(start.clone(), rest, out, options.rounds, Some(format!("{kind} {value}")))?);
            }
        }
    }
    print(&all, options.json)
}

/// Function that returns a row's value of a kind.
type KindOf = fn(&Measurement) -> String;

/// Kinds of rows that are left out in turn: the name of a kind, and a row's value of it.
const KINDS: [(&str, KindOf); 3] = [
    ("kernel", |row| row.kernel.clone()),
    ("ranks", |row| row.ranks.to_string()),
    ("machine", |row| row.machine.clone()),
];

/// Returns the machines with the costs from which fits with left out rows start. The ratio of the machines stays.
fn started(mut machines: Vec<Machine>) -> Vec<Machine> {
    for Cost { fitted, start } in COSTS {
        let now = fitted.value(&machines).unwrap_or(0.0);
        if now > 0.0 {
            (fitted.places)(&mut machines).into_iter().for_each(|value| *value *= start / now);
        }
    }
    machines
}

/// Fits machines to rows, and predicts others.
fn fit(
    machines: Vec<Machine>,
    fitted: Vec<Measurement>,
    predicted: Vec<Measurement>,
    rounds: u32,
    left_out: Option<String>,
) -> Result<Fit, Failure> {
    let mut parameters: Vec<_> = COSTS.into_iter().map(|cost| cost.fitted).collect();
    if fitted.iter().any(|row| row.machine != fitted[0].machine) {
        parameters.push(CORE);
    }
    let both = |machines: &Vec<Machine>| {
        let seconds = simulated(machines, &fitted)?;
        let ends = fitted.iter().zip(&seconds).map(|(row, seconds)| (seconds.total, row.seconds));
        let postings = fitted.iter().zip(&seconds).filter_map(|(row, at)| Some((at.post_receives, row.posting?)));
        let (simulated, measured): (Vec<f64>, Vec<f64>) = ends.chain(postings).unzip();
        Ok(Comparison::of(simulated, measured.into_iter()))
    };
    let machines = if rounds > 0 { least_squares(machines, &parameters, rounds, both)? } else { machines };
    let (fitted, predicted) = (Compared::of(&machines, fitted)?, Compared::of(&machines, predicted)?);
    Ok(Fit { left_out, machines, fitted, predicted })
}

/// Simulates rows on all cores. Returns the times of each row.
fn simulated(machines: &[Machine], rows: &[Measurement]) -> Result<Vec<Seconds>, Failure> {
    // The longest runs come first, so that all cores end at about the same time.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| std::cmp::Reverse(rows[row].messages()));
    let simulated = parallel_map(&order, processors(), |&row| {
        let machine = machines.iter().find(|machine| machine.name == rows[row].machine);
        let machine = machine.ok_or_else(|| Failure::new(format!("machine: {}", rows[row].machine)))?;
        Ok::<_, Failure>((row, rows[row].simulated(machine)?))
    });
    let mut seconds = vec![Seconds::default(); rows.len()];
    for simulated in simulated {
        let (row, simulated) = simulated?;
        seconds[row] = simulated;
    }
    Ok(seconds)
}

/// Returns the fitted costs of the first machine, and the speed of the other machines' cores relative to its core.
fn parameters(machines: &[Machine]) -> BTreeMap<&'static str, f64> {
    let mut machines = machines.to_vec();
    let mut found: BTreeMap<_, _> =
        COSTS.iter().filter_map(|cost| Some((cost.fitted.name, cost.fitted.value(&machines)?))).collect();
    let first = machines[0].host.post_receive;
    if let Some(other) = core(&mut machines).first() {
        found.insert(CORE.name, first / **other);
    }
    found
}

fn print(all: &[Fit], json: bool) -> Result<(), Failure> {
    if json {
        return match all {
            [one] => say(serde_json::to_string_pretty(&object(one))?),
            _ => say(serde_json::to_string_pretty(&all.iter().map(object).collect::<Vec<_>>())?),
        };
    }
    for fit in all {
        for (title, compared) in [("Fitted rows", &fit.fitted), ("Predicted rows", &fit.predicted)] {
            // A fit with left out rows is for these rows.
            if !compared.rows.is_empty() && (fit.left_out.is_none() || title == "Predicted rows") {
                let without = fit.left_out.as_ref().map_or(String::new(), |kind| format!(" without {kind}"));
                say(format!("{title}{without}\n{}", rows(compared)))?;
            }
        }
        let found: Vec<_> =
            parameters(&fit.machines).into_iter().map(|(name, value)| format!("{name} {value:.4e}")).collect();
        say(format!("parameters (times in ps): {}", found.join(", ")))?;
    }
    say(errors(all).to_string())
}

fn object(fit: &Fit) -> serde_json::Value {
    let side = |compared: &Compared, fitted: bool| {
        let each = compared.rows.iter().zip(&compared.comparison.seconds).zip(compared.errors());
        let row = move |((row, simulated), error): ((&Measurement, &f64), &f64)| {
            serde_json::json!({
                "machine": row.machine, "ranks": row.ranks, "receivers": row.receivers, "kernel": row.kernel,
                "iterations": row.iterations, "fitted": fitted, "measured": row.seconds, "simulated": simulated,
                "error": error,
            })
        };
        each.map(row).collect::<Vec<_>>()
    };
    let summary = |compared: &Compared| {
        let errors = compared.errors();
        serde_json::json!({ "rows": errors.len(), "median": median(errors), "worst": worst(errors) })
    };
    let rows = [side(&fit.fitted, true), side(&fit.predicted, false)].concat();
    serde_json::json!({
        "left_out": fit.left_out, "rows": rows,
        "fitted": summary(&fit.fitted), "predicted": summary(&fit.predicted), "parameters": parameters(&fit.machines),
    })
}

fn rows(compared: &Compared) -> comfy_table::Table {
    let head = ["machine", "ranks", "receivers", "kernel", "iterations", "measured s", "simulated s", "error"];
    let mut table = listing::table(head);
    for (row, seconds) in compared.rows.iter().zip(&compared.comparison.seconds) {
        table.add_row([
            row.machine.clone(),
            row.ranks.to_string(),
            row.receivers.to_string(),
            row.kernel.clone(),
            row.iterations.to_string(),
            format!("{:.4}", row.seconds),
            format!("{seconds:.4}"),
            format!("{:+.1} %", 100.0 * (seconds / row.seconds - 1.0)),
        ]);
    }
    table
}

/// Returns the table of errors: a line for each fit, fitted and predicted rows apart.
fn errors(all: &[Fit]) -> comfy_table::Table {
    let mut table = listing::table(["left out", "fitted", "median", "worst", "predicted", "median", "worst"]);
    for fit in all {
        let percent = |error: f64| format!("{:.1} %", 100.0 * error);
        let side = |compared: &Compared| {
            let errors = compared.errors();
            [errors.len().to_string(), percent(median(errors)), percent(worst(errors))]
        };
        let left_out = fit.left_out.clone().unwrap_or("nothing".to_string());
        table.add_row([left_out].into_iter().chain(side(&fit.fitted)).chain(side(&fit.predicted)));
    }
    table
}
