//! `trib-lab scale`: programs on the engine itself, in virtual time, on a simulated machine.

#[cfg(test)]
mod page;

use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use trib::numbers::grouped;
use trib::{Failure, limits, progress, say};
use tributary::engine::Direction;
use tributary::{Hints, Topology};
use tributary_benchmarks::Pattern;
use tributary_lab::runs::{RANK, Run, Took};
use tributary_lab::sim::Machine;

use crate::cli::scale::ScaleOptions;
use crate::kernels::write::Write;
use crate::machines::machine;

/// A name, and the pattern with its parameters for a number of ranks.
type NamedProgram = (&'static str, fn(usize) -> String);

/// The programs, with parameters for a number of ranks: so little data a rank that 16,384 ranks fit in memory.
const PROGRAMS: [NamedProgram; 6] = [
    ("e3sm-f", |_| "e3sm-f".to_string()),
    ("e3sm-g", |_| "e3sm-g".to_string()),
    // The smallest grid that can be divided among so many ranks.
    ("btio", |ranks| format!("btio --grid {} --iterations 1", 64.max(3 * ranks.isqrt()))),
    ("s3d", |ranks| {
        let [x, y, z] = factors(ranks);
        format!("s3d --points {}x{}x{} --grid {x}x{y}x{z}", 12 * x, 12 * y, 12 * z)
    }),
    ("flash", |_| "flash --blocks 2".to_string()),
    ("ior", |_| "ior -t 64KiB -b 64KiB -s 4 --one-call".to_string()),
];

/// Number of emulated hosts that share the processors of a machine file.
const EMULATED: usize = 4;

/// A run, as `--json` prints it.
#[derive(Serialize)]
struct Row<'a> {
    program: &'a str,
    parameters: &'a str,
    machine: &'a str,
    ranks: usize,
    nodes: usize,
    direction: Direction,
    /// Seconds of the calls divided by the least time that file servers, and ports of nodes, need for the bytes.
    of_the_floor: Option<f64>,
    floor: f64,
    /// Bytes of this process's memory for each rank, with all that the simulator holds for it.
    memory_of_a_rank: u64,
    /// Seconds of this machine for the run.
    simulated_in: f64,
    #[serde(flatten)]
    took: &'a Took,
}

/// Runs the programs and prints what they took.
///
/// # Errors
/// Programs, machines or hints that do not exist or do not fit; errors of the engine.
pub fn run(options: &ScaleOptions) -> Result<(), Failure> {
    let mut machine = machine(&options.machine)?;
    if options.no_connections {
        machine.connection = None;
    }
    let named = || PROGRAMS.iter().map(|(name, _)| name.to_string()).collect();
    let programs: Vec<String> = if options.programs.is_empty() { named() } else { options.programs.clone() };
    let per_node = options.ranks_per_node.unwrap_or(machine.ranks_per_node);
    // All are checked before the first runs.
    let mut cases = Vec::new();
    for program in &programs {
        for &ranks in &options.ranks {
            limits::in_memory(&format!("{ranks} ranks"), (ranks as u64).checked_mul(RANK))?;
            let known = PROGRAMS.iter().find(|(name, _)| name == program);
            let parameters = known.map_or_else(|| program.clone(), |(_, parameters)| parameters(ranks));
            let write = Write { name: parameters.clone(), capture: None };
            let pattern: Arc<dyn Pattern> = write.parsed()?.subject(Some(ranks))?.into_file("trib-lab scale")?.into();
            let topology = Topology::blocks(ranks, per_node)?;
            check_system(&topology)?;
            let hints = hints(options, &machine, ranks)?;
            hints.check(ranks)?;
            cases.push((program, parameters, pattern, topology, hints));
        }
    }
    let mut table = Table::new();
    table.set_header([
        "program",
        "ranks",
        "nodes",
        "path",
        "aggregators",
        "windows",
        "seconds",
        "of the floor",
        "open, s",
        "messages",
        "MB between hosts",
        "KB a rank",
        "simulated in, s",
    ]);
    let bar = progress(cases.len() as u64, "runs");
    for (program, parameters, pattern, topology, hints) in cases {
        reset_peak();
        let direction = if options.read { Direction::Read } else { Direction::Write };
        let mut machine = machine.clone();
        // Hosts that share the processors of one machine have as many each as the four of its file.
        machine.processors = machine.processors.map(|all| (all * topology.nodes()).div_ceil(EMULATED).max(1));
        let run =
            Run { machine, topology, hints, direction, calls: 0..pattern.steps(), is_sole: true, seed: options.seed };
        let begin = Instant::now();
        let took = run.of(pattern.clone())?;
        let floor = floor(&run, took.bytes);
        let row = Row {
            program,
            parameters: &parameters,
            machine: &run.machine.name,
            ranks: pattern.ranks(),
            nodes: run.topology.nodes(),
            direction,
            of_the_floor: (floor > 0.0).then(|| took.calls / floor),
            floor,
            memory_of_a_rank: peak() / pattern.ranks() as u64,
            simulated_in: begin.elapsed().as_secs_f64(),
            took: &took,
        };
        bar.inc(1);
        if options.json {
            say(serde_json::to_string(&row)?)?;
        }
        let first = took.reports.first();
        table.add_row([
            program.clone(),
            grouped(row.ranks as u64),
            grouped(row.nodes as u64),
            first.map_or("", |report| report.path.name()).to_string(),
            first.map_or(String::new(), |report| report.aggregators.to_string()),
            first.map_or(String::new(), |report| report.rounds.to_string()),
            format!("{:.4}", took.calls),
            row.of_the_floor.map_or(String::new(), |times| format!("{times:.2}")),
            format!("{:.4}", took.open),
            grouped(took.messages),
            grouped(took.between_hosts / 1_000_000),
            grouped(row.memory_of_a_rank / 1_000),
            format!("{:.1}", row.simulated_in),
        ]);
    }
    bar.finish_and_clear();
    if options.json { Ok(()) } else { say(table) }
}

