//! `trib replay wrf`: replays a recorded exchange with the data kernel, on any fabric, without a file.

use std::pin::pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tributary::collectives::{broadcast, gather};
use tributary::{Endpoint, Error, Hints, Topology};
use tributary_benchmarks::wrf::{Replay, ReplayReport, ReplaySettings, Trace};

use crate::Failure;
use crate::cli::replay::{Fabric, FileFormat, ReplayOptions};
use crate::numbers::{grouped, sized};
use crate::report::{facts, fan_in, kernel, name};

/// Result of a replay; the same on all ranks.
pub struct ReplayOutcome {
    report: ReplayReport,
    nodes: usize,
}

/// Refuses options that need a file.
///
/// # Errors
/// One of these options is given.
pub fn check(options: &ReplayOptions) -> Result<(), Failure> {
    let (how, wanted) = (&options.how, &options.wanted);
    let file = [
        ("--plan-only", wanted.plan_only),
        ("--read", wanted.read),
        ("--read-only", wanted.read_only.is_some()),
        ("--output", wanted.output.is_some()),
        ("--buffer", how.buffer.is_some()),
        ("--format", how.format != FileFormat::Raw),
    ];
    match file.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let name = options.pattern.source.name;
            Err(Failure::new(format!("{option}: {name} is an exchange without a file; allowed: other patterns")))
        }
        None => Ok(()),
    }
}

/// Replays the exchange. Every rank calls it. Collective; the same error on all ranks or none.
///
/// # Errors
/// Errors of the fabric, or a message that differs from what was sent.
pub fn run(mut endpoint: Endpoint, replay: &Replay, hints: &Hints) -> Result<ReplayOutcome, Failure> {
    let topology = topology(&mut endpoint, hints)?;
    let settings = ReplaySettings::from_hints(hints, &topology)?;
    let report = replay.run(&mut endpoint, &settings)?;
    Ok(ReplayOutcome { report, nodes: topology.nodes() })
}

/// Returns the placement of ranks on nodes: as the options pretend, or as the fabric says.
fn topology(endpoint: &mut Endpoint, hints: &Hints) -> Result<Topology, Error> {
    if hints.ranks_per_node > 0 {
        return Topology::blocks(endpoint.ranks(), hints.ranks_per_node);
    }
    let waiting = endpoint.waiting().clone();
    let own = (endpoint.node_label() as u64).to_le_bytes();
    let labels = waiting.wait(pin!(async {
        let all = gather(endpoint, 0, &own).await?.concat();
        broadcast(endpoint, 0, &all).await
    }))?;
    let (labels, _) = labels.as_chunks::<8>();
    Topology::listed(&labels.iter().map(|label| u64::from_le_bytes(*label) as usize).collect::<Vec<_>>())
}

/// Returns a line that describes the trace.
pub fn describe(trace: &Trace) -> String {
    format!(
        "{} messages of a trace, {} rounds, {} ranks: {}",
        trace.messages(),
        trace.rounds(),
        trace.ranks(),
        trace.name()
    )
}

/// Replay of an exchange, and its results.
pub struct ReplayedExchange<'a> {
    /// Trace of the exchange.
    pub trace: &'a Arc<Trace>,
    /// Hints of the replay.
    pub hints: &'a Hints,
    /// Fabric on which the ranks ran.
    pub fabric: Fabric,
    /// Results of the replay.
    pub outcome: &'a ReplayOutcome,
}

/// Returns the results as one JSON object, with the keys of a file's replay where they make sense. Every message is
/// always checked.
pub fn json(replayed: &ReplayedExchange<'_>) -> Value {
    let ReplayedExchange { trace, hints, fabric, outcome } = replayed;
    let report = &outcome.report;
    json!({
        "pattern": "wrf",
        "source": describe(trace),
        "ranks": report.ranks,
        "nodes": outcome.nodes,
        "requests": report.messages,
        "bytes": report.bytes_sent,
        "bytes_sent": report.bytes_sent,
        "bytes_received": report.bytes_received,
        "rounds": report.rounds,
        "fabric": name(*fabric),
        "kernel": { "data": kernel(hints, false) },
        "throttle": { "data": hints.throttle_data().to_string() },
        "messages": { "data": report.fabric_messages },
        "message_bytes": { "data": report.fabric_bytes },
        "seconds": { "total": report.seconds },
        "fan_in": report.fan_in,
        "verified": report.bytes_received == trace.bytes() && report.bytes_sent == trace.bytes(),
    })
}

/// Returns the results as a table.
pub fn table(replayed: &ReplayedExchange<'_>) -> String {
    let ReplayedExchange { trace, hints, fabric, outcome } = replayed;
    let report = &outcome.report;
    let rows = [
        ("pattern", format!("wrf: {}", describe(trace))),
        ("ranks", format!("{} on {} node(s), fabric {}", report.ranks, outcome.nodes, name(*fabric))),
        ("data kernel", format!("{}, throttle {}", kernel(hints, false), hints.throttle_data())),
        ("messages", grouped(report.messages)),
        ("bytes sent", sized(report.bytes_sent)),
        ("bytes received", format!("{}, every message as it was sent", sized(report.bytes_received))),
        (
            "carried by the fabric",
            format!("{} messages, {}", grouped(report.fabric_messages), sized(report.fabric_bytes)),
        ),
        ("rounds", grouped(report.rounds as u64)),
        ("fan-in per round", fan_in(&report.fan_in)),
        ("seconds", format!("{:.4}", report.seconds)),
    ];
    facts(rows).to_string()
}
