//! `trib-lab algorithms`: the collective algorithms and exchange kernels of the registries, counted and drawn.
//!
//! | module | holds |
//! |---|---|
//! | [`catalogue`] | all of them as rows of one type |
//! | [`notes`] | additions to the registries: when to use an algorithm, and the example that is drawn |
//! | [`case`] | ranks, nodes, sizes, and the schedules of all ranks |
//! | [`exchange`] | an all-to-many exchange as a case |
//! | [`counts`] | rounds, messages, bytes |
//! | [`holdings`] | which ranks' bytes every rank has after each round |
//! | [`show`] | the picture |
//! | `page` | `lab/docs/algorithms.md` and its pictures |

mod case;
mod catalogue;
mod counts;
mod exchange;
mod holdings;
mod notes;
#[cfg(test)]
mod page;
mod show;

use serde_json::{Value, json};
use trib::numbers::grouped;
use trib::{Failure, limits, listing, say};

use crate::cli::algorithms::{AlgorithmsCommand, AlgorithmsOptions};
use case::AlgorithmCase;
use catalogue::Entry;
use counts::Counts;

/// Maximum number of ranks that are counted: some algorithms send p^2 messages.
const MOST_RANKS: usize = 512;

/// Prints all algorithms, or draws one.
pub fn run(options: &AlgorithmsOptions) -> Result<(), Failure> {
    match &options.command {
        Some(AlgorithmsCommand::Show(options)) => show::run(options),
        None => list(options),
    }
}

fn list(options: &AlgorithmsOptions) -> Result<(), Failure> {
    let AlgorithmsOptions { ranks, ranks_per_node, bytes, json, .. } = *options;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(Failure::new(format!("ranks: {ranks}; allowed: 1 to {MOST_RANKS}")));
    }
    limits::at_most("bytes", bytes, limits::MOST_BYTES)?;
    if !bytes.is_multiple_of(8) {
        return Err(Failure::new(format!("bytes: {bytes}; allowed: a multiple of 8 above 0")));
    }
    let mut rows = Vec::new();
    for entry in catalogue::all() {
        let case = AlgorithmCase::even(&entry, ranks, ranks_per_node, bytes)?;
        let counts = Counts::of(&entry, &case)?;
        rows.push((entry, case, counts));
    }
    if json {
        let objects: Vec<_> = rows.iter().map(|(entry, case, counts)| object(entry, case, counts)).collect();
        return say(serde_json::to_string_pretty(&objects)?);
    }
    let columns = ["operation", "name", "paper", "equation", "rounds", "messages", "bytes"];
    let mut table = listing::table(columns);
    for (entry, _, counts) in &rows {
        let (paper, equation) = entry.paper();
        let numbers = [counts.rounds, counts.all.messages, counts.all.bytes].map(grouped);
        let words = [entry.operation, entry.name, &paper, &equation].map(str::to_string);
        table.add_row(words.into_iter().chain(numbers));
    }
    say(format!(
        "{table}\nCounted for {ranks} ranks, {ranks_per_node} per node, and blocks (in a broadcast or reduction: a message) \
        of {} bytes. Descriptions and costs: lab/docs/algorithms.md, --json. Pictures: trib-lab algorithms show NAME.",
        grouped(bytes)
    ))
}

fn object(entry: &Entry, case: &AlgorithmCase, counts: &Counts) -> Value {
    let (paper, equation) = entry.paper();
    json!({
        "operation": entry.operation,
        "name": entry.name,
        "about": entry.about,
        "paper": paper,
        "equation": equation,
        "source": entry.source,
        "cost": entry.cost,
        "when": entry.when,
        "irregular": entry.irregular,
        "ranks": case.ranks(),
        "ranks_per_node": case.ranks_per_node,
        "block_bytes": case.unit,
        "rounds": counts.rounds,
        "messages": counts.all.messages,
        "bytes": counts.all.bytes,
        "between_nodes": { "messages": counts.between.messages, "bytes": counts.between.bytes },
    })
}
