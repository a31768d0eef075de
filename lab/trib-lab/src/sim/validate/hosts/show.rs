//! Prints the results of `trib-lab sim validate --hosts`.

use trib::numbers::sized;
use trib::{Failure, listing, say};
use tributary_lab::sim::Machine;

use super::case::{HostsCase, RowDirection};
use super::choice::{GOOD, HostsChoice};
use super::{PARAMETERS, Row};
use crate::sim::descent::{median, worst};

/// Prints the rows as a table, fitted and predicted ones apart, or as lines of JSON; then the errors.
pub fn show(machine: &Machine, rows: &[Row], json: bool) -> Result<(), Failure> {
    if json {
        rows.iter().try_for_each(|row| say(serde_json::to_string(&object(row))?))?;
        HostsChoice::all(rows.iter()).iter().try_for_each(|one| say(serde_json::to_string(&choice_object(one))?))?;
        return say(serde_json::to_string(&summary(machine, rows))?);
    }
    for (fitted, title) in [(true, "Fitted rows"), (false, "Predicted rows")] {
        let rows = rows.iter().filter(|row| row.is_fitted() == fitted);
        say(format!("{title}\n{}", table(rows)))?;
    }
    let of = |what: &str, fitted| {
        let errors = errors(rows, fitted);
        let (median, worst) = (100.0 * median(&errors), 100.0 * worst(&errors));
        format!("{what} {} rows, median error {median:.1} %, worst {worst:.1} %", errors.len())
    };
    let found: Vec<_> = parameters(machine).map(|(name, value)| format!("{name} {value:.0}")).collect();
    let (fitted, predicted) = (of("fitted:   ", true), of("predicted:", false));
    say(format!("{fitted}\n{predicted}\nparameters (in ps): {}", found.join(", ")))?;
    show_choices(rows)
}

/// Prints what the simulator and the library choose, and how far that is from the best that was measured.
fn show_choices(rows: &[Row]) -> Result<(), Failure> {
    let choices = HostsChoice::all(rows.iter());
    let head = ["pattern", "", "MB/s", "candidates", "slowest", "best", "s", "chosen", "of best", "library, of best"];
    let mut table = listing::table(head);
    for choice in &choices {
        let HostsChoice { candidates, best, chosen, library } = choice;
        let ratio = |row: &Row| format!("{:.2}", choice.ratio(row));
        table.add_row([
            best.case.pattern.clone(),
            direction(best).to_string(),
            (best.case.rate / 1_000_000).to_string(),
            candidates.len().to_string(),
            format!("{:.2}", choice.worst()),
            described(&best.case),
            format!("{:.3}", best.measured),
            described(&chosen.case),
            ratio(chosen),
            library.map_or("not measured".to_string(), ratio),
        ]);
    }
    let good = |ratios: Vec<f64>| {
        let near = ratios.iter().filter(|ratio| **ratio <= GOOD).count();
        format!(
            "{near} of {} within {:.0} % of the best, worst {:.2}",
            ratios.len(),
            100.0 * GOOD - 100.0,
            worst(&ratios)
        )
    };
    let of_chosen = |choices: &[HostsChoice]| good(choices.iter().map(|one| one.ratio(one.chosen)).collect());
    let apart = HostsChoice::all(rows.iter().filter(|row| !row.is_fitted()));
    let library = choices.iter().filter_map(|one| Some(one.ratio(one.library?))).collect();
    say(format!(
        "Choices\n{table}\nchosen by the simulator: {}\namong rows that are not fitted: {}\nchosen by the library: {}",
        of_chosen(&choices),
        of_chosen(&apart),
        good(library)
    ))
}

/// Returns what a case sets, in a few words.
fn described(case: &HostsCase) -> String {
    let HostsCase { kernel, aggregators, window, buffers, chosen, .. } = case;
    let buffers = buffers.map_or(String::new(), |buffers| format!(", {buffers} buffer"));
    match chosen {
        Some(hints) => hints.clone(),
        None => format!("{kernel}, {aggregators}, {}{buffers}", sized(*window)),
    }
}

fn choice_object(choice: &HostsChoice) -> serde_json::Value {
    let HostsChoice { candidates, best, chosen, library } = choice;
    serde_json::json!({
        "pattern": best.case.pattern, "direction": direction(best), "rate": best.case.rate,
        "candidates": candidates.len(), "slowest": choice.worst(), "best": described(&best.case),
        "best_seconds": best.measured, "chosen": described(&chosen.case), "chosen_of_best": choice.ratio(chosen),
        "library_of_best": library.map(|row| choice.ratio(row)),
    })
}

fn errors(rows: &[Row], fitted: bool) -> Vec<f64> {
    rows.iter().filter(|row| row.is_fitted() == fitted).map(Row::error).collect()
}

fn parameters(machine: &Machine) -> impl Iterator<Item = (&'static str, f64)> {
    PARAMETERS.iter().filter_map(|parameter| Some((parameter.name, parameter.value(machine)?)))
}

fn direction(row: &Row) -> &'static str {
    match row.direction {
        RowDirection::Write => "write",
        RowDirection::Read => "read",
    }
}

fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> comfy_table::Table {
    let head = [
        "pattern",
        "",
        "kernel",
        "aggregators",
        "window",
        "buffers",
        "MB/s",
        "measured s",
        "at most s",
        "simulated s",
        "error",
    ];
    let mut table = listing::table(head);
    for row in rows {
        let case = &row.case;
        let buffers = case.buffers.map_or("auto".to_string(), |buffers| buffers.to_string());
        let seconds = |seconds: f64| format!("{seconds:.3}");
        table.add_row([
            case.pattern.clone(),
            direction(row).to_string(),
            case.chosen.as_ref().map_or(case.kernel.clone(), |hints| format!("auto {hints}")),
            given(case, case.aggregators.to_string()),
            given(case, sized(case.window)),
            buffers,
            (case.rate / 1_000_000).to_string(),
            seconds(row.measured),
            seconds(row.most),
            seconds(row.simulated),
            format!("{:+.1} %", 100.0 * (row.simulated / row.measured - 1.0)),
        ]);
    }
    table
}

/// Returns a number of a case; nothing if the library or the advice chooses it.
fn given(case: &HostsCase, number: String) -> String {
    if case.chosen.is_some() { String::new() } else { number }
}

fn object(row: &Row) -> serde_json::Value {
    let case = &row.case;
    serde_json::json!({
        "pattern": case.pattern, "direction": direction(row), "kernel": case.kernel, "aggregators": case.aggregators,
        "window": case.window, "buffers": case.buffers, "chosen": case.chosen, "rate": case.rate, "fitted": row.is_fitted(),
        "measured": row.measured, "most": row.most, "simulated": row.simulated,
        "error": row.error(),
    })
}

fn summary(machine: &Machine, rows: &[Row]) -> serde_json::Value {
    let of = |fitted| {
        let errors = errors(rows, fitted);
        serde_json::json!({ "rows": errors.len(), "median": median(&errors), "worst": worst(&errors) })
    };
    serde_json::json!({
        "machine": machine.name, "processors": machine.processors, "fitted": of(true), "predicted": of(false),
        "parameters": parameters(machine).collect::<std::collections::BTreeMap<_, _>>(),
    })
}