/// Checks that the system has room for the ranks' stacks, of two mappings each, and for the memory of each node, a descriptor each.
fn check_system(topology: &Topology) -> Result<(), Failure> {
    let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    let needed = 2 * topology.ranks() + 8 * topology.nodes();
    if let Some(most) = mappings.filter(|&most: &usize| needed > most) {
        let ranks = topology.ranks();
        return Err(Failure::new(format!(
            "ranks: {ranks}, which need {needed} mappings; allowed: {most} (vm.max_map_count)"
        )));
    }
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // The most that this process may have: with fewer, nodes would share no memory.
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let needed = 4 * topology.nodes() as u64 + 64;
    if needed > hard.max(soft) {
        let nodes = topology.nodes();
        return Err(Failure::new(format!(
            "nodes: {nodes}, which need {needed} open files; allowed: {hard} (ulimit -n)"
        )));
    }
    Ok(())
}

fn hints(options: &ScaleOptions, machine: &Machine, ranks: usize) -> Result<Hints, Failure> {
    let mut hints = Hints::default();
    let Some(storage) = machine.storage else {
        return Err(Failure::new(format!(
            "machine {}: it has no [storage]; allowed: a machine with one",
            machine.name
        )));
    };
    hints.set("trib_driver", &storage.driver.to_string())?;
    if !storage.by_node && storage.driver == tributary::hints::DriverName::Lustre {
        hints.set("striping_factor", &storage.servers.min(64).min(ranks as u32).to_string())?;
        hints.set("striping_unit", "1048576")?;
    }
    options.hints.iter().try_for_each(|hint| hints.apply(hint))?;
    Ok(hints)
}

/// Returns the seconds that a run needs at least for its bytes: at its file servers, at all ranks as their clients, or at the ports of
/// the nodes, which those bytes pass that are not on the node that writes them, if all nodes write equal parts.
fn floor(run: &Run, bytes: u64) -> f64 {
    let Run { machine, topology, direction, .. } = run;
    let Some(storage) = machine.storage else { return 0.0 };
    let nodes = topology.nodes() as f64;
    let servers = match run.hints.striping_factor {
        _ if storage.by_node => nodes,
        Some(factor) => f64::from(factor.min(storage.servers)),
        None => f64::from(storage.servers),
    };
    let byte = if *direction == Direction::Read { storage.read_byte } else { storage.byte };
    let clients = bytes as f64 * storage.client_byte / topology.ranks() as f64;
    let file = (bytes as f64 * byte / servers).max(clients);
    let ports = bytes as f64 * (1.0 - 1.0 / nodes) / nodes * machine.node.inject_byte;
    file.max(ports) * 1e-12
}

/// Returns a number as three factors that are near to each other.
fn factors(number: usize) -> [usize; 3] {
    let divisor = |of: usize, near: usize| (1..=near).rev().find(|at| of.is_multiple_of(*at)).unwrap_or(1);
    let first = divisor(number, (number as f64).cbrt().round() as usize);
    let second = divisor(number / first, (number / first).isqrt());
    [first, second, number / first / second]
}

/// Lets the largest memory of this process count from now on.
fn reset_peak() {
    // Where this is not possible, the largest memory of all runs is shown.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the largest memory of this process, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}
