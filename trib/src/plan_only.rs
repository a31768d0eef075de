//! `trib replay --plan-only`: counts what a collective write of any number of ranks would exchange, and writes nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::ProgressBar;
use serde_json::json;
use tributary::drivers::{Driver, DriverName, Layout, SystemFiles, create, driver};
use tributary::engine::planning::{Exchanged, HISTOGRAM, Planner, count_bytes};
use tributary::engine::{AccessStats, FanIn};
use tributary::{Hints, Topology};
use tributary_benchmarks::{Pattern, PatternError, RankAccess};

use crate::buffers::laid_out;
use crate::cli::replay::{How, MemoryLayout};
use crate::numbers::{grouped, sized};
use crate::report::{facts, kernel};
use crate::{Failure, hints, report, rest, say};

/// Default number of ranks per node.
const RANKS_PER_NODE: usize = 64;
/// Number of bytes of an offset-length pair, as ROMIO sends it for every request.
const PAIR: u64 = 16;

/// Sums over all planned calls.
#[derive(Default)]
struct PlanTotals {
    aggregators: usize,
    extents: u64,
    bytes: u64,
    rounds: u64,
    metadata_bytes: u64,
    metadata_messages: u64,
    data_messages: u64,
    /// Fan-in of the aggregators in each call with an exchange.
    fan_in: Vec<FanIn>,
}

impl PlanTotals {
    /// Adds one call. Windows of different calls are distinct, even if they have the same number.
    fn add(&mut self, aggregators: usize, call: &Exchanged) {
        self.aggregators = self.aggregators.max(aggregators);
        self.extents += call.extents;
        self.bytes += call.bytes;
        self.rounds = self.rounds.max(call.rounds());
        self.metadata_bytes += call.metadata_bytes;
        self.metadata_messages += call.metadata_messages;
        self.data_messages += call.data_messages;
        self.fan_in.extend(Some(call.fan_in()).filter(|fan_in| fan_in.max > 0));
    }

    /// Returns the minimum and maximum fan-in over all calls, and the median of the calls' medians.
    fn fan_in(&self) -> FanIn {
        let mut medians: Vec<_> = self.fan_in.iter().map(|call| call.median).collect();
        medians.sort_unstable();
        FanIn {
            min: self.fan_in.iter().map(|call| call.min).min().unwrap_or(0),
            median: medians.get(medians.len().saturating_sub(1) / 2).copied().unwrap_or(0),
            max: self.fan_in.iter().map(|call| call.max).max().unwrap_or(0),
        }
    }
}

/// Plans the calls of a pattern and prints the counts.
pub fn run(pattern: &dyn Pattern, how: &How, as_json: bool) -> Result<(), Failure> {
    let hints = &hints::of_replay(how)?;
    // One node with thousands of ranks is not realistic. The report states the assumption.
    let (per_node, assumed) = match hints.ranks_per_node {
        0 => (RANKS_PER_NODE, format!(" Assumed: {RANKS_PER_NODE} ranks per node (--ranks-per-node).")),
        hinted => (hinted, String::new()),
    };
    let topology = Topology::blocks(pattern.ranks(), per_node)?;
    let (name, mut all) = (probe(hints)?.0, PlanTotals::default());
    for step in 0..pattern.steps() {
        plan(PatternCall { pattern, step, buffer: how.buffer }, &topology, hints, &mut all)?;
    }
    let totals = pattern.totals();
    let per_request = all.metadata_bytes as f64 / totals.requests.max(1) as f64;
    let pairs = all.extents * PAIR;
    let pairs_per_request = pairs as f64 / totals.requests.max(1) as f64;
    let fan_in = all.fan_in();
    if as_json {
        let object = json!({
            "pattern": pattern.name(),
            "source": pattern.describe(),
            "ranks": pattern.ranks(),
            "nodes": topology.nodes(),
            "aggregators": all.aggregators,
            "requests": totals.requests,
            "extents": all.extents,
            "calls": pattern.steps(),
            "bytes": all.bytes,
            "rounds": all.rounds,
            "driver": name.to_string(),
            "kernel": { "metadata": kernel(hints, true), "data": kernel(hints, false) },
            "throttle": { "metadata": hints.throttle_meta().to_string(), "data": hints.throttle_data().to_string() },
            "metadata_bytes": all.metadata_bytes,
            "metadata_bytes_as_pairs": pairs,
            "metadata_bytes_per_request": { "pairs": pairs_per_request, "codec": per_request },
            "planned_for": "flat kernels",
            "messages": { "metadata": all.metadata_messages, "data": all.data_messages },
            "fan_in": fan_in,
        });
        return say(object);
    }
    let rows = [
        ("pattern", format!("{}: {}", pattern.name(), pattern.describe())),
        ("ranks", format!("{} on {} node(s)", grouped(pattern.ranks() as u64), topology.nodes())),
        ("aggregators", format!("{}, driver {name}", all.aggregators)),
        ("requests", grouped(totals.requests)),
        ("bytes", sized(all.bytes)),
        ("calls", grouped(pattern.steps() as u64)),
        ("rounds", grouped(all.rounds)),
        ("fan-in per round", report::fan_in(&fan_in)),
        ("metadata as 16-byte pairs", format!("{}, {pairs_per_request:.4} bytes per request", sized(pairs))),
        ("metadata as sent", format!("{}, {per_request:.4} bytes per request", sized(all.metadata_bytes))),
        ("metadata messages", grouped(all.metadata_messages)),
        ("data messages", grouped(all.data_messages)),
    ];
    say(format!("{}\nPlanned for flat kernels; nothing was written.{assumed}", facts(rows)))
}

