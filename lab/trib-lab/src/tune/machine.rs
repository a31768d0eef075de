//! `trib-lab tune machine`: measures what messages cost here, for the choice of kernels.

use std::pin::pin;

use tributary::collectives::agree;
use tributary::exchange::cost::Costs;
use tributary::fabric::threads;
use tributary::machine::{FIGURES, Machine};
use tributary::{Endpoint, Error};
use tributary_lab::tune::StoppingRule;
use tributary_lab::tune::machine::{MeasuredFigure, measure, nodes};

use crate::cli::tune::MachineOptions;
use crate::tune::{under_mpi, writable};
use trib::cli::replay::Fabric;
use trib::{Failure, listing, progress, say};

/// Default number of ranks on threads.
const RANKS: u64 = 8;
/// MPIBlib's stopping rule, with an error that keeps the measurement below a minute.
const RULE: StoppingRule = StoppingRule { least: 5, most: 40, error: 0.05 };

/// Runs the command.
pub fn run(options: &MachineOptions) -> Result<(), Failure> {
    match options.fabric {
        Fabric::Threads => {
            let ranks = options.ranks.unwrap_or(RANKS) as usize;
            let all = threads::run(ranks, |transport| measured(&mut Endpoint::new(transport), options, "threads"))?;
            let (machine, figures) = all.into_iter().next().ok_or_else(|| Failure::new("no ranks"))??;
            finish(options, &machine, &figures)
        }
        Fabric::Mpi => on_mpi(options),
    }
}

/// Runs the command on MPI, in every process.
fn on_mpi(options: &MachineOptions) -> Result<(), Failure> {
    let (_world, mut endpoint, prints) = under_mpi(options.ranks)?;
    let (machine, figures) =
        measured(&mut endpoint, options, "mpi").map_err(|error| Failure::new(error).said_by(prints))?;
    if prints { finish(options, &machine, &figures) } else { Ok(()) }
}

/// Measures what messages cost. Collective. Rank 0 shows its progress if standard error is a terminal.
fn measured(
    endpoint: &mut Endpoint,
    options: &MachineOptions,
    fabric: &str,
) -> Result<(Machine, Vec<MeasuredFigure>), Error> {
    let waiting = endpoint.waiting().clone();
    let writable = if endpoint.rank() == 0 { writable(options.output.as_deref()) } else { Ok(()) };
    let bar = if endpoint.rank() == 0 { progress(0, "") } else { indicatif::ProgressBar::hidden() };
    let advance = |done: usize, of: usize, next: &str| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        bar.set_message(next.to_string());
    };
    let measured = waiting.wait(pin!(async {
        agree(endpoint, writable).await?;
        let topology = nodes(endpoint, options.ranks_per_node).await?;
        measure(endpoint, &topology, fabric, &RULE, advance).await
    }));
    bar.finish_and_clear();
    measured
}

fn finish(options: &MachineOptions, machine: &Machine, figures: &[MeasuredFigure]) -> Result<(), Failure> {
    let text = machine.text();
    if let Some(path) = &options.output {
        std::fs::write(path, &text).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    }
    if options.json {
        let figure = |MeasuredFigure { name, value, half_width, repetitions }: &MeasuredFigure| serde_json::json!({ "figure": name, "value": value, "half_width": half_width, "repetitions": repetitions });
        let machine: serde_json::Value = serde_json::from_str(&text)?;
        let all = figures.iter().map(figure).collect::<Vec<_>>();
        return say(serde_json::to_string_pretty(&serde_json::json!({ "machine": machine, "measured": all }))?);
    }
    match &options.output {
        Some(path) => {
            let Machine { ranks, nodes, between, .. } = machine;
            let of = format!("{ranks} ranks, {nodes} nodes; messages between {between}");
            say(format!("{}\n{of}; figures in {}", shown(figures), path.display()))
        }
        None => say(text.trim_end()),
    }
}

/// Returns a table of the measured costs beside the costs that the library assumes.
fn shown(figures: &[MeasuredFigure]) -> comfy_table::Table {
    let mut shown = listing::table(["figure", "measured", "+-", "without a file", ""]);
    let mut built_in = Costs::CLUSTER;
    for figure in FIGURES {
        let unit = |value: f64| match figure.name.ends_with("_bytes") {
            true => format!("{value:.0} B"),
            false if value >= 1e-7 => format!("{:.3} µs", value * 1e6),
            false => format!("{:.4} ns", value * 1e9),
        };
        let measured = figures.iter().find(|measured| measured.name == figure.name);
        shown.add_row([
            figure.name.to_string(),
            measured.map_or("not measured".to_string(), |measured| unit(measured.value)),
            measured.filter(|it| it.half_width > 0.0).map_or_else(String::new, |it| unit(it.half_width)),
            unit(*(figure.of)(&mut built_in)),
            figure.meaning.to_string(),
        ]);
    }
    shown
}
