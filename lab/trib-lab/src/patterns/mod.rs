//! `trib-lab patterns`: shows each pattern's description, parameters and counts. The parameters come from the
//! definition of the command line, the counts from the pattern's closed forms.
//!
//! | module | holds |
//! |---|---|
//! | [`parameters`] | a pattern's parameters, from clap's tree |
//! | [`numbers`] | a pattern's counts |
//! | `page` | `lab/docs/patterns.md` and its pictures (a test regenerates them) |

mod numbers;
#[cfg(test)]
mod page;
mod parameters;

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::cli::patterns::{DivisionOptions, PatternsOptions};
use trib::report::facts;
use trib::source::{PatternSource, SOURCES, Subject};
use trib::{Failure, say};

/// Width of the table in characters if standard output is no terminal.
const PIPED: u16 = 120;

/// Prints all patterns, or one.
pub fn run(options: &PatternsOptions) -> Result<(), Failure> {
    let Some(chosen) = &options.pattern else { return all(options) };
    let numbers = match chosen.subject(options.ranks) {
        Ok(subject) => Ok(subject),
        Err(failure) if failure.is_of_a_missing_parameter() => Err(failure.to_string()),
        Err(failure) => return Err(failure),
    };
    if options.json {
        let mut object = about(chosen.source);
        object["numbers"] = match &numbers {
            Ok(Subject::File(pattern)) => numbers::of(&**pattern, &options.division),
            Ok(Subject::Exchange(trace)) => numbers::of_exchange(trace),
            Err(_) => Value::Null,
        };
        return say(serde_json::to_string_pretty(&object)?);
    }
    say(one(chosen.source, numbers.as_ref(), &options.division))
}

/// Prints the list of all patterns.
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
    let more = "trib-lab patterns NAME shows one in full; with its parameters and --ranks P, also its counts.";
    say(format!("{table}\n{more}"))
}

/// Returns one pattern as JSON, without numbers.
fn about(source: &PatternSource) -> Value {
    json!({
        "name": source.name,
        "what": source.about(),
        "code": source.code,
        "origin": source.origin,
        "parameters": parameters::of(source),
        "closed_form": source.formulas.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "picture": format!("trib-lab picture {} {}", source.name, source.picture),
        "example": format!("trib replay {} {}", source.name, source.example),
    })
}

/// Returns the text about one pattern.
fn one(source: &PatternSource, subject: Result<&Subject, &String>, options: &DivisionOptions) -> String {
    let PatternSource { name, code, origin, formulas, example, picture, .. } = source;
    let mut rows = vec![("pattern", format!("{name}: {}", source.about()))];
    rows.extend([("code", code.to_string()), ("source", origin.to_string())]);
    let parameters: Vec<_> = parameters::of(source).iter().map(ToString::to_string).collect();
    rows.push(("parameters", parameters.join("\n")));
    rows.extend(formulas.iter().map(|(what, formula)| (*what, formula.to_string())));
    rows.push(("example", format!("trib replay {name} {example}")));
    rows.push(("picture", format!("trib-lab picture {name} {picture} --output {name}.svg")));
    match subject {
        Err(why) => rows.push(("in numbers", why.clone())),
        Ok(Subject::File(pattern)) => rows.extend(numbers::rows(&**pattern, options)),
        Ok(Subject::Exchange(trace)) => rows.extend(numbers::rows_of_exchange(trace)),
    }
    let mut table = facts(rows);
    if !table.is_tty() {
        table.set_width(PIPED);
    }
    table.to_string()
}