/// One collective call of a pattern.
#[derive(Clone, Copy)]
struct PatternCall<'a> {
    pattern: &'a dyn Pattern,
    step: usize,
    buffer: Option<MemoryLayout>,
}

/// Plans one call, which has its own file domains.
fn plan(call: PatternCall<'_>, topology: &Topology, hints: &Hints, all: &mut PlanTotals) -> Result<(), Failure> {
    let (_, driver, layout) = probe(hints)?;
    let merge = |all: &mut AccessStats, other: AccessStats| all.merge(&other);
    let own = |all: &mut AccessStats, _, access: &RankAccess| all.merge(&AccessStats::from_extents(&access.file, 0));
    let amount = fold(call, "ranges", AccessStats::NONE, own, merge)?;
    let add = |all: &mut Vec<u64>, other: Vec<u64>| all.iter_mut().zip(other).for_each(|(a, b)| *a += b);
    let count = |all: &mut Vec<u64>, _, access: &RankAccess| add(all, count_bytes(&access.file, &amount));
    let histogram = || fold(call, "where the bytes are", vec![0; HISTOGRAM], count, add);
    let planner = Planner::new(topology.clone(), layout, driver, hints.clone(), &amount, histogram)?;
    let plan = |all: &mut Exchanged, rank, access: &RankAccess| *all += planner.rank(rank, &access.file);
    let exchanged = fold(call, "plans", Exchanged::default(), plan, |all, other| *all += other)?;
    all.add(planner.aggregators.len(), &exchanged);
    Ok(())
}

/// Returns the driver, with its name, and the layout that a new file in the temporary directory has under these hints.
fn probe(hints: &Hints) -> Result<(DriverName, Box<dyn Driver>, Layout), Failure> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("probe");
    let name = hints.driver.resolved(&SystemFiles, &path);
    let (driver, asked) = (driver(name, &path), hints.for_driver());
    let file = create(&SystemFiles, &path, &asked)?;
    let layout = driver.layout(&SystemFiles, &path, &*file, &asked)?;
    Ok((name, driver, layout))
}

/// Combines the accesses of all ranks into one value, on all cores, with a progress bar on a terminal.
fn fold<T: Send + Sync + Clone>(
    call: PatternCall<'_>,
    what: &'static str,
    empty: T,
    add: impl Fn(&mut T, usize, &RankAccess) + Sync,
    merge: impl Fn(&mut T, T),
) -> Result<T, PatternError> {
    let PatternCall { pattern, step, buffer } = call;
    let style = rest::style("{msg:34} {wide_bar} {pos}/{len} ranks, {left}");
    let bar = ProgressBar::new(pattern.ranks() as u64).with_style(style);
    bar.set_message(match pattern.steps() {
        1 => what.to_string(),
        steps => format!("{what}, call {} of {steps}", step + 1),
    });
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut part = empty.clone();
        loop {
            let rank = next.fetch_add(1, Ordering::Relaxed);
            if rank >= pattern.ranks() {
                return Ok(part);
            }
            add(&mut part, rank, &laid_out(pattern.rank_access(rank, step)?, buffer)?);
            bar.inc(1);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<Result<T, PatternError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let panicked = |_| Err(PatternError::argument("planning", "a thread panicked", "no panic"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    bar.finish_and_clear();
    let mut all = empty.clone();
    for part in parts {
        merge(&mut all, part?);
    }
    Ok(all)
}
