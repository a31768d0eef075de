//! Prints the measured rows as text, JSON and a table of a document.

use std::path::Path;

use crate::document::{self, Table};
use serde_json::{Value, json};
use trib::compare::statistics::geometric_mean;
use trib::{Failure, listing};

use super::row::{Chance, MeasuredTimes, Ratio, over_best};
use super::turns::Times;

/// Comments around the table in a document.
const BEGIN: &str = "<!-- trib-lab tune kernels --measure: table -->";
const END: &str = "<!-- trib-lab tune kernels --measure: end -->";

/// Maximum ratio of the time of `auto` to the time of the best fixed choice at which `auto` counts as equally good.
const NEAR: f64 = 1.05;

/// Summary of the times of all rows.
struct Sum {
    cases: usize,
    near: usize,
    /// Number of cases in which `auto` is slower than that ratio beyond doubt.
    slower: usize,
    worst: f64,
    mean: f64,
}

fn sum<'a>(all: impl IntoIterator<Item = &'a Times>) -> Sum {
    let ratios: Vec<Ratio> = all.into_iter().filter_map(|times| Some(over_best(times)?.1)).collect();
    let count = |holds: &dyn Fn(&Ratio) -> bool| ratios.iter().filter(|ratio| holds(ratio)).count();
    let medians: Vec<f64> = ratios.iter().map(|ratio| ratio.median).collect();
    Sum {
        cases: ratios.len(),
        near: count(&|ratio| ratio.median <= NEAR),
        slower: count(&|ratio| ratio.least > NEAR),
        worst: medians.iter().copied().fold(0.0, f64::max),
        mean: geometric_mean(&medians).unwrap_or(0.0),
    }
}

fn sentence(rows: &[MeasuredTimes]) -> String {
    let percent = (NEAR - 1.0) * 100.0;
    let Sum { cases, near, slower, worst, mean } = sum(rows.iter().map(|row| &row.first));
    let gains: Vec<f64> = rows.iter().filter_map(|row| Some(row.over_default()?.median.recip())).collect();
    let gain = geometric_mean(&gains).unwrap_or(0.0);
    let mut text = format!(
        "In {near} of {cases} writes auto takes at most {percent:.0} % more than the best fixed choice, in {slower} it surely takes \
         more (with 95 % confidence each); {mean:.2} times as long on the geometric mean, at worst {worst:.2} times. It is \
         {gain:.2} times as fast as balanced."
    );
    let chances: Vec<Chance> = rows.iter().filter_map(MeasuredTimes::chance).collect();
    let same = || chances.iter().map(|chance| chance.same);
    if let (Some(least), Some(most)) = (same().reduce(f64::min), same().reduce(f64::max)) {
        let near = |ratio: fn(&Chance) -> f64| chances.iter().filter(|chance| ratio(chance) <= NEAR).count();
        let (auto, default) = (near(|chance| chance.auto), near(|chance| chance.default));
        text += &format!(
            " In {} writes auto does what balanced does, and takes {least:.2} to {most:.2} times as long: so much is chance. Of \
             these, auto is within {percent:.0} % of the best other choice in {auto}, and balanced in {default}.",
            chances.len()
        );
    }
    let again = sum(rows.iter().map(|row| &row.again));
    if again.cases > 0 {
        let Sum { cases, near, slower, worst, mean } = again;
        text += &format!(
            " When the same calls come again in the open file: {near} of {cases}, surely more in {slower}, {mean:.2} times on the \
             geometric mean, at worst {worst:.2} times."
        );
    }
    text
}

const HEAD: [&str; 10] = [
    "MPI",
    "ranks",
    "nodes",
    "pattern",
    "auto takes",
    "milliseconds",
    "best fixed choice",
    "auto / best",
    "auto / balanced",
    "again: auto / best",
];

fn cells(row: &MeasuredTimes) -> [String; 10] {
    let dash = || "-".to_string();
    let shown = |ratio: Ratio| format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.least, ratio.most);
    let best = over_best(&row.first);
    [
        row.library.clone(),
        row.ranks.to_string(),
        row.nodes.to_string(),
        row.pattern.clone(),
        row.chosen.clone(),
        row.seconds().map_or_else(dash, |seconds| format!("{:.2}", seconds * 1e3)),
        best.map_or_else(dash, |(name, _)| name.to_string()),
        best.map_or_else(dash, |(_, ratio)| shown(ratio)),
        row.over_default().map_or_else(dash, |ratio| format!("{:.2}", ratio.median)),
        over_best(&row.again).map_or_else(dash, |(name, ratio)| format!("{:.2} ({name})", ratio.median)),
    ]
}

/// Returns the rows as a table for a terminal.
pub fn text(rows: &[MeasuredTimes], left_out: &[String]) -> String {
    let mut table = listing::page(HEAD);
    rows.iter().for_each(|row| {
        table.add_row(cells(row));
    });
    let left_out: String = left_out.iter().map(|what| format!("\nleft out: {what}")).collect();
    format!("{table}\n{}{left_out}", sentence(rows))
}

/// Returns the rows as JSON.
pub fn object(rows: &[MeasuredTimes], left_out: &[String]) -> Value {
    let of = |sum: Sum| {
        let Sum { cases, near, slower, worst, mean } = sum;
        json!({ "cases": cases, "within_5_percent": near, "surely_slower": slower, "worst": worst, "mean": mean })
    };
    json!({
        "rows": rows,
        "left_out": left_out,
        "first": of(sum(rows.iter().map(|row| &row.first))),
        "again": of(sum(rows.iter().map(|row| &row.again))),
    })
}

/// Checks that a document has a place for the table.
///
/// # Errors
/// The document has none, or cannot be read.
pub fn check(path: &Path) -> Result<(), Failure> {
    document::check(path, &[table(&[])])
}

/// Writes the table into the document.
///
/// # Errors
/// The errors of [`check`], and errors of the operating system.
pub fn write(path: &Path, rows: &[MeasuredTimes]) -> Result<(), Failure> {
    document::write(path, &[table(rows)])
}

fn table(rows: &[MeasuredTimes]) -> Table {
    let alignment = ["---", "--:", "--:", "---", "---", "--:", "---", "--:", "--:", "--:"];
    Table::of((BEGIN, END), &sentence(rows), [&HEAD, &alignment], rows.iter().map(cells))
}
