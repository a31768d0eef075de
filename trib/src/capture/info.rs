//! `trib capture info`: prints what a capture contains.

use serde_json::{Value, json};
use tributary::engine::Capture;
use tributary::engine::capture::{Call, CallOutcome, Header};

use crate::cli::capture::InfoOptions;
use crate::listing::table;
use crate::numbers::{counted, grouped};
use crate::{Failure, say};

/// Sums over all ranks for one call.
#[derive(Clone, Default, PartialEq)]
struct Sum {
    ranks: u64,
    requests: u64,
    bytes: u64,
    memory_pieces: u64,
}

/// Consecutive calls with the same sums.
struct AlikeCalls {
    first: usize,
    count: usize,
    direction: &'static str,
    sum: Sum,
    path: String,
    why: String,
    seconds: f64,
}

/// Prints the contents of a capture.
pub fn run(options: &InfoOptions) -> Result<(), Failure> {
    let capture = Capture::open(&options.capture)?;
    let (rows, encoded) = rows(&capture)?;
    if options.json {
        return say(serde_json::to_string_pretty(&as_json(&capture, &rows, encoded))?);
    }
    say(as_text(&capture, &rows, encoded))
}

fn rows(capture: &Capture) -> Result<(Vec<AlikeCalls>, u64), Failure> {
    let outcomes = capture.outcomes()?;
    let mut sums = vec![Sum::default(); outcomes.len()];
    let (mut first, mut encoded) = (Vec::new(), 0);
    for rank in 0..capture.header().ranks {
        encoded += capture.encoded_len(rank);
        let calls = capture.rank(rank)?;
        sums.iter_mut().zip(&calls).for_each(|(sum, call)| sum.add(call));
        if rank == 0 {
            first = calls;
        }
    }
    let mut rows: Vec<AlikeCalls> = Vec::new();
    for (number, ((call, outcome), sum)) in first.iter().zip(&outcomes).zip(sums).enumerate() {
        let row = AlikeCalls::new(number, call, outcome, sum);
        match rows.last_mut() {
            Some(last) if last.is_like(&row) => {
                last.count += 1;
                last.seconds += row.seconds;
            }
            _ => rows.push(row),
        }
    }
    Ok((rows, encoded))
}

impl Sum {
    fn add(&mut self, call: &Call) {
        self.ranks += u64::from(call.file.count() > 0);
        self.requests += call.file.count();
        self.bytes += call.file.bytes();
        self.memory_pieces += match &call.memory {
            tributary::BufferLayout::Contiguous => u64::from(call.file.count() > 0),
            tributary::BufferLayout::Extents(extents) => extents.count(),
        };
    }
}

impl AlikeCalls {
    fn new(first: usize, call: &Call, outcome: &CallOutcome, sum: Sum) -> Self {
        let (path, why, seconds) = match &outcome.report {
            Some(report) => (report.path.to_string(), report.why().to_string(), report.seconds.total),
            None => ("failed".to_string(), outcome.error.clone().unwrap_or_default(), call.took.as_secs_f64()),
        };
        Self { first, count: 1, direction: call.direction.name(), sum, path, why, seconds }
    }

    fn is_like(&self, next: &Self) -> bool {
        (self.direction, &self.sum, &self.path, &self.why) == (next.direction, &next.sum, &next.path, &next.why)
    }

    fn calls(&self) -> String {
        match self.count {
            1 => self.first.to_string(),
            count => format!("{} to {}", self.first, self.first + count - 1),
        }
    }
}

fn as_text(capture: &Capture, rows: &[AlikeCalls], encoded: u64) -> String {
    let Header { file, program, mode, ranks, nodes, driver, unit, factor, aggregators, seconds, library, .. } =
        capture.header();
    let hosts = nodes.iter().map(|(node, _)| node).max().map_or(0, |node| node + 1);
    let requests: u64 = rows.iter().map(|row| row.sum.requests * row.count as u64).sum();
    let mut table =
        table(["calls", "direction", "ranks", "requests", "bytes", "in memory", "path", "seconds a call", "why"]);
    for row in rows {
        table.add_row([
            row.calls(),
            row.direction.to_string(),
            grouped(row.sum.ranks),
            grouped(row.sum.requests),
            grouped(row.sum.bytes),
            counted(row.sum.memory_pieces, "piece"),
            row.path.clone(),
            format!("{:.6}", row.seconds / row.count as f64),
            row.why.clone(),
        ]);
    }
    let (calls, made) = (capture.calls(), capture.calls_made());
    let missing =
        if calls < made { format!(" of {made}: the others are past the limit in TRIB_CAPTURE") } else { String::new() };
    let per_request = encoded as f64 / requests.max(1) as f64;
    format!(
        "{file}, opened to {mode} by {program} (library {library}), open for {seconds:.3} s\n\
         {}, {}, {}; driver {driver}, unit {unit} bytes, {}\n\
         {}{missing}; lists and calls take {} bytes, {per_request:.4} a request\n{table}",
        counted(*ranks as u64, "rank"),
        counted(hosts as u64, "node"),
        counted(aggregators.len() as u64, "aggregator"),
        counted(u64::from(*factor), "stripe"),
        counted(calls, "call"),
        grouped(encoded),
    )
}

fn as_json(capture: &Capture, rows: &[AlikeCalls], encoded: u64) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "first": row.first, "count": row.count, "direction": row.direction, "ranks": row.sum.ranks,
                "requests": row.sum.requests, "bytes": row.sum.bytes, "memory_pieces": row.sum.memory_pieces,
                "path": row.path, "why": row.why, "seconds": row.seconds,
            })
        })
        .collect();
    json!({
        "header": capture.header(), "calls": capture.calls(), "calls_made": capture.calls_made(),
        "encoded_bytes": encoded, "rows": rows,
    })
}
