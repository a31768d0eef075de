//! Counts of a pattern: its sums, and its fan-in for both ways to divide a file.

use serde_json::{Value, json};
use tributary_benchmarks::wrf::Trace;
use tributary_benchmarks::{ClosedForm, Division, Pattern};

use crate::cli::patterns::DivisionOptions;
use trib::exchange::describe;
use trib::numbers::{grouped, sized};
use trib::report::fan_in;

/// Returns the two ways to divide a file, with their names.
fn divisions(options: &DivisionOptions) -> [(&'static str, Division); 2] {
    let DivisionOptions { aggregators, stripe, window } = *options;
    [("lustre", Division::Stripes { stripe, aggregators }), ("gpfs", Division::Ranges { window, aggregators })]
}

/// Returns the counts of a pattern as JSON.
pub fn of(pattern: &dyn Pattern, options: &DivisionOptions) -> Value {
    let divided = divisions(options).map(|(name, division)| {
        let ClosedForm { requests, bytes, metadata_fan_in, data_fan_in } = pattern.closed_form(division);
        let form = json!({
            "window": division.window(),
            "aggregators": division.aggregators(),
            "requests": requests,
            "bytes": bytes,
            "fan_in": { "metadata": metadata_fan_in, "data": data_fan_in },
        });
        (name.to_string(), form)
    });
    json!({
        "source": pattern.describe(),
        "ranks": pattern.ranks(),
        "calls": pattern.steps(),
        "file_size": pattern.totals().file_size,
        "closed_form": Value::Object(divided.into_iter().collect()),
    })
}

/// Returns the counts of a pattern as names and texts.
pub fn rows(pattern: &dyn Pattern, options: &DivisionOptions) -> Vec<(&'static str, String)> {
    let totals = pattern.totals();
    let mut rows = vec![
        ("in numbers", pattern.describe()),
        ("ranks", grouped(pattern.ranks() as u64)),
        ("calls", grouped(pattern.steps() as u64)),
        ("file", format!("{} bytes", grouped(totals.file_size))),
    ];
    let count = |count: Option<u64>| count.map_or("unknown without --plan-only".to_string(), grouped);
    for (name, division) in divisions(options) {
        let form = pattern.closed_form(division);
        let sums = format!("{} requests, {}", grouped(form.requests), sized(form.bytes));
        let met = format!("metadata {}, data {}", count(form.metadata_fan_in), count(form.data_fan_in));
        let windows = format!("windows of {}, {} aggregators", sized(division.window()), division.aggregators());
        rows.push((name, format!("{sums}; fan-in at most: {met} ({windows})")));
    }
    rows
}

/// Returns the counts of an exchange as JSON.
pub fn of_exchange(trace: &Trace) -> Value {
    json!({
        "source": describe(trace),
        "ranks": trace.ranks(),
        "rounds": trace.rounds(),
        "requests": trace.messages(),
        "bytes": trace.bytes(),
        "largest": trace.largest(),
        "fan_in": trace.fan_in(),
    })
}

/// Returns the counts of an exchange as names and texts.
pub fn rows_of_exchange(trace: &Trace) -> Vec<(&'static str, String)> {
    vec![
        ("in numbers", describe(trace)),
        ("messages", format!("{}, the largest {}", grouped(trace.messages()), sized(trace.largest()))),
        ("bytes", sized(trace.bytes())),
        ("fan-in per round", fan_in(&trace.fan_in())),
    ]
}
