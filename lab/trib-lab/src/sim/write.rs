//! `trib-lab sim write`: simulates a collective write.

use std::sync::Arc;

use crate::machines::{check_memory, machine};
use indicatif::ProgressBar;
use trib::numbers::grouped;
use trib::progress;
use trib::{Failure, say};
use tributary::exchange::PAIRWISE;
use tributary::{Hints, Topology};
use tributary_benchmarks::{Pattern, PatternError};
use tributary_lab::forecast::{
    CollectiveWrite, CollectiveWriteOptions, FileDivision, MessageCounts, MetadataForm, Parts, SharedFile, Written,
};
use tributary_lab::sim::Machine;

use super::all_to_many::run_with_bar;
use crate::cli::sim::{ListForm, WriteHow, WriteOptions};

/// Inputs of the simulation, checked before anything long runs.
struct PreparedWrite {
    machine: Machine,
    topology: Topology,
    hints: Hints,
    pattern: Box<dyn Pattern>,
}

/// Simulates the write and prints its times.
pub fn run(options: &WriteOptions) -> Result<(), Failure> {
    let how = &options.how;
    let prepared = prepare(options)?;
    let PreparedWrite { machine, topology, hints, pattern } = &prepared;
    let range = range(&**pattern, how.call)?;
    let file = SharedFile::of(topology, hints, range)?;
    let lists = if how.list_form == ListForm::Pairs { MetadataForm::Pairs } else { MetadataForm::Packed };
    let aggregators = file.aggregators.len();
    let division = FileDivision { file, sample: how.sample, lists };
    let counted = bar(pattern.ranks(), "counting");
    let access = |rank| pattern.rank_access(rank, how.call).map(|access| access.file);
    let census = Arc::new(MessageCounts::gather::<PatternError>(pattern.ranks(), division, access, || counted.inc(1))?);
    counted.finish_and_clear();
    let write = CollectiveWriteOptions {
        topology: topology.clone(),
        hints: hints.clone(),
        io: !how.no_io,
        write_behind: how.write_behind,
        blocks: how.throttle_steps,
        empty_steps: how.empty_steps,
    };
    let workload = CollectiveWrite::new(machine, write, census.clone())?;
    if how.empty_steps && !workload.is_in_lockstep() {
        return Err(Failure::new(format!("--empty-steps: allowed with --kernel {PAIRWISE} in both phases")));
    }
    check_memory(topology.ranks() as u64, workload.under_way())?;
    let written = if workload.is_in_lockstep() {
        let bar = bar(census.sampled() as usize + 1, "exchanges");
        let written = workload.in_lockstep(machine, || bar.inc(1));
        bar.finish_and_clear();
        written
    } else {
        let outcome = run_with_bar(machine, topology, &workload, workload.messages(), 0)?;
        workload.outcome(&outcome.phases)
    };
    let prepared = PreparedWrite { hints: workload.hints().clone(), ..prepared };
    if how.json {
        return say(serde_json::to_string_pretty(&object(how, &prepared, aggregators, &census, &written))?);
    }
    say(text(how, &prepared, aggregators, &census, &written))
}

/// Reads and checks the options.
fn prepare(options: &WriteOptions) -> Result<PreparedWrite, Failure> {
    let how = &options.how;
    let mut machine = machine(&how.machine)?;
    if how.no_connections {
        machine.connection = None;
    }
    let per_node = how.ranks_per_node.unwrap_or(machine.ranks_per_node);
    let ranks = how.ranks.or(how.nodes.map(|nodes| nodes.saturating_mul(per_node)));
    let hints = hints(how, &machine)?;
    let pattern = options.pattern.subject(ranks)?.into_file("trib-lab sim write")?;
    if how.call >= pattern.steps() {
        return Err(Failure::new(format!("call: {}; allowed: 0 to {}", how.call, pattern.steps() - 1)));
    }
    let topology = Topology::blocks(pattern.ranks(), per_node)?;
    hints.check(pattern.ranks())?;
    Ok(PreparedWrite { machine, topology, hints, pattern })
}

