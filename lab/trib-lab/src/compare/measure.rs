//! Measures the write and the read of one pattern on a number of ranks in a directory. First it tries hints for the MPI
//! library, then it measures all variants in alternation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::floors::Rates;
use super::part::MeasuredPart;
use super::row::{Key, Measured, Peer, Row};
use super::run::{Extra, Job};
use super::{same, system_calls, traffic};
use trib::compare::statistics::{Ratio, median};
use trib::compare::variant::{BESIDE, Variant};
use tributary::Extent;

use trib::Failure;
use trib::parallel::processors;

/// Plan of the measurement of one pattern.
pub struct Plan<'a> {
    /// Pattern, ranks and tools.
    pub job: Job<'a>,
    /// Numbers of the operations to measure: write (0), read (1).
    pub operations: Vec<usize>,
    /// Number of measurements of every variant.
    pub pairs: u64,
    /// Other libraries of `--peer`, with their names.
    pub peers: &'a [(String, Variant)],
    /// True if system calls are counted.
    pub system_calls: bool,
    /// Returns the bytes that the pattern writes, in ascending order; empty if they are not known.
    pub written: &'a dyn Fn() -> Result<Vec<Extent>, Failure>,
    /// Rates of links and files.
    pub rates: Rates,
}

/// Names of the operations, as the program prints them.
pub const OPERATIONS: [&str; 2] = ["write", "read"];
const FLOORS: [&str; 2] = ["floor-write", "floor-read"];

/// Variant that is measured: its roles (operation and name), and the output of its runs.
struct Turn {
    variant: Variant,
    roles: Vec<(usize, String)>,
    runs: Vec<Vec<MeasuredPart>>,
    equal: bool,
    calls: Result<[f64; 2], String>,
}

impl Turn {
    fn new(variant: Variant, roles: Vec<(usize, String)>) -> Self {
        Self { variant, roles, runs: Vec::new(), equal: true, calls: Err("not asked for".to_string()) }
    }

    fn has(&self, operation: usize, name: &str) -> bool {
        self.roles.iter().any(|(of, role)| *of == operation && role == name)
    }
}

/// Measures one pattern by a plan. Calls `step` with a description of each next step.
///
/// # Errors
/// A run fails, or a library reads other bytes than were written.
pub fn measure(plan: &Plan<'_>, keys: &[Key], system: &System, step: &dyn Fn(&str)) -> Result<Vec<Row>, Failure> {
    let mut turns = choose(plan, step)?;
    let folder = plan.job.file.parent().unwrap_or(Path::new("."));
    let reference = folder.join("reference");
    for pair in 0..plan.pairs {
        for turn in &mut turns {
            step(&format!("pair {} of {}: {}", pair + 1, plan.pairs, turn.roles[0].1));
            turn.runs.push(plan.job.parts(&turn.variant, &parts(plan, turn))?);
            turn.equal &= compare(plan, &reference)?;
        }
    }
    if plan.system_calls {
        for turn in &mut turns {
            step(&format!("system calls: {}", turn.roles[0].1));
            turn.calls = system_calls::count(&plan.job, &turn.variant, &writes_and_reads(plan));
        }
    }
    step("report");
    let report = plan.job.run(&Variant::ours(), &writes_and_reads(plan), Extra { report: true, strace: None })?.stderr;
    let _ = std::fs::remove_file(&reference);
    let rows =
        plan.operations.iter().zip(keys).map(|(&operation, key)| row(plan, &turns, operation, key, system, &report));
    rows.collect()
}

/// Properties of this machine and of our library, for rows.
pub struct System {
    /// Processor and number of cores.
    pub machine: String,
    /// Our library's version, and the beginning of its file's SHA-256.
    pub library: String,
    /// Type of the file system.
    pub file_system: String,
    /// Load average before any run.
    pub load: f64,
}

/// Number of times that each set of hints is tried; once if ranks share cores, which is slow.
const ROUNDS: usize = 2;

