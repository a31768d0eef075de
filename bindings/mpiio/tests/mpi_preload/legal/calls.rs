//! Tests a program that breaks MPI's rules: one rank reads, syncs or closes while the others write. All ranks get one
//! error that names both calls.

use super::{HOSTS, launch};
use crate::common::launch::is_component;

/// Hint that makes ranks of one host exchange messages.
const MESSAGES: &str = "trib_shared_memory=disable";

/// Runs `mixed_calls` with these arguments: on one host, as on several, and by messages alone.
///
/// # Panics
/// Panics if a rank has success, or hangs, or if no line names both calls.
fn names_both(arguments: &[&str], call: &str) {
    for (ranks, hints) in [2, 3].into_iter().flat_map(|ranks| ["", HOSTS, MESSAGES].map(|hints| (ranks, hints))) {
        let outcome = launch("mixed_calls.c", ranks, arguments).with_library().hints(hints).seconds(40).try_run();
        let all = format!("{ranks} ranks, {arguments:?}, {hints}:\n{}{}", outcome.stdout, outcome.stderr);
        let line = format!("rank 1 is in MPI_File_{call}, rank 0 in MPI_File_write_at_all of ");
        assert!(outcome.stderr.contains(&line), "no line names both calls; {all}");
        for wrong in ["panicked", "internal error", "please report"] {
            assert!(!outcome.stderr.to_lowercase().contains(wrong), "{wrong}; {all}");
        }
        if outcome.status.success() {
            let codes: Vec<_> = outcome.stdout.lines().filter_map(|line| line.split_once(": code ")).collect();
            assert_eq!(codes.len(), ranks, "{all}");
            // Open MPI returns success from MPI_File_close whatever a component returns.
            let is_lost = |line: &str| call == "close" && is_component() && line == "rank 1";
            assert!(codes.iter().all(|(who, code)| *code != "0" || is_lost(who)), "{all}");
        }
    }
}

#[test]
fn a_rank_that_reads_where_the_others_write() {
    names_both(&["10", "second", "read"], "read_at_all");
    names_both(&["4000", "second", "read"], "read_at_all");
}

#[test]
fn a_rank_that_reads_in_the_first_call() {
    names_both(&["10", "first", "read"], "read_at_all");
}

/// One rank syncs or closes in the first call, when the engine has not opened the file yet.
#[test]
fn a_rank_that_syncs_or_closes_in_the_first_call() {
    for call in ["sync", "close"] {
        names_both(&["10", "first", call], call);
    }
}

#[test]
fn a_rank_that_syncs_where_the_others_write() {
    names_both(&["10", "second", "sync"], "sync");
}

/// The calls that MPI runs between two agreements.
#[test]
fn a_rank_that_changes_the_size_or_the_mode_where_the_others_write() {
    let all = [("size", "set_size"), ("preallocate", "preallocate"), ("atomic", "set_atomicity")];
    for (argument, call) in all {
        names_both(&["10", "second", argument], call);
        names_both(&["10", "first", argument], call);
    }
}

#[test]
fn a_rank_that_uses_the_shared_pointer_where_the_others_write() {
    names_both(&["10", "second", "shared"], "seek_shared");
    names_both(&["10", "second", "ordered"], "write_ordered");
}

#[test]
fn a_rank_that_closes_where_the_others_write() {
    names_both(&["10", "second", "close"], "close");
}
