//! Prints the report of `trib-lab guidelines`: a table, or JSON.

use serde_json::{Value, json};
use trib::compare::statistics::median;
use trib::listing;

use super::benchmark::Benchmark;
use super::judge::{Implementation, ImplementationTimes, Violation};
use super::sizes::BlockSizes;
use crate::cli::guidelines::{GuidelinesOptions, Irregular};

/// Problem and its results.
pub struct MeasuredProblem {
    /// Operation that was measured.
    pub operation: Irregular,
    /// Block sizes of the problem.
    pub problem: BlockSizes,
    /// Measured times.
    pub times: ImplementationTimes,
    /// Violations that the times show.
    pub violations: Vec<Violation>,
}

/// Returns the results as tables, one for each operation.
pub fn table(benchmark: &Benchmark<'_>, options: &GuidelinesOptions, all: &[MeasuredProblem]) -> String {
    let mut text = String::new();
    for &operation in &options.operations {
        let name = |implementation: Implementation| implementation.name(operation);
        let [regular, padded, irregular, ours, again] = Implementation::ALL.map(name);
        let mut table = listing::page(["blocks", "b", "m", "m'", regular, padded, irregular, ours, again]);
        let mut violated = Vec::new();
        for measured in all.iter().filter(|measured| measured.operation == operation) {
            let MeasuredProblem { problem, times, violations, .. } = measured;
            let mut row = vec![problem.name.to_string(), problem.block.to_string()];
            row.extend([problem.bytes().to_string(), problem.padded().to_string()]);
            row.extend(times.iter().map(|times| format!("{:.1}", median(times).unwrap_or(0.0) * 1e6)));
            table.add_row(row);
            violated.extend(violations.iter().map(|violation| say(problem, violation)));
        }
        text += &format!("{table}\n{}\n", if violated.is_empty() { "No guideline is violated." } else { "Violated:" });
        violated.iter().for_each(|line| text += &format!("  {line}\n"));
    }
    let (ranks, root) = (benchmark.ranks(), benchmark.root());
    text += &format!("{ranks} ranks, root {root}, {}\n", tributary::fabric::mpi::library());
    text += &format!("Sizes in bytes; medians of {} measurements, microseconds.\n", options.repetitions);
    text += "(1) Equal blocks: the regular operation is no slower than an irregular one.\n";
    text += "(2) An irregular operation is no slower than MPI_Allreduce and the regular one on padded blocks, m'.\n";
    text + &format!("A guideline is violated if the median of pairs exceeds it by more than {} %.", options.slack)
}

fn say(problem: &BlockSizes, violation: &Violation) -> String {
    let (BlockSizes { name, block, .. }, Violation { guideline, by, against, ratio }) = (problem, violation);
    format!("({guideline}) by {by}: {name}, b = {block}: {ratio:.2} times as long as {against}")
}

/// Returns the results as JSON.
pub fn json(benchmark: &Benchmark<'_>, options: &GuidelinesOptions, all: &[MeasuredProblem]) -> String {
    let problems: Vec<Value> = all.iter().map(object).collect();
    let all = json!({
        "ranks": benchmark.ranks(),
        "root": benchmark.root(),
        "library": tributary::fabric::mpi::library(),
        "repetitions": options.repetitions,
        "slack_percent": options.slack,
        "problems": problems,
    });
    format!("{all:#}")
}

fn object(measured: &MeasuredProblem) -> Value {
    let MeasuredProblem { operation, problem, times, violations } = measured;
    let named = Implementation::ALL.iter().zip(times);
    let seconds: serde_json::Map<_, _> =
        named.map(|(who, times)| (who.name(*operation).to_string(), json!(median(times).unwrap_or(0.0)))).collect();
    let violations: Vec<Value> = violations
        .iter()
        .map(|v| json!({ "guideline": v.guideline, "by": v.by, "against": v.against, "ratio": v.ratio }))
        .collect();
    json!({
        "operation": format!("{operation:?}").to_lowercase(),
        "blocks": problem.name,
        "block": problem.block,
        "bytes": problem.bytes(),
        "padded_bytes": problem.padded(),
        "median_seconds": seconds,
        "violations": violations,
    })
}
