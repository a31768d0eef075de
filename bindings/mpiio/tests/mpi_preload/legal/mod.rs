//! Tests programs that the MPI standard allows, written after reports about other MPI-IO software. Each says at its
//! beginning what the standard promises, checks itself, and prints `ok`. `.ci/hosts` runs them on four hosts, too.

mod calls;
mod holes;
mod limits;
mod order;
mod pointers;
mod prefixes;
mod progress;
mod resources;
mod unwinding;

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;

/// Hints that treat ranks of one host as ranks of several, two on each.
const HOSTS: &str = "trib_shared_memory=enable; trib_ranks_per_node=2";
/// Name of the file that the programs write, on which `faults` makes calls fail.
const FILE: &str = "small";

/// Returns a run of a program of `tests/programs/legal` with the file's name and these arguments.
fn launch(source: &str, ranks: usize, arguments: &[&str]) -> Launch {
    let program = compile(&format!("legal/{source}"));
    arguments.iter().fold(Launch::new(ranks, &program).arg(FILE), |launch, &argument| launch.arg(argument))
}

/// Runs a program with the library: on one host, as ranks of several hosts, and with further `hints`.
///
/// # Panics
/// Panics if a run fails or does not print `ok`.
fn is_ok(source: &str, ranks: usize, arguments: &[&str], hints: &[&str]) {
    let with = launch(source, ranks, arguments).with_library();
    prints_ok(&with.run(), &format!("{source} {arguments:?}"));
    for hints in [HOSTS].iter().chain(hints) {
        prints_ok(&with.clone().hints(hints).run(), &format!("{source} {arguments:?}, {hints}"));
    }
}

/// # Panics
/// Panics if the program did not print `ok`.
fn prints_ok(outcome: &Outcome, what: &str) {
    let ok = outcome.stdout.lines().any(|line| line == "ok" || line.starts_with("ok: "));
    assert!(ok, "{what}:\n{}{}", outcome.stdout, outcome.stderr);
}
