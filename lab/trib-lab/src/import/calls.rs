//! Makes the capture of a file: its header, and the calls of each rank.

use std::collections::BTreeMap;
use std::time::Duration;

use tributary::engine::capture::{Call, CallOutcome, Header};
use tributary::engine::{Direction, Path, Seconds};
use tributary::{BufferLayout, CallReport, Error, Extent, Extents};

use super::log::{Log, Module, Trace};
use super::windows::Window;
use trib::Failure;
use trib::limits::MOST_RANKS;

/// Stripe or block size in bytes of a file whose log has none.
const UNIT: u64 = 1 << 20;

/// Returns the capture's header for a file. Its open time is the time of its first call, because a trace has no time of
/// the open.
///
/// # Errors
/// Numbers of ranks that are not possible.
pub fn header(log: &Log, file: &str, module: Module, calls: &[Window]) -> Result<Header, Failure> {
    let highest = log.traces.iter().map(|trace| trace.rank).max().unwrap_or(0);
    let ranks = log.ranks.unwrap_or(highest.saturating_add(1));
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(Failure::new(format!("nprocs: {ranks}; allowed: 1 to {MOST_RANKS}")));
    }
    if highest >= ranks {
        return Err(Failure::new(format!("rank {highest}; allowed: 0 to {}, as of {ranks} ranks", ranks - 1)));
    }
    let (start, end) = span(calls);
    let of_file = || log.traces.iter().filter(|trace| trace.file == file);
    let (unit, factor) = of_file().find_map(|trace| trace.stripes).filter(|(unit, _)| *unit > 0).unwrap_or((UNIT, 0));
    let writes = calls.iter().any(|call| call.direction == Direction::Write);
    Ok(Header {
        file: file.to_string(),
        mode: if writes { "update" } else { "read" }.to_string(),
        program: log.program.clone(),
        library: format!("{module} of Darshan log {}", log.version),
        mpi: None,
        job: None,
        started: None,
        opened: log.started + start,
        seconds: end - start,
        ranks,
        nodes: nodes(&log.traces, ranks),
        driver: driver(of_file().map(|trace| trace.file_system.as_str())).to_string(),
        unit,
        factor,
        aggregators: Vec::new(),
        hints: BTreeMap::new(),
        asked: None,
        not_captured: None,
    })
}

fn span(calls: &[Window]) -> (f64, f64) {
    let start = calls.iter().map(|call| call.start).fold(f64::INFINITY, f64::min);
    (start, calls.iter().map(|call| call.end).fold(start, f64::max))
}

/// Returns the name of the driver for a file system, by the type in the log.
fn driver<'a>(mut types: impl Iterator<Item = &'a str>) -> &'static str {
    match types.find(|name| !name.is_empty()) {
        Some("lustre") => "lustre",
        Some("gpfs") => "gpfs",
        _ => "posix",
    }
}

/// Returns runs of consecutive ranks on one node, each as (node, number of ranks). Nodes are numbered by host as they
/// come; a rank without a trace is on the node of the rank before it.
fn nodes(traces: &[Trace], ranks: usize) -> Vec<(usize, usize)> {
    let mut hosts: BTreeMap<usize, &str> = BTreeMap::new();
    hosts.extend(traces.iter().map(|trace| (trace.rank, trace.host.as_str())));
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut nodes: Vec<(usize, usize)> = Vec::new();
    let first = hosts.values().next().copied().unwrap_or("");
    let mut host = first;
    for rank in 0..ranks {
        host = hosts.get(&rank).copied().unwrap_or(host);
        let count = numbers.len();
        let node = *numbers.entry(host).or_insert(count);
        match nodes.last_mut().filter(|(last, _)| *last == node) {
            Some((_, covered)) => *covered += 1,
            None => nodes.push((node, 1)),
        }
    }
    nodes
}

/// Returns the outcome of each call, as far as a trace records it.
pub fn outcomes(module: Module, calls: &[Window]) -> Vec<CallOutcome> {
    let outcome = |(number, call): (u64, &Window)| {
        let bytes = call.segments.iter().map(|(_, segment)| segment.len).sum();
        let writes = call.direction == Direction::Write;
        let report = CallReport {
            path: if module == Module::Posix { Path::Direct } else { Path::Exchange },
            text: Some(match module {
                Module::Posix => "calls of the file system, from Darshan".into(),
                Module::Mpiio => "not known: calls of MPI-IO, from Darshan".into(),
            }),
            requests: call.segments.len() as u64,
            bytes,
            bytes_written: if writes { bytes } else { 0 },
            bytes_read: if writes { 0 } else { bytes },
            seconds: Seconds { total: call.end - call.start, ..Seconds::default() },
            ..CallReport::default()
        };
        CallOutcome { call: number, direction: call.direction.name().to_string(), report: Some(report), error: None }
    };
    (0..).zip(calls).map(outcome).collect()
}

/// Returns the calls of a rank; a call in which the rank did nothing has no extents.
///
/// # Errors
/// Bytes beyond 2^63 - 1 in one call.
pub fn of_rank(rank: usize, calls: &[Window]) -> Result<Vec<Call>, Error> {
    let (opened, _) = span(calls);
    let since = |seconds: f64, from: f64| Duration::from_secs_f64((seconds - from).max(0.0));
    let call = |window: &Window| {
        let from = window.segments.partition_point(|(other, _)| *other < rank);
        let own = &window.segments[from..];
        let own = &own[..own.partition_point(|(other, _)| *other == rank)];
        let start = own.first().map_or(window.start, |(_, segment)| segment.start);
        let end = own.iter().map(|(_, segment)| segment.end).fold(start, f64::max);
        let extents = own.iter().map(|(_, segment)| Extent { offset: segment.offset, len: segment.len });
        Ok(Call {
            direction: window.direction,
            failed: false,
            file: Extents::from_list(extents)?,
            memory: BufferLayout::Contiguous,
            start: since(start, opened),
            took: since(end, start),
        })
    };
    calls.iter().map(call).collect()
}
