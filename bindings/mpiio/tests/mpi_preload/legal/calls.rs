//! Tests programs that break MPI's rules: one rank reads, syncs or closes while the others write. All ranks get one
//! error that names both calls. A rank that waits for others in another call prints what each group of ranks is in.

use super::{HOSTS, launch};
use crate::common::launch::{Outcome, is_component, on_emulated_hosts};

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

/// Runs `apart` on three ranks: rank 1 is in `one`, the others in `others`.
fn apart(one: &str, others: &str, more: &[&str], hints: &str) -> Outcome {
    let arguments = [&[one, others], more].concat();
    launch("apart.c", 3, &arguments)
        .with_library()
        .hints(&format!("trib_stall_timeout=1; {hints}"))
        .seconds(60)
        .try_run()
}

/// Returns the error classes that the ranks print for their calls, and for the next write, each once.
fn classes(outcome: &Outcome) -> (Vec<&str>, Vec<&str>) {
    let classes = |is_next: bool| {
        let lines = outcome.stdout.lines().filter(|line| line.contains(": next: ") == is_next);
        let mut all: Vec<_> =
            lines.filter_map(|line| Some(line.rsplit_once(": ")?.1)).filter(|one| *one != "end").collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    (classes(false), classes(true))
}

/// A blocking, a non-blocking and a split call do not match (MPI 4.1, sections 6.12 and 14.4.5).
#[test]
fn calls_of_different_forms_do_not_match() {
    for (number, (one, others)) in [
        ("iwrite_at_all", "write_at_all"),
        ("write_at_all", "write_at_all_begin"),
        ("iwrite_at_all", "write_at_all_begin"),
        ("read_at_all", "iread_at_all"),
        ("read_at_all_begin", "read_at_all"),
        ("iread_at_all", "iwrite_at_all"),
    ]
    .into_iter()
    .enumerate()
    {
        let (hints, first) = (["", HOSTS, MESSAGES][number % 3], ["written", "fresh"][number / 3]);
        let outcome = apart(one, others, &[first], hints);
        let all = format!("{one} {others} {hints} {first}:\n{}{}", outcome.stdout, outcome.stderr);
        let line = format!(": rank 1 is in MPI_File_{one}, rank 0 in MPI_File_{others} of ");
        let lines =
            outcome.stderr.lines().filter(|said| said.starts_with("tributary: MPI_File_") && said.contains(&line));
        assert_eq!(lines.count(), 1, "{all}");
        let (class, next) = classes(&outcome);
        assert!(class.len() == 1 && class != ["0"] && next == ["0"], "{all}");
    }
    // Both are blocking: the standard forbids it too, but the bytes are right.
    let outcome = apart("write_all", "write_at_all", &[], "");
    assert_eq!(classes(&outcome), (vec!["0"], vec!["0"]), "{}", outcome.stderr);
}

/// MPI's close of a rank waits until the other ranks close too. They close after two seconds, and all end.
#[test]
fn a_rank_that_closes_says_what_the_others_were_in() {
    for (number, others) in ["write_at_all", "sync", "read_at_all", "write_at_all"].into_iter().enumerate() {
        for first in ["written", "fresh"] {
            let hints = ["", HOSTS, MESSAGES, "trib_ranks_per_node=1"][number];
            let outcome = apart("close", others, &[first], hints);
            let all = format!("{others} {hints} {first}:\n{}{}", outcome.stdout, outcome.stderr);
            let line =
                format!(": rank 1 is in MPI_File_close; ranks 0 and 2 were in MPI_File_{others}, which failed; check ");
            let lines =
                outcome.stderr.lines().filter(|line| line.contains("rank 1 has waited for 1 s in MPI_File_close of "));
            let lines: Vec<_> = lines.collect();
            assert!(matches!(lines[..], [one] if one.contains(&line)), "no line says what they were in; {all}");
            assert_eq!(outcome.stdout.matches(": end\n").count(), 3, "{all}");
        }
    }
}

/// The other ranks do not come, or are in a call that MPI runs, which waits for rank 1.
#[test]
fn a_rank_that_waits_says_what_the_others_are_in() {
    let printed = |outcome: &Outcome| {
        let lines = outcome
            .stderr
            .lines()
            .filter_map(|line| line.split_once("rank 1 has waited for 1 s in MPI_File_close of "));
        let mut lines: Vec<_> = lines.filter_map(|(_, line)| Some(line.split_once(": ")?.1.to_string())).collect();
        assert_eq!(lines.len(), 1, "{}{}", outcome.stdout, outcome.stderr);
        lines.remove(0)
    };
    // On emulated hosts, rank 2 is on another one.
    let is_far = on_emulated_hosts();
    let (ranks, have, are, hosts) = match is_far {
        false => ("ranks 0 and 2", "have", "are", ""),
        true => ("rank 0", "has", "is", "what ranks of other hosts are in is not known; "),
    };
    for (first, call) in [("written", "MPI_File_write_at_all"), ("fresh", "MPI_File_open")] {
        let outcome = apart("close", "nothing", &[first], "");
        let due =
            format!("{ranks} {have} not arrived; the last collective call of {ranks} on the file was {call}; {hosts}");
        assert!(printed(&outcome).starts_with(&due), "{first}: {}", outcome.stderr);
        assert_eq!(outcome.stdout.matches(": end\n").count(), 3, "{}", outcome.stderr);
    }
    let outcome = apart("close", "set_view", &["written", "6"], "");
    let due = format!("rank 1 is in MPI_File_close; {ranks} {are} in MPI_File_set_view, which MPI runs; {hosts}");
    assert!(printed(&outcome).starts_with(&due), "{}", outcome.stderr);
    // A rank knows only one rank of another host: the one whose message is missing.
    let outcome = apart("close", "nothing", &["written"], HOSTS);
    let due = "rank 0 has not arrived; the last collective call of rank 0 on the file was MPI_File_write_at_all; what ranks of \
               other hosts are in is not known; ";
    assert!(printed(&outcome).starts_with(due), "{}", outcome.stderr);
}
