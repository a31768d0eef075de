//! Prints the report of a replay: a table, or JSON.

use std::path::Path;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};
use tributary::Hints;
use tributary::engine::FanIn;
use tributary_benchmarks::Pattern;

use crate::calls::Calls;
use crate::cli::replay::{Fabric, FileFormat};
use crate::numbers::{grouped, sized, speed};
use crate::rank_program::{Done, RunOutcome};

/// Replay of a file, and its results.
pub struct Replayed<'a> {
    /// Pattern that was replayed.
    pub pattern: &'a dyn Pattern,
    /// Hints of the replay.
    pub hints: &'a Hints,
    /// Results of the replay.
    pub outcome: &'a RunOutcome,
    /// Fabric on which the ranks ran.
    pub fabric: Fabric,
    /// Format of the file.
    pub format: FileFormat,
    /// Path of the file, if it is kept.
    pub output: Option<&'a Path>,
    /// True if the file has the right bytes; `None` if that was not checked.
    pub verified: Option<bool>,
    /// SHA-256 of the file; `None` if it was not computed.
    pub sha256: Option<String>,
}

/// Value of a hint that leaves the choice of the kernel to the engine.
const AUTO: &str = "auto";

/// Returns the name of a fabric.
pub fn name(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Threads => "threads",
        Fabric::Mpi => "mpi",
    }
}

/// Returns the results as one JSON object: the writes, with the reads under `read`; or the reads if nothing was
/// written.
pub fn json(replayed: &Replayed<'_>) -> Value {
    let Replayed { pattern, hints, outcome, .. } = replayed;
    let done = &outcome.done;
    let mut object = json!({
        "pattern": pattern.name(),
        "source": pattern.describe(),
        "operation": match done {
            Done::Wrote(_) => "write",
            Done::ReadBack(..) => "write and read",
            Done::Read(_) => "read",
        },
        "ranks": pattern.ranks(),
        "nodes": outcome.nodes,
        "requests": pattern.totals().requests,
        "format": if replayed.format == FileFormat::Netcdf { "netcdf" } else { "raw" },
        "driver": outcome.driver.to_string(),
        "fabric": name(replayed.fabric),
        "kernel": { "metadata": kernel(hints, true), "data": kernel(hints, false) },
        "throttle": { "metadata": hints.throttle_meta().to_string(), "data": hints.throttle_data().to_string() },
        "output": replayed.output,
        "verified": replayed.verified,
        "sha256": replayed.sha256,
    });
    insert(&mut object, done.calls(), done.wrote());
    if let Done::ReadBack(_, read) = done {
        object["read"] = json!({});
        insert(&mut object["read"], &read.calls, false);
    }
    object
}

/// Adds the keys that describe calls.
fn insert(object: &mut Value, calls: &Calls, writes: bool) {
    let keys = json!({
        "aggregators": calls.sum.aggregators,
        "extents": calls.sum.requests,
        "calls": calls.count,
        "plans_reused": calls.plans_reused,
        "bytes": calls.sum.bytes,
        "rounds": calls.sum.rounds,
        "path": calls.path(),
        "why": calls.why(),
        "metadata_bytes": calls.sum.metadata_bytes,
        "messages": { "metadata": calls.sum.metadata_messages, "data": calls.sum.data_messages },
        "in_memory": calls.sum.in_memory,
        "between_hosts": calls.sum.between_hosts,
        "seconds": calls.sum.seconds,
        "fan_in": calls.fan_in,
    });
    if let (Value::Object(object), Value::Object(keys)) = (object, keys) {
        object.extend(keys);
        object.insert(if writes { "bytes_written" } else { "bytes_read" }.to_string(), calls.bytes_in_file().into());
    }
}

/// Returns the name of a kernel, with its outer kernel if it has one.
pub fn kernel(hints: &Hints, metadata: bool) -> String {
    match if metadata { hints.metadata_kernel() } else { hints.data_kernel() } {
        tributary::hints::KernelHint::TwoLayer => format!("two_layer ({})", hints.two_layer_outer),
        flat => flat.to_string(),
    }
}

/// Returns the fan-in of aggregators as text.
pub fn fan_in(fan_in: &FanIn) -> String {
    format!("minimum {}, median {}, maximum {}", fan_in.min, fan_in.median, fan_in.max)
}

/// Returns a table of two columns: names and values.
pub fn facts(rows: impl IntoIterator<Item = (&'static str, String)>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    for (name, value) in rows {
        table.add_row([Cell::new(name), Cell::new(value)]);
    }
    table
}

