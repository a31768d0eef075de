//! Prints the simulated rows as text, JSON and a table of a document.

use std::path::Path;

use crate::document::{self, Table};
use serde_json::{Value, json};
use trib::{Failure, listing};

use super::KernelTimes;
use super::write::{CAPTURE, Write};

/// Comments around the two tables in a document: the table of patterns, and the table of captures.
const PATTERNS: (&str, &str) = ("<!-- trib-lab tune kernels: table -->", "<!-- trib-lab tune kernels: end -->");
const CAPTURES: (&str, &str) =
    ("<!-- trib-lab tune kernels --capture: table -->", "<!-- trib-lab tune kernels --capture: end -->");

/// Maximum ratio of the time of `auto` to the time of the best fixed choice at which `auto` counts as equally good.
const NEAR: f64 = 1.05;

/// Summary of all rows.
struct Sum {
    cases: usize,
    near: usize,
    worst: f64,
    gain: f64,
    pairs: usize,
    right: usize,
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a KernelTimes>) -> Sum {
    let (mut sum, mut logs) = (Sum { cases: 0, near: 0, worst: 0.0, gain: 1.0, pairs: 0, right: 0 }, 0.0);
    for row in rows {
        let (Some((_, best)), Some(default)) = (row.best(), row.default()) else { continue };
        sum.cases += 1;
        sum.near += usize::from(row.auto <= best * NEAR);
        sum.worst = sum.worst.max(row.auto / best);
        logs += (default / row.auto).ln();
        if let [flat, layered] = row.predicted[..]
            && (flat.1 / layered.1).max(layered.1 / flat.1) > NEAR
        {
            sum.pairs += 1;
            sum.right += usize::from((flat.0 < layered.0) == (flat.1 < layered.1));
        }
    }
    sum.gain = (logs / sum.cases.max(1) as f64).exp();
    sum
}

fn sentence<'a>(rows: impl IntoIterator<Item = &'a KernelTimes>) -> String {
    let Sum { cases, near, worst, gain, pairs, right } = sum(rows);
    format!(
        "In {near} of {cases} writes auto takes at most {:.0} % more than the best fixed choice; at worst {worst:.2} times as \
         long. It is {gain:.2} times as fast as balanced on the geometric mean. Of {pairs} writes in which balanced and \
         two_layer differ by more than {:.0} %, the model predicts the faster in {right}.",
        (NEAR - 1.0) * 100.0,
        (NEAR - 1.0) * 100.0,
    )
}

const HEAD: [&str; 9] = [
    "machine",
    "nodes",
    "ranks",
    "pattern",
    "auto takes",
    "milliseconds",
    "best fixed choice",
    "auto / best",
    "auto / balanced",
];

fn cells(row: &KernelTimes) -> [String; 9] {
    let (name, best) = row.best().unwrap_or(("-", row.auto));
    let default = row.default().unwrap_or(row.auto);
    [
        row.machine.clone(),
        row.nodes.to_string(),
        row.ranks.to_string(),
        row.pattern.clone(),
        row.chosen.clone(),
        format!("{:.3}", row.auto * 1e3),
        name.to_string(),
        format!("{:.2}", row.auto / best),
        format!("{:.2}", row.auto / default),
    ]
}

/// Returns the rows as a table for a terminal.
pub fn text(rows: &[KernelTimes]) -> String {
    let mut table = listing::table(HEAD);
    rows.iter().for_each(|row| {
        table.add_row(cells(row));
    });
    format!("{table}\n{}", sentence(rows))
}

/// Returns the rows as JSON.
pub fn object(rows: &[KernelTimes]) -> Value {
    let Sum { cases, near, worst, gain, pairs, right } = sum(rows);
    json!({
        "rows": rows,
        "cases": cases,
        "within_5_percent": near,
        "worst": worst,
        "gain_over_balanced": gain,
        "order": { "pairs": pairs, "right": right },
    })
}

/// Checks that a document has a place for a table of `writes`: of patterns, or of captures.
///
/// # Errors
/// The document has none, or cannot be read.
pub fn check(path: &Path, writes: &[Write]) -> Result<(), Failure> {
    let is_of = |captures: bool| writes.iter().any(|write| write.capture.is_some() == captures);
    let places = [(PATTERNS, is_of(false)), (CAPTURES, is_of(true))];
    let tables: Vec<_> = places.into_iter().filter(|(_, is_due)| *is_due).map(|(place, _)| table(place, &[])).collect();
    document::check(path, &tables)
}

/// Writes the tables into the document; one without rows stays as it is.
///
/// # Errors
/// The errors of [`check`], and errors of the operating system.
pub fn write(path: &Path, rows: &[KernelTimes]) -> Result<(), Failure> {
    let (captures, patterns): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.pattern.starts_with(CAPTURE));
    let both = [(PATTERNS, patterns), (CAPTURES, captures)];
    let tables: Vec<_> =
        both.iter().filter(|(_, rows)| !rows.is_empty()).map(|(place, rows)| table(*place, rows)).collect();
    if tables.is_empty() { Ok(()) } else { document::write(path, &tables) }
}

fn table(place: (&'static str, &'static str), rows: &[&KernelTimes]) -> Table {
    let alignment = ["---", "--:", "--:", "---", "---", "--:", "---", "--:", "--:"];
    Table::of(place, &sentence(rows.iter().copied()), [&HEAD, &alignment], rows.iter().copied().map(cells))
}