fn hints(how: &WriteHow, machine: &Machine) -> Result<Hints, Failure> {
    let mut hints = Hints::default();
    how.hints.iter().try_for_each(|hint| hints.apply(hint))?;
    let own = machine.storage.map(|storage| storage.driver.to_string());
    let named = [
        ("trib_kernel_meta", how.metadata_kernel.as_ref().or(how.kernel.as_ref())),
        ("trib_kernel_data", how.kernel.as_ref()),
        ("trib_throttle_meta", how.throttle.as_ref()),
        ("trib_throttle_data", how.throttle.as_ref()),
        ("trib_driver", how.driver.as_ref().or(own.as_ref())),
    ];
    for (key, value) in named {
        if let Some(value) = value {
            hints.set(key, value)?;
        }
    }
    if how.throttle_steps {
        // In batch mode, the steps of a throttle are completed together.
        hints.set("trib_throttle_mode", "batch")?;
    }
    if machine.storage.is_none() && !how.no_io {
        let line =
            format!("machine {}: it has no [storage]; allowed: --no-io, or a machine with file servers", machine.name);
        return Err(Failure::new(line));
    }
    Ok(hints)
}

/// Returns the first byte of a call in the file, and one past the last.
fn range(pattern: &dyn Pattern, call: usize) -> Result<(u64, u64), Failure> {
    let bar = bar(pattern.ranks(), "ranges");
    let mut range = (u64::MAX, 0);
    for rank in 0..pattern.ranks() {
        if let Some((start, end)) = pattern.rank_access(rank, call)?.file.span() {
            range = (range.0.min(start), range.1.max(end));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((range.0.min(range.1), range.1))
}

fn bar(length: usize, what: &'static str) -> ProgressBar {
    progress(length as u64, what)
}

fn text(
    how: &WriteHow,
    prepared: &PreparedWrite,
    aggregators: usize,
    census: &MessageCounts,
    written: &Written,
) -> String {
    let PreparedWrite { machine, topology, hints, pattern } = prepared;
    let row = |name: &str, part: fn(&Parts) -> f64| {
        let [last, most, mean] = [&written.last, &written.most, &written.mean].map(part);
        format!("{name:10}{last:15.6}{most:15.6}{mean:15.6}\n")
    };
    let rows = [
        row("metadata", |parts| parts.metadata),
        row("data", |parts| parts.data),
        row("file", |parts| parts.file),
        row("other", |parts| parts.other),
        row("total", |parts| parts.total),
    ];
    let simulated = match (census.sampled(), census.rounds()) {
        (some, all) if some < all => format!(
            "{some} of {all} rounds, evenly spread, were simulated; the times of data, file and placement are scaled up."
        ),
        (_, all) => format!("All {all} rounds were simulated."),
    };
    let (told, sent) = census.fan_in();
    format!(
        "{}: {}\ncall {} of {} on {}, {} ranks on {} nodes to {} aggregators ({}); metadata {} throttle {}, data {} throttle {}\n\
         seconds     slowest rank       maximum           mean\n{}\
         {simulated}\n\
         {} requests; on average {told:.0} ranks send metadata to an aggregator, and {sent:.0} send data to it in a round.",
        pattern.name(),
        pattern.describe(),
        how.call + 1,
        pattern.steps(),
        machine.name,
        grouped(topology.ranks() as u64),
        topology.nodes(),
        aggregators,
        hints.driver,
        hints.metadata_kernel(),
        hints.throttle_meta(),
        hints.data_kernel(),
        hints.throttle_data(),
        rows.concat(),
        grouped(census.requests()),
    )
}

fn object(
    how: &WriteHow,
    prepared: &PreparedWrite,
    aggregators: usize,
    census: &MessageCounts,
    written: &Written,
) -> serde_json::Value {
    let PreparedWrite { machine, topology, hints, pattern } = prepared;
    let (told, sent) = census.fan_in();
    serde_json::json!({
        "pattern": pattern.name(),
        "source": pattern.describe(),
        "call": how.call,
        "calls": pattern.steps(),
        "machine": machine.name,
        "ranks": topology.ranks(),
        "nodes": topology.nodes(),
        "aggregators": aggregators,
        "driver": hints.driver.to_string(),
        "kernel": { "metadata": hints.metadata_kernel().to_string(), "data": hints.data_kernel().to_string() },
        "throttle": { "metadata": hints.throttle_meta().to_string(), "data": hints.throttle_data().to_string() },
        "lists": if how.list_form == ListForm::Pairs { "pairs" } else { "packed" },
        "write_behind": how.write_behind,
        "throttle_steps": how.throttle_steps,
        "io": !how.no_io,
        "requests": census.requests(),
        "rounds": { "all": census.rounds(), "simulated": census.sampled() },
        "fan_in": { "metadata": told, "data": sent },
        "seconds": written,
    })
}
