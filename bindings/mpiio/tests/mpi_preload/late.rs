//! Tests that ranks which wait long for others in a call print a line, once, and go on.

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;

const RANKS: usize = 3;

/// Returns the lines which say that a rank waits, without the text that is the same in all.
fn lines(outcome: &Outcome) -> Vec<String> {
    let all = outcome.stderr.lines().filter_map(|line| line.split_once("has waited for 1 s in "));
    let end =
        "; check that all ranks make this call, that all of them load this library, and that the file system responds";
    let told = all.map(|(_, told)| told.strip_suffix(end).unwrap_or_else(|| panic!("{told}")).to_string());
    let path = format!("{}/", outcome.folder.path().display());
    told.map(|told| told.replace(&path, "")).collect()
}

/// Runs a program in which one rank comes three seconds late to each of three calls.
fn late(hints: &str) -> Outcome {
    Launch::new(RANKS, &compile("late.c")).arg("3").with_library().hints(hints).run()
}

/// Expects each of these lines once. (On a busy machine ranks may wait as long in other calls.)
fn expect<const N: usize>(outcome: &Outcome, expected: [&str; N]) {
    let told = lines(outcome);
    for line in expected {
        let times = told.iter().filter(|told| *told == line).count();
        assert_eq!(times, 1, "{line}: {told:?}\n{}", outcome.stderr);
    }
}

#[test]
fn the_line_names_the_call_and_the_ranks() {
    let outcome = late("trib_stall_timeout=1");
    let expected = [
        "MPI_File_write_at_all of late: rank 1 has not arrived; the last collective call of rank 1 on the file was MPI_File_open",
        "MPI_File_write_all of late: rank 2 has not arrived; the last collective call of rank 2 on the file was MPI_File_set_view",
        "MPI_File_close of late: rank 0 has not arrived; the last collective call of rank 0 on the file was MPI_File_read_at_all",
    ];
    expect(&outcome, expected);
}

/// Ranks that exchange messages know for whose message they wait; ranks of two hosts also see their own host.
#[test]
fn what_other_hosts_do_is_known_by_their_messages() {
    let outcome = late("trib_stall_timeout=1; trib_shared_memory=disable");
    expect(&outcome, ["MPI_File_write_at_all of late: it waits for other ranks"]);
    let told = lines(&outcome);
    for call in ["MPI_File_write_all", "MPI_File_close"] {
        let begin = format!("{call} of late: it waits for a message from rank ");
        assert!(told.iter().any(|line| line.starts_with(&begin)), "{begin}: {told:?}\n{}", outcome.stderr);
    }
    let outcome = late("trib_stall_timeout=1; trib_shared_memory=enable; trib_ranks_per_node=2");
    // The rank that is late is alone on its host. Of the others, one waits for its message, and one for that rank.
    let told = lines(&outcome);
    let begin = "MPI_File_write_all of late: it waits for ";
    let end = " (all ranks of this host have arrived); what ranks of other hosts are in is not known";
    let has_told = told.iter().any(|line| line.starts_with(begin) && line.ends_with(end));
    assert!(has_told, "{told:?}\n{}", outcome.stderr);
}

#[test]
fn a_rank_may_have_any_stall_timeout() {
    let outcome = Launch::new(RANKS, &compile("late.c")).arg("1").with_library().hints("trib_stall_timeout=0").run();
    assert!(!outcome.stderr.contains("has waited"), "{}", outcome.stderr);
}
