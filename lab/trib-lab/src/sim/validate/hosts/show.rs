//! Prints the results of `trib-lab sim validate --hosts`.

use trib::numbers::sized;
use trib::{Failure, listing, say};
use tributary_lab::sim::Machine;

use super::case::RowDirection;
use super::{PARAMETERS, Row};
use crate::sim::descent::{median, worst};

/// Prints the rows as a table, fitted and predicted ones apart, or as lines of JSON; then the errors.
pub fn show(machine: &Machine, rows: &[Row], json: bool) -> Result<(), Failure> {
    if json {
        rows.iter().try_for_each(|row| say(serde_json::to_string(&object(row))?))?;
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
    say(format!("{fitted}\n{predicted}\nparameters (in ps): {}", found.join(", ")))
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
            case.kernel.clone(),
            case.aggregators.to_string(),
            sized(case.window),
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

fn object(row: &Row) -> serde_json::Value {
    let case = &row.case;
    serde_json::json!({
        "pattern": case.pattern, "direction": direction(row), "kernel": case.kernel, "aggregators": case.aggregators,
        "window": case.window, "buffers": case.buffers, "rate": case.rate, "fitted": row.is_fitted(),
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
