//! Tests programs in which some ranks do not have the library, or have another version of it: each rank that has it prints what
//! is missing where, and the job ends. Ranks that only come late are waited for.

use std::path::Path;

use crate::common::launch::{Launch, Outcome, is_component, library, on_emulated_hosts};
use crate::common::programs::{Build, compile};

const RANKS: usize = 4;
/// Beginning of the line of a rank, after its number.
const LINE: &str = " cannot open ";

/// Returns a run in which the ranks of the list first run this command of the shell.
fn mixed(ranks: &[usize], command: &str, late: &str) -> Launch {
    let list = ranks.iter().map(ToString::to_string).chain(["none".to_string()]).collect::<Vec<_>>().join("|");
    let script = format!("case ${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} in {list}) {command} ;; esac; exec \"$@\"");
    let launch = ["-c", &script, "sh"].into_iter().fold(Launch::new(RANKS, Path::new("/bin/sh")), Launch::arg);
    let launch = launch.arg(compile("mixed.c").to_string_lossy()).arg("mixed").arg(late);
    launch.with_library().hints("trib_stall_timeout=5")
}

/// Returns the host of a rank.
fn host(rank: usize) -> usize {
    if on_emulated_hosts() { rank / 2 } else { 0 }
}

/// Checks that the job ended with an error, and that each rank outside of `missing` printed one line that says `what` of each
/// missing rank of its host. If another host ends the job because MPI returned an error, a rank may end before it prints.
fn ends(outcome: &Outcome, missing: &[usize], what: &str) {
    assert!(!outcome.status.success() && !outcome.stdout.contains("ok"), "{}", outcome.stderr);
    let is_error = outcome.stderr.contains("or MPI failed (");
    let mut printed = 0;
    for rank in 0..RANKS {
        let begin = format!("rank {rank}{LINE}");
        let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains(&begin)).collect();
        let due = usize::from(!missing.contains(&rank));
        let is_early = on_emulated_hosts() && is_error && lines.is_empty();
        assert!(lines.len() == due || is_early, "rank {rank}:\n{}", outcome.stderr);
        printed += lines.len();
        let near = missing.iter().filter(|missing| host(**missing) == host(rank));
        let mut said: Vec<_> = near.map(|missing| format!("rank {missing} {what}")).collect();
        // A rank does not know which ranks of other hosts are missing.
        if said.is_empty() {
            said.push("it is missing on some of the 2 other ranks".to_string());
        }
        assert!(said.iter().all(|said| lines.iter().all(|line| line.contains(said))), "{said:?}: {lines:?}");
    }
    assert!(printed > 0, "{}", outcome.stderr);
    let truncated = outcome.stderr.to_lowercase().contains("truncated");
    assert!(!truncated || outcome.stderr.contains(LINE), "{}", outcome.stderr);
}

/// Returns the command by which a rank loses the library.
fn without() -> &'static str {
    if is_component() {
        "unset OMPI_MCA_mca_base_component_path OMPI_MCA_mca_component_path"
    } else {
        "unset LD_PRELOAD"
    }
}

#[test]
fn a_rank_without_the_library() {
    for missing in [&[1][..], &[0], &[0, 1], &[1, 3], &[0, 1, 2]] {
        let outcome = mixed(missing, without(), "0").try_run();
        ends(&outcome, missing, "does not have it");
    }
}

#[test]
fn a_rank_whose_library_is_off() {
    for missing in [&[2][..], &[2, 3]] {
        let outcome = mixed(missing, "export TRIB_DISABLE=1", "0").try_run();
        // A component that is off is not loaded before the file is opened.
        let what = if is_component() { "" } else { "has TRIB_DISABLE set" };
        ends(&outcome, missing, what);
    }
}

#[test]
fn a_rank_with_an_older_version() {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let older = Build { name: Some("libtributary_older"), options, ..Build::default() }.compile("older.c");
    for missing in [&[1][..], &[2, 3]] {
        let command = format!("{}; export LD_PRELOAD={}", without(), older.display());
        let outcome = mixed(missing, &command, "0").try_run();
        ends(&outcome, missing, "has another file of it");
    }
}

/// Only Open MPI has components.
#[test]
fn a_component_beside_a_preloaded_library() {
    if !is_component() {
        return;
    }
    let command = format!("{}; export LD_PRELOAD={}", without(), library().display());
    let outcome = mixed(&[1], &command, "0").try_run();
    let printed = outcome.stderr.matches(LINE).count();
    assert!(
        !outcome.status.success() && printed == RANKS && outcome.stderr.contains("a component of Open MPI on others")
    );
}

/// Ranks that have the library may come as late as they like.
#[test]
fn a_late_rank_is_waited_for() {
    let outcome = mixed(&[], "true", "4").hints("trib_stall_timeout=1").run();
    assert!(outcome.stdout.contains("ok"), "{}", outcome.stderr);
    // One rank of each host.
    let line = "has waited for 1 s in MPI_File_open of ";
    let hosts = host(RANKS - 1) + 1;
    assert_eq!(outcome.stderr.matches(line).count(), hosts, "{}", outcome.stderr);
}