/// Returns the report as text: a table of facts, then one of the phases.
pub fn table(replayed: &Replayed<'_>) -> String {
    let Replayed { pattern, hints, outcome, .. } = replayed;
    let calls = outcome.done.calls();
    let removed = || "temporary, removed (keep it with --output FILE)".to_string();
    let mut rows = vec![
        ("pattern", format!("{}: {}", pattern.name(), pattern.describe())),
        ("ranks", format!("{} on {} node(s), fabric {}", pattern.ranks(), outcome.nodes, name(replayed.fabric))),
        ("driver", outcome.driver.to_string()),
        ("requests", grouped(pattern.totals().requests)),
        ("bytes", sized(calls.sum.bytes)),
        ("calls", counted(calls)),
        ("speed", speeds(&outcome.done)),
        ("path", format!("{}: {}", calls.path_phrase(), calls.why())),
    ];
    if calls.has_exchanged() {
        rows.extend([
            ("aggregators", calls.sum.aggregators.to_string()),
            ("rounds", grouped(calls.sum.rounds)),
            ("fan-in per round", fan_in(&calls.fan_in)),
        ]);
    }
    rows.extend([
        ("verified", verified(replayed).to_string()),
        ("sha256", replayed.sha256.clone().unwrap_or_else(|| "not computed (--no-digest)".to_string())),
        ("file", replayed.output.map_or_else(removed, |path| path.display().to_string())),
    ]);
    let mut text = format!("{}\n{}", facts(rows), phases(calls, hints, outcome.nodes, "phase"));
    if let Done::ReadBack(_, read) = &outcome.done {
        text.push_str(&format!("\n{}", phases(&read.calls, hints, outcome.nodes, "phase of reading back")));
    }
    text
}

/// Returns the speed of writes or reads as text: the bytes of the calls divided by the seconds of the slowest rank in
/// each.
fn speeds(done: &Done) -> String {
    let of = |calls: &Calls| speed(calls.sum.bytes, calls.sum.seconds.total);
    match done {
        Done::ReadBack(wrote, read) => format!("{}, read back {}", of(wrote), of(&read.calls)),
        Done::Wrote(calls) => of(calls),
        Done::Read(read) => of(&read.calls),
    }
}

/// Returns a table of the phases of all calls of one direction; phases of an exchange only if there was one.
fn phases(calls: &Calls, hints: &Hints, nodes: usize, title: &str) -> Table {
    let mut phases = Table::new();
    phases.load_style(presets::UTF8_FULL_CONDENSED);
    phases.set_header([title, "kernel", "throttle", "messages", "bytes", "seconds"]);
    let dash = || "-".to_string();
    let mut phase = |name: &str, kernel: String, throttle: String, messages: String, bytes: String, seconds: f64| {
        phases.add_row([name.to_string(), kernel, throttle, messages, bytes, format!("{seconds:.4}")]);
    };
    let seconds = &calls.sum.seconds;
    phase("flatten", dash(), dash(), dash(), dash(), seconds.flatten);
    if calls.has_exchanged() {
        phase(
            "metadata exchange",
            named(hints, calls, 0),
            hints.throttle_meta().to_string(),
            grouped(calls.sum.metadata_messages),
            grouped(calls.sum.metadata_bytes),
            seconds.metadata,
        );
        phase(
            "data exchange",
            named(hints, calls, 1),
            hints.throttle_data().to_string(),
            grouped(calls.sum.data_messages),
            grouped(calls.sum.bytes),
            seconds.data,
        );
    }
    phase("placement", dash(), dash(), dash(), dash(), seconds.placement);
    phase("file I/O (overlaps)", dash(), dash(), dash(), grouped(calls.bytes_in_file()), seconds.io);
    phase("agreement", dash(), dash(), dash(), dash(), seconds.agreement);
    phase("total", dash(), dash(), dash(), dash(), seconds.total);
    // Parts of the exchanges: their time is not measured separately.
    if nodes > 1 {
        phases.add_row(["between hosts", "-", "-", "-", &grouped(calls.sum.between_hosts), "-"]);
    }
    if calls.sum.in_memory > 0 {
        phases.add_row(["in memory of the nodes", "-", "-", "-", &grouped(calls.sum.in_memory), "-"]);
    }
    for column in 3..6 {
        if let Some(column) = phases.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    phases
}

/// Returns the name of the kernel of metadata (phase 0) or data (phase 1); for `auto`, also the kernels that it chose.
fn named(hints: &Hints, calls: &Calls, phase: usize) -> String {
    match (kernel(hints, phase == 0), calls.taken(phase)) {
        (name, taken) if name == AUTO && !taken.is_empty() => format!("{name}: {}", taken.join(", ")),
        (name, _) => name,
    }
}

fn counted(calls: &Calls) -> String {
    match (calls.count, calls.plans_reused) {
        (1, _) => "1".to_string(),
        (count, reused) => format!("{} (plan reused by {})", grouped(count), grouped(reused)),
    }
}

fn verified(replayed: &Replayed<'_>) -> &'static str {
    match (replayed.verified, replayed.outcome.done.read()) {
        (Some(true), None) => "yes, byte for byte",
        (Some(true), Some(_)) => "yes, byte for byte, in every rank's buffer",
        (Some(false), _) => "NO",
        (None, _) => "not asked (--verify)",
    }
}
