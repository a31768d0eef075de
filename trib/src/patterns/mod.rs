//! `trib patterns`: what each pattern is, its parameters, and what its own arithmetic says. The parameters come from the
//! command line's definition, the numbers from the pattern.
//!
//! | module | holds |
//! |---|---|
//! | [`parameters`] | a pattern's parameters, from clap's tree |
//! | `page` | `docs/patterns.md` and its pictures (a test regenerates them) |

#[cfg(test)]
mod page;
mod parameters;

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use tributary_benchmarks::{ClosedForm, Division, Pattern};

use crate::cli::patterns::{DivisionOptions, PatternsOptions};
use crate::report::{facts, grouped, sized};
use crate::source::{SOURCES, Source};
use crate::{Failure, say};

/// Columns of the table where no terminal says how many there are.
const PIPED: u16 = 120;

/// Prints all, or one.
pub fn run(options: &PatternsOptions) -> Result<(), Failure> {
    let Some(chosen) = &options.pattern else { return all(options) };
    let numbers = match chosen.pattern(options.ranks) {
        Ok(pattern) => Ok(pattern),
        Err(failure) if failure.is_of_a_missing_parameter() => Err(failure.to_string()),
        Err(failure) => return Err(failure),
    };
    if options.json {
        let mut object = about(chosen.source);
        if let Ok(pattern) = &numbers {
            object["numbers"] = numbers_of(&**pattern, &options.division);
        }
        return say(serde_json::to_string_pretty(&object)?);
    }
    say(one(chosen.source, numbers.as_deref(), &options.division))
}

/// The list of all patterns.
fn all(options: &PatternsOptions) -> Result<(), Failure> {
    if options.json {
        let rows: Vec<_> = SOURCES.iter().map(about).collect();
        return say(serde_json::to_string_pretty(&rows)?);
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(PIPED);
    }
    table.set_header(["pattern", "what", "parameters", "requests and bytes"]);
    for source in SOURCES {
        let parameters: Vec<_> = parameters::of(source).iter().map(parameters::Parameter::short).collect();
        let formulas = source.formulas.iter().filter(|(what, _)| ["requests", "bytes"].contains(what));
        let formulas: Vec<_> = formulas.map(|(what, formula)| format!("{what}: {formula}")).collect();
        table.add_row([source.name, &source.about(), &parameters.join("\n"), &formulas.join("\n")]);
    }
    let more = "trib patterns NAME: one in full; with its parameters and --ranks P, in numbers.";
    say(format!("{table}\n{more}"))
}

/// One pattern, without numbers.
fn about(source: &Source) -> Value {
    json!({
        "name": source.name,
        "what": source.about(),
        "code": source.code,
        "origin": source.origin,
        "parameters": parameters::of(source),
        "closed_form": source.formulas.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "example": format!("trib replay {} {}", source.name, source.example),
    })
}

/// The two ways to divide a file.
fn divisions(options: &DivisionOptions) -> [(&'static str, Division); 2] {
    let DivisionOptions { aggregators, stripe, window } = *options;
    [("lustre", Division::Stripes { stripe, aggregators }), ("gpfs", Division::Ranges { window, aggregators })]
}

fn numbers_of(pattern: &dyn Pattern, options: &DivisionOptions) -> Value {
    let totals = pattern.totals();
    let divided = divisions(options).map(|(name, division)| {
        let ClosedForm { requests, bytes, metadata_fan_in, data_fan_in } = pattern.closed_form(division);
        let fan_in = json!({ "metadata": metadata_fan_in, "data": data_fan_in });
        let form = json!({
            "window": division.window(), "aggregators": division.aggregators(),
            "requests": requests, "bytes": bytes, "fan_in": fan_in,
        });
        (name.to_string(), form)
    });
    json!({
        "source": pattern.describe(),
        "ranks": pattern.ranks(),
        "calls": pattern.steps(),
        "file_size": totals.file_size,
        "closed_form": Value::Object(divided.into_iter().collect()),
    })
}

/// One pattern, for people.
fn one(source: &Source, numbers: Result<&dyn Pattern, &String>, options: &DivisionOptions) -> String {
    let mut rows = vec![("pattern", format!("{}: {}", source.name, source.about()))];
    rows.extend([("code", source.code.to_string()), ("source", source.origin.to_string())]);
    let parameters: Vec<_> = parameters::of(source).iter().map(ToString::to_string).collect();
    rows.push(("parameters", parameters.join("\n")));
    rows.extend(source.formulas.iter().map(|(what, formula)| (*what, formula.to_string())));
    rows.push(("example", format!("trib replay {} {}", source.name, source.example)));
    match numbers {
        Err(why) => rows.push(("in numbers", why.clone())),
        Ok(pattern) => {
            let totals = pattern.totals();
            rows.push(("in numbers", pattern.describe()));
            rows.push(("ranks, calls", format!("{}, {}", grouped(pattern.ranks() as u64), pattern.steps())));
            rows.push(("requests", grouped(totals.requests)));
            rows.push(("bytes", sized(totals.bytes)));
            rows.push(("file", format!("{} bytes", grouped(totals.file_size))));
            let count = |count: Option<u64>| count.map_or("only the data tell".to_string(), grouped);
            for (name, division) in divisions(options) {
                let form = pattern.closed_form(division);
                let windows =
                    format!("windows of {}, {} aggregators", sized(division.window()), division.aggregators());
                let fan_in = format!("metadata {}, data {}", count(form.metadata_fan_in), count(form.data_fan_in));
                rows.push((name, format!("fan-in at most: {fan_in} ({windows})")));
            }
        }
    }
    facts(rows).to_string()
}