/// Runs all candidates in alternation, to find the best hints for each operation.
fn choose(plan: &Plan<'_>, step: &dyn Fn(&str)) -> Result<Vec<Turn>, Failure> {
    let mut candidates = vec![Variant::plain()];
    candidates.extend(plan.job.mpi.candidates(plan.job.ranks));
    let mut times = vec![[f64::INFINITY; 2]; candidates.len()];
    for alike in candidates.chunk_by(|a, b| a.launcher == b.launcher) {
        step(&format!("trying hints, {}", alike[0].setting));
        let rounds = if plan.job.ranks > processors() as u64 { 1 } else { ROUNDS };
        let turns: Vec<&Variant> = (0..rounds).flat_map(|_| alike).collect();
        match plan.job.in_turns(&turns, &writes_and_reads(plan)) {
            Ok(parts) => note(&mut times, &candidates, &turns, &parts),
            // A setting with which this MPI library fails is not a candidate; its defaults must work.
            Err(failure) if alike[0] == Variant::plain() => return Err(failure),
            Err(_) => {}
        }
    }
    let roles = |name: &str| plan.operations.iter().map(|&operation| (operation, name.to_string())).collect();
    let mut turns = vec![Turn::new(Variant::plain(), roles("default"))];
    for &operation in &plan.operations {
        let best = best(&times, operation);
        let role = (operation, "best".to_string());
        match turns.iter_mut().find(|turn| turn.variant == candidates[best]) {
            Some(turn) => turn.roles.push(role),
            None => turns.push(Turn::new(candidates[best].clone(), vec![role])),
        }
    }
    turns.push(Turn::new(Variant::ours(), roles("ours")));
    let beside = plan.job.mpi.beside(plan.job.ranks);
    turns.extend(beside.map(|(name, variant)| Turn::new(variant, roles(name))));
    turns.extend(plan.peers.iter().map(|(name, variant)| Turn::new(variant.clone(), roles(name))));
    Ok(turns)
}

/// Returns the number of the fastest candidate for an operation.
fn best(times: &[[f64; 2]], operation: usize) -> usize {
    let time = |candidate: &usize| times[*candidate][operation];
    (0..times.len()).min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or(0)
}

/// Keeps the minimum time of every candidate.
fn note(times: &mut [[f64; 2]], candidates: &[Variant], turns: &[&Variant], parts: &[MeasuredPart]) {
    for part in parts {
        let candidate = candidates.iter().position(|candidate| turns.get(part.set) == Some(&candidate));
        let operation = OPERATIONS.iter().position(|operation| *operation == part.part);
        if let (Some(candidate), Some(operation)) = (candidate, operation) {
            let time = &mut times[candidate][operation];
            *time = time.min(part.least("wall"));
        }
    }
}

/// Returns the parts of a run: the write, and the read if it is measured, which needs the write.
fn writes_and_reads(plan: &Plan<'_>) -> String {
    if plan.operations.contains(&1) { "write,read".to_string() } else { "write".to_string() }
}

/// Returns the parts to run for a variant. The floor is measured in the runs of the MPI library's own I/O.
fn parts(plan: &Plan<'_>, turn: &Turn) -> String {
    let floors = match turn.has(plan.operations[0], "default") {
        true if plan.operations.contains(&1) => ",floor-write,floor-read",
        true => ",floor-write",
        false => "",
    };
    writes_and_reads(plan) + floors
}

/// Keeps the first file as the reference, and compares later files with it. ROMIO leaves old contents of its buffers in
/// gaps of a new file, so that two of its own files may differ there: then only the bytes that the pattern writes are
/// compared.
fn compare(plan: &Plan<'_>, reference: &PathBuf) -> Result<bool, Failure> {
    let file = &plan.job.file;
    let fail = |cause: std::io::Error| Failure::new(format!("{}: {cause}", file.display()));
    if reference.exists() {
        if same::same_bytes(file, reference).map_err(fail)? {
            return Ok(true);
        }
        let written = (plan.written)()?;
        return Ok(!written.is_empty() && same::same_extents(file, reference, &written).map_err(fail)?);
    }
    std::fs::rename(file, reference).map_err(fail)?;
    Ok(true)
}

