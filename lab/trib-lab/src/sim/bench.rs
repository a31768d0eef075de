//! `trib-lab bench sim`: measures speed and memory of the simulator on one core of this machine.

use std::time::{Duration, Instant};

use crate::machines::machine;
use nix::time::{ClockId, clock_gettime};
use trib::{Failure, limits, listing, say};
use tributary::Topology;
use tributary::schedule::Throttle;
use tributary_lab::forecast::{AllToMany, AllToManyOptions};
use tributary_lab::sim::Machine;

use super::all_to_many::{simulate, way};
use crate::cli::sim::BenchSimOptions;

/// Runs of the benchmark: kernel, throttle, ranks, receivers.
const RUNS: [(&str, u32, usize, usize); 3] =
    [("ascending_isend", 0, 16_384, 64), ("ascending_issend", 0, 16_384, 64), ("balanced", 32, 16_384, 64)];
const MILLION: (&str, u32, usize, usize) = ("balanced", 32, 1 << 20, 256);

/// Cost of a run.
#[derive(serde::Serialize)]
struct Figures {
    kernel: &'static str,
    throttle: String,
    ranks: usize,
    receivers: usize,
    messages: u64,
    /// Wall time in seconds of preparing the kernel's message orders.
    setup_seconds: f64,
    /// Wall time of the run in seconds.
    seconds: f64,
    /// Processor time of the run in seconds, which other programs on the core do not affect.
    processor_seconds: f64,
    /// Number of messages per second of processor time.
    messages_a_second: f64,
    events: u64,
    peak_messages: usize,
    peak_bytes: Option<u64>,
    simulated_seconds: f64,
}

/// Runs all cases and prints their costs.
pub fn run(options: &BenchSimOptions) -> Result<(), Failure> {
    let machine = machine("cori-knl")?;
    let million = options.million.then_some(MILLION);
    let figures = RUNS.into_iter().chain(million).map(|run| measure(&machine, run)).collect::<Result<Vec<_>, _>>()?;
    if options.json {
        return say(serde_json::to_string_pretty(&figures)?);
    }
    let mut table = listing::table([
        "kernel",
        "throttle",
        "ranks",
        "messages",
        "seconds",
        "processor",
        "M messages/s",
        "peak",
        "simulated",
    ]);
    for run in &figures {
        let peak = run.peak_bytes.map_or("unknown".to_string(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
        table.add_row([
            run.kernel.to_string(),
            run.throttle.clone(),
            format!("{} to {}", run.ranks, run.receivers),
            run.messages.to_string(),
            format!("{:.2} + {:.2}", run.setup_seconds, run.seconds),
            format!("{:.2} s", run.processor_seconds),
            format!("{:.2}", run.messages_a_second / 1e6),
            peak,
            format!("{:.3} s", run.simulated_seconds),
        ]);
    }
    say(format!(
        "{table}\nseconds: wall time of preparing the kernel + of the run; processor: processor time of the run; \
        messages a second: per second of processor time."
    ))
}

fn measure(machine: &Machine, run: (&'static str, u32, usize, usize)) -> Result<Figures, Failure> {
    let (kernel, limit, ranks, receivers) = run;
    forget_peak();
    let begin = Instant::now();
    let topology = Topology::blocks(ranks, machine.ranks_per_node)?;
    let workload = AllToMany::new(AllToManyOptions {
        topology: topology.clone(),
        receivers,
        way: way(kernel, 1)?,
        throttle: Some(Throttle::batch(limit)),
        iterations: 1,
        bytes: (32, 256),
    })?;
    let setup_seconds = begin.elapsed().as_secs_f64();
    let (begin, processor) = (Instant::now(), processor_time()?);
    let outcome = simulate(machine, &topology, &workload, 0)?;
    let (seconds, processor_seconds) = (begin.elapsed().as_secs_f64(), (processor_time()? - processor).as_secs_f64());
    Ok(Figures {
        kernel,
        throttle: workload.throttle().to_string(),
        ranks,
        receivers,
        messages: outcome.messages,
        setup_seconds,
        seconds,
        processor_seconds,
        messages_a_second: outcome.messages as f64 / processor_seconds,
        events: outcome.events,
        peak_messages: outcome.peak_messages,
        peak_bytes: peak(),
        simulated_seconds: outcome.seconds().total,
    })
}

/// Returns the processor time of this thread.
fn processor_time() -> Result<Duration, Failure> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map(Duration::from).map_err(|cause| Failure::new(format!("processor time cannot be read: {cause}")))
}
/// Returns the peak memory of this process in bytes; `None` if the system does not report it.
fn peak() -> Option<u64> {
    limits::line("/proc/self/status", "VmHWM:")
}

/// Resets the recorded peak memory, if the system allows it.
fn forget_peak() {
    // Otherwise the next peak is that of the whole process, an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
