//! `trib-lab sim all-to-many`: simulates repeated all-to-many exchanges.

use std::io::IsTerminal;

use crate::machines::{self, check_memory};
use indicatif::ProgressBar;
use trib::{Failure, limits, say};
use tributary::Topology;
use tributary::hints::KernelHint;
use tributary::schedule::{SendMode, Throttle};
use tributary_lab::forecast::{AllToMany, AllToManyKernel, AllToManyOptions};
use tributary_lab::sim::machine::Noise;
use tributary_lab::sim::{self, Machine, SimOutcome, Workload, goal};

use crate::cli::sim::AllToManyArguments;

/// Simulates the exchange and prints its times.
pub fn run(arguments: &AllToManyArguments) -> Result<(), Failure> {
    let machine = machine(arguments)?;
    let topology = Topology::blocks(arguments.ranks, arguments.ranks_per_node.unwrap_or(machine.ranks_per_node))?;
    check(arguments.ranks, arguments.receivers, arguments.iterations)?;
    let workload = AllToMany::new(options(arguments, &topology)?)?;
    if let Some(path) = &arguments.goal {
        let text = path.extension().is_some_and(|extension| extension == "goal");
        let failed = |cause: std::io::Error| Failure::new(format!("{}: {cause}", path.display()));
        let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
        let program = goal::Program::of(&workload, arguments.ranks)?;
        return if text { program.write_text(&mut file) } else { program.write_binary(&mut file) }.map_err(failed);
    }
    check_memory(arguments.ranks as u64, under_way(arguments, &workload))?;
    let outcome = simulate(&machine, &topology, &workload, arguments.seed)?;
    if arguments.json {
        return say(serde_json::to_string_pretty(&object(arguments, &topology, &workload, &outcome))?);
    }
    let seconds = outcome.seconds();
    say(format!(
        "{} on {}, {} ranks on {} nodes to {} receivers, {} iterations, throttle {}\n\
         total            {:12.6} s\n\
         posting receives {:12.6} s\n\
         posting sends    {:12.6} s\n\
         gather           {:12.6} s\n\
         waiting          {:12.6} s\n\
         Each time is the maximum over ranks. {} messages; queues of up to {} unexpected messages and {} posted receives.",
        arguments.kernel,
        machine.name,
        arguments.ranks,
        topology.nodes(),
        arguments.receivers,
        arguments.iterations,
        workload.throttle(),
        seconds.total,
        seconds.post_receives,
        seconds.post_sends,
        seconds.gather,
        seconds.waiting,
        outcome.messages,
        outcome.longest_unexpected,
        outcome.longest_posted,
    ))
}

/// Refuses an exchange that is too large to simulate.
pub fn check(ranks: usize, receivers: usize, iterations: u32) -> Result<(), Failure> {
    limits::at_most("receivers", receivers as u64, ranks as u64)?;
    let messages = (ranks as u64).checked_mul(receivers as u64).and_then(|all| all.checked_mul(u64::from(iterations)));
    limits::at_most("messages", messages.unwrap_or(u64::MAX), limits::MOST_MESSAGES)?;
    check_memory(ranks as u64, 0)
}

/// Runs a workload, with a progress bar on a terminal.
pub fn simulate(
    machine: &Machine,
    topology: &Topology,
    workload: &AllToMany,
    seed: u64,
) -> Result<SimOutcome, Failure> {
    run_with_bar(machine, topology, workload, workload.messages(), seed)
}

/// Runs a workload of `messages` messages, with a progress bar on a terminal.
pub fn run_with_bar(
    machine: &Machine,
    topology: &Topology,
    workload: &impl Workload,
    messages: u64,
    seed: u64,
) -> Result<SimOutcome, Failure> {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(messages) } else { ProgressBar::hidden() };
    bar.set_style(trib::rest::style("{wide_bar} {human_pos}/{human_len} messages, {left}"));
    let outcome = sim::run(machine, topology, workload, seed, |matched| bar.set_position(matched));
    bar.finish_and_clear();
    Ok(outcome?)
}

/// Returns the route of messages for a kernel's name.
pub fn way(kernel: &str, local_aggregators: usize) -> Result<AllToManyKernel, Failure> {
    Ok(match kernel.parse()? {
        KernelHint::Auto => {
            return Err(Failure::new("kernel: auto, which is of collective writes; allowed: a kernel".to_string()));
        }
        KernelHint::Flat(kernel) => AllToManyKernel::Flat(kernel),
        KernelHint::TwoLayer => AllToManyKernel::TwoLayer(local_aggregators),
    })
}

fn machine(arguments: &AllToManyArguments) -> Result<Machine, Failure> {
    let mut machine = machines::machine(&arguments.machine)?;
    if arguments.no_connections {
        machine.connection = None;
    }
    if arguments.links && machine.links.is_none() {
        return Err(Failure::new(format!("links: {} has none; allowed: a machine with [links]", machine.name)));
    }
    machine.hold_links = arguments.links;
    if let Some(sigma) = arguments.noise {
        if !(0.0..=1.0).contains(&sigma) {
            return Err(Failure::new(format!("noise: {sigma}; allowed: 0 to 1")));
        }
        machine.noise = Noise { host: sigma, latency: sigma };
    }
    Ok(machine)
}

fn options(arguments: &AllToManyArguments, topology: &Topology) -> Result<AllToManyOptions, Failure> {
    let throttle = if arguments.window { Throttle::sliding } else { Throttle::batch };
    Ok(AllToManyOptions {
        topology: topology.clone(),
        receivers: arguments.receivers,
        way: way(&arguments.kernel, arguments.local_aggregators as usize)?,
        throttle: arguments.throttle.map(throttle),
        iterations: arguments.iterations,
        bytes: arguments.message,
    })
}

/// Returns an upper bound of the number of messages that are under way at any time.
fn under_way(arguments: &AllToManyArguments, workload: &AllToMany) -> u64 {
    let synchronous = way(&arguments.kernel, 1)
        .is_ok_and(|way| matches!(way, AllToManyKernel::Flat(kernel) if kernel.mode == SendMode::Synchronous));
    let limit = workload.throttle().limit.map_or(u64::MAX, u64::from).min(arguments.receivers as u64);
    match way(&arguments.kernel, 1) {
        Ok(AllToManyKernel::Flat(_)) if !synchronous => workload.messages(),
        Ok(AllToManyKernel::Flat(_)) => limit * arguments.ranks as u64,
        _ => arguments.ranks as u64,
    }
}

fn object(
    arguments: &AllToManyArguments,
    topology: &Topology,
    workload: &AllToMany,
    outcome: &SimOutcome,
) -> serde_json::Value {
    serde_json::json!({
        "machine": arguments.machine,
        "ranks": arguments.ranks,
        "nodes": topology.nodes(),
        "receivers": arguments.receivers,
        "kernel": arguments.kernel,
        "throttle": workload.throttle().to_string(),
        "iterations": arguments.iterations,
        "message": { "least": arguments.message.0, "most": arguments.message.1 },
        "seed": arguments.seed,
        "links": arguments.links,
        "seconds": outcome.seconds(),
        "messages": outcome.messages,
        "events": outcome.events,
        "longest_unexpected": outcome.longest_unexpected,
        "longest_posted": outcome.longest_posted,
        "walked": outcome.walked,
    })
}