/// Combines the results of all runs of an operation into a row.
fn row(
    plan: &Plan<'_>,
    turns: &[Turn],
    operation: usize,
    key: &Key,
    system: &System,
    report: &str,
) -> Result<Row, Failure> {
    let of = |name: &str| -> Result<(&Turn, Vec<&MeasuredPart>), Failure> {
        let turn = turns.iter().find(|turn| turn.has(operation, name));
        let turn = turn.ok_or_else(|| Failure::new(format!("{}: {name} was not run", key.pattern)))?;
        let who = format!("{}: {name}", key.pattern);
        let parts: Result<_, _> =
            turn.runs.iter().map(|parts| MeasuredPart::find(parts, OPERATIONS[operation], &who)).collect();
        Ok((turn, parts?))
    };
    let measured = |name: &str| -> Result<(Measured, &Turn), Failure> {
        let (turn, parts) = of(name)?;
        Ok((together(&parts, turn.calls.as_ref().map(|calls| calls[operation])), turn))
    };
    let (ours, our_turn) = measured("ours")?;
    let our_cpu = cpu(&of("ours")?.1);
    let mut peers = BTreeMap::new();
    let names = ["default", "best"].into_iter().chain(BESIDE).chain(plan.peers.iter().map(|(name, _)| name.as_str()));
    for name in names.filter(|name| turns.iter().any(|turn| turn.has(operation, name))) {
        let (measured, turn) = measured(name)?;
        let (wall, cpu) =
            (Ratio::from_times(&measured.walls, &ours.walls), Ratio::from_times(&cpu(&of(name)?.1), &our_cpu));
        let peer = Peer {
            setting: turn.variant.setting.clone(),
            wall_ratio: wall.map(|ratio| ratio.median),
            wall_ratios: wall,
            cpu_ratio: cpu.map(|ratio| ratio.median),
            cpu_ratios: cpu,
            bytes_equal: turn.equal,
            measured,
        };
        peers.insert(name.to_string(), peer);
    }
    no_worse_than_default(&mut peers);
    let first = of("ours")?.1[0];
    let floors = turns.iter().filter(|turn| turn.has(operation, "default")).flat_map(|turn| &turn.runs);
    let floors = floors
        .filter_map(|parts| MeasuredPart::find(parts, FLOORS[operation], "").ok())
        .filter(|part| part.is_measured());
    let floor_seconds = median(&floors.map(|part| part.max("wall")).collect::<Vec<_>>());
    let mut traffic = traffic::of(report, &plan.job.file.display().to_string(), OPERATIONS[operation]);
    traffic.aggregator_peak_bytes = Some(ours.aggregator_peak_bytes);
    let file_floor_seconds = plan.rates.file_seconds(first.bytes);
    let network_floor_seconds = plan.rates.network_seconds(traffic.between_hosts);
    let of_rates = [file_floor_seconds, network_floor_seconds].into_iter().flatten().reduce(f64::max);
    let floor_seconds = of_rates.or(floor_seconds);
    Ok(Row {
        key: key.clone(),
        machine: system.machine.clone(),
        library: Some(system.library.clone()),
        file_system: system.file_system.clone(),
        load: system.load,
        calls: first.calls,
        bytes: first.bytes,
        bytes_equal: our_turn.equal && peers.values().all(|peer| peer.bytes_equal),
        floor_multiple: floor_seconds.map(|floor| ours.wall_seconds / floor).filter(|multiple| multiple.is_finite()),
        floor_seconds,
        file_floor_seconds,
        network_floor_seconds,
        ours,
        peers,
        traffic,
    })
}

/// Takes the MPI library's defaults as its best, if they are faster than the hints that were best in the trial.
fn no_worse_than_default(peers: &mut BTreeMap<String, Peer>) {
    let wall = |name: &str| peers.get(name).map(|peer| peer.measured.wall_seconds);
    if wall("default") < wall("best")
        && let Some(default) = peers.get("default").cloned()
    {
        peers.insert("best".to_string(), default);
    }
}

fn cpu(parts: &[&MeasuredPart]) -> Vec<f64> {
    parts.iter().map(|part| part.sum("cpu")).collect()
}

/// Returns the medians over the runs.
fn together(parts: &[&MeasuredPart], calls: Result<f64, &String>) -> Measured {
    let over = |value: &dyn Fn(&MeasuredPart) -> f64| {
        median(&parts.iter().map(|part| value(part)).collect::<Vec<_>>()).unwrap_or_default()
    };
    let told = |value: &dyn Fn(&MeasuredPart) -> Option<f64>| {
        parts.iter().map(|part| value(part)).collect::<Option<Vec<_>>>().and_then(|all| median(&all))
    };
    Measured {
        wall_seconds: over(&|part| part.max("wall")),
        cpu_seconds: over(&|part| part.sum("cpu")),
        open_close_seconds: over(&|part| part.max("open") + part.max("close")),
        context_switches: over(&|part| part.sum("voluntary") + part.sum("involuntary")),
        page_faults: over(&|part| part.sum("minor") + part.sum("major")),
        system_calls: calls.ok(),
        system_calls_missing: calls.err().cloned(),
        peak_bytes: over(&|part| part.max("peak")),
        job_peak_bytes: over(&|part| part.sum("peak")),
        job_pss_bytes: told(&|part| part.told_sum("pss")),
        aggregator_peak_bytes: over(&|part| part.max("growth")),
        call_p50_seconds: told(&|part| part.told_max("p50")),
        call_p99_seconds: told(&|part| part.told_max("p99")),
        walls: parts.iter().map(|part| part.max("wall")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_hints_may_be_none_and_differ_by_operation() {
        let times = [[2.0, 1.0], [1.0, 3.0], [f64::INFINITY; 2]];
        assert_eq!((best(&times, 0), best(&times, 1)), (1, 0));
    }
}
