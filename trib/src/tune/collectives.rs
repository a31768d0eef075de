//! `trib tune collectives`: measures which collective algorithm, in how many groups, is the fastest here.

use std::pin::pin;

use tributary::collectives::agree;
use tributary::fabric::threads;
use tributary::tuned::candidate::OPERATIONS;
use tributary::tuned::{Entry, Table};
use tributary::{Endpoint, Error};
use tributary_lab::tune::{Plan, Rule, best, tune};

use crate::cli::replay::Fabric;
use crate::cli::tune::CollectivesOptions;
use crate::tune::{advance, bar, writable};
use crate::{Failure, limits, listing, say};

/// Number of ranks on threads without --ranks.
const RANKS: u64 = 16;

/// Buffers of each rank: input, output, and a message in either direction.
const BUFFERS: u64 = 4;

/// Runs the command.
pub fn run(options: &CollectivesOptions) -> Result<(), Failure> {
    let plan = plan(options);
    match options.fabric {
        Fabric::Threads => {
            let ranks = options.ranks.unwrap_or(RANKS) as usize;
            let largest = plan.sizes.iter().copied().max().unwrap_or(0);
            let needed = largest.checked_mul(ranks as u64).and_then(|bytes| bytes.checked_mul(BUFFERS));
            limits::in_memory(&format!("{largest} bytes on {ranks} ranks"), needed)?;
            let measured = threads::run(ranks, |transport| measure(&mut Endpoint::new(transport), options, &plan))?;
            let first = measured.into_iter().next().ok_or_else(|| Failure::new("no ranks"))?;
            finish(options, "threads", &first?)
        }
        Fabric::Mpi => on_mpi(options, &plan),
    }
}

fn plan(options: &CollectivesOptions) -> Plan {
    let or = |given: &[u64], default: &[u64]| if given.is_empty() { default.to_vec() } else { given.to_vec() };
    let (sizes, least, most): (&[u64], _, _) = match options.quick {
        true => (&[8, 16 << 10], 3, 10),
        false => (&[8, 1 << 10, 16 << 10, 256 << 10], 5, 100),
    };
    let least = options.least.unwrap_or(least);
    let most = options.most.unwrap_or(most.max(least));
    Plan {
        operations: if options.operations.is_empty() { OPERATIONS.to_vec() } else { options.operations.clone() },
        sizes: or(&options.sizes, sizes),
        quick: options.quick,
        rule: Rule { least, most, confidence: options.confidence, error: options.error },
    }
}

#[cfg(not(feature = "mpi"))]
fn on_mpi(_options: &CollectivesOptions, _plan: &Plan) -> Result<(), Failure> {
    Err(super::without_mpi("fabric"))
}

/// Runs in every process.
#[cfg(feature = "mpi")]
fn on_mpi(options: &CollectivesOptions, plan: &Plan) -> Result<(), Failure> {
    let (_world, mut endpoint, speaks) = super::under_mpi(options.ranks)?;
    let measured = measure(&mut endpoint, options, plan).map_err(|error| Failure::new(error).said_by(speaks))?;
    if speaks { finish(options, "mpi", &measured) } else { Ok(()) }
}

/// Measures. Collective. Rank 0 shows its progress if standard error is a terminal.
fn measure(endpoint: &mut Endpoint, options: &CollectivesOptions, plan: &Plan) -> Result<Vec<Entry>, Error> {
    let waiting = endpoint.waiting().clone();
    let writable = if endpoint.rank() == 0 { writable(options.output.as_deref()) } else { Ok(()) };
    waiting.wait(pin!(agree(endpoint, writable)))?;
    let bar = bar(endpoint.rank());
    let measured = waiting.wait(pin!(tune(endpoint, plan, |done, of, next| advance(&bar, done, of, next))));
    bar.finish_and_clear();
    measured
}

fn finish(options: &CollectivesOptions, fabric: &str, measured: &[Entry]) -> Result<(), Failure> {
    let table = Table::new(fabric, best(measured));
    if let Some(path) = &options.output {
        std::fs::write(path, table.text()).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    }
    if options.json {
        let all = serde_json::json!({ "table": table, "measured": measured });
        return say(serde_json::to_string_pretty(&all)?);
    }
    match &options.output {
        Some(path) => {
            say(format!("{}\n{} entries in {}", shown(&table, measured), table.entries.len(), path.display()))
        }
        None => say(table.text().trim_end()),
    }
}

/// The fastest algorithm of each operation and size, beside the fastest without groups.
fn shown(table: &Table, measured: &[Entry]) -> comfy_table::Table {
    let mut shown =
        listing::table(["operation", "bytes", "fastest", "groups", "microseconds", "+-", "fastest of one group"]);
    for entry in &table.entries {
        let plain = measured
            .iter()
            .filter(|other| (other.operation, other.bytes, other.groups) == (entry.operation, entry.bytes, 1));
        let plain = plain.min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let micros = |seconds: f64| format!("{:.1}", seconds * 1e6);
        shown.add_row([
            entry.operation.to_string(),
            entry.bytes.to_string(),
            entry.inner.clone(),
            entry.groups.to_string(),
            micros(entry.seconds),
            format!("{:.1} %", entry.error * 100.0),
            plain.map_or_else(String::new, |plain| format!("{} {}", plain.inner, micros(plain.seconds))),
        ]);
    }
    shown
}
