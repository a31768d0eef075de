//! Prints the results of `trib-lab sim validate`.

use trib::{Failure, listing, say};

use super::{PARAMETERS, Validation};
use crate::cli::sim::ValidateOptions;
use crate::sim::descent::{median, worst};

/// Prints the results as a table or as JSON.
pub fn show(validation: &Validation, cores: usize, options: &ValidateOptions) -> Result<(), Failure> {
    if options.json { json(validation, cores) } else { table(validation, cores, options) }
}

fn parameters(validation: &Validation) -> Vec<(&'static str, f64)> {
    let value = |parameter: &super::Parameter| Some((parameter.name, parameter.value(&validation.machine)?));
    PARAMETERS.iter().filter_map(value).collect()
}

fn json(validation: &Validation, cores: usize) -> Result<(), Failure> {
    let rows = validation.cases.iter().zip(&validation.measured).zip(&validation.comparison.seconds);
    let row = |(((case, measured), simulated), error): (((&super::ValidatedExchange, &f64), &f64), &f64)| {
        serde_json::json!({
            "ranks": case.ranks, "receivers": case.receivers, "kernel": case.kernel, "bytes": case.bytes,
            "iterations": case.iterations, "fitted": case.fitted, "measured": measured, "simulated": simulated,
            "error": error,
        })
    };
    let rows: Vec<_> = rows.zip(&validation.comparison.errors).map(row).collect();
    let of = |fitted| {
        let errors = validation.errors(fitted);
        serde_json::json!({ "rows": errors.len(), "median": median(&errors), "worst": worst(&errors) })
    };
    say(serde_json::to_string_pretty(&serde_json::json!({
        "fabric": validation.fabric, "processors": cores, "rows": rows, "fitted": of(true), "predicted": of(false),
        "parameters": parameters(validation).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
    }))?)
}

fn table(validation: &Validation, cores: usize, options: &ValidateOptions) -> Result<(), Failure> {
    let mut table =
        listing::table(["kernel", "ranks", "receivers", "bytes", "measured us", "simulated us", "error", ""]);
    let rows = validation.cases.iter().zip(&validation.measured).zip(&validation.comparison.seconds);
    for (((case, measured), simulated), error) in rows.zip(&validation.comparison.errors) {
        let micros = |seconds: &f64| format!("{:.1}", seconds * 1e6);
        table.add_row([
            case.kernel.name.to_string(),
            case.ranks.to_string(),
            case.receivers.to_string(),
            case.bytes.to_string(),
            micros(measured),
            micros(simulated),
            format!("{:.1} %", error * 100.0),
            if case.fitted { "fitted" } else { "predicted" }.to_string(),
        ]);
    }
    let errors = |fitted| {
        let errors = validation.errors(fitted);
        format!("median error {:.1} %, worst {:.1} %", median(&errors) * 100.0, worst(&errors) * 100.0)
    };
    let found: Vec<_> = parameters(validation).iter().map(|(name, value)| format!("{name} {value:.0}")).collect();
    let written = options.output.as_ref().map_or_else(String::new, |path| format!("\n{}", path.display()));
    say(format!(
        "{table}\n{} on {cores} processors\nfitted:    {}\npredicted: {}\nparameters (in ps): {}{written}",
        validation.fabric,
        errors(true),
        errors(false),
        found.join(", ")
    ))
}
