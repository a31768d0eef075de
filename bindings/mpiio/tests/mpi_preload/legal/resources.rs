//! Tests programs that use up communicators or file descriptors, or would if something were left of a closed file.

use super::{is_ok, launch, prints_ok};
use crate::common::family::{Family, ours};
use crate::common::launch::Outcome;
use crate::common::report::{accelerated, passed_through};

/// Maximum number of files that MPICH 4.0.2 can have open at once (2,045: each has one of its communicators), less
/// one for the library's communicator. Open MPI has no such limit.
const FILES: &str = "2044";

#[test]
fn as_many_files_are_open_as_without_the_library() {
    let files = if ours() == Family::Mpich { FILES } else { "500" };
    for on in ["world", "dup", "self"] {
        let outcome = launch("manyopen.c", 2, &[files, on]).with_library().run();
        prints_ok(&outcome, on);
        assert_eq!(outcome.stderr.matches(", and maybe of other files: ").count(), 1, "{}", outcome.stderr);
        let count = [accelerated, passed_through].map(|count| count(&outcome.reports, "write_at_all"));
        assert!(count[0] >= 1 && count[1] >= 1, "{count:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_program_without_descriptors_goes_on() {
    for when in ["first", "later", "one"] {
        is_ok("descriptors.c", 4, &[when], &["trib_shared_memory=disable"]);
    }
}

/// Returns the numbers of system calls that a file of `singles.c` takes: open(2), statfs(2).
fn calls_of_a_file(outcome: &Outcome) -> [f64; 2] {
    let line = outcome.stdout.lines().find_map(|line| line.strip_prefix("calls of a file: ")).expect("the line");
    let number =
        |word: &str| line.split(' ').zip(line.split(' ').skip(1)).find(|(_, next)| next.starts_with(word)).unwrap().0;
    ["opens", "statfs"].map(|word| number(word).parse().expect("a number"))
}

/// More files than MPICH has communicators. On one rank a file takes one open and one statfs more than without
/// the library.
#[test]
fn nothing_is_left_of_files_of_one_rank_and_they_cost_little() {
    for on in ["self", "dup", "sub"] {
        let run = |ranks: usize| launch("singles.c", ranks, &["3000", on]);
        let plain = run(2).run();
        let with = run(2).with_library().env("TRIB_REPORT", "").run();
        prints_ok(&with, on);
        let (plain, with) = (calls_of_a_file(&plain), calls_of_a_file(&with));
        let more: Vec<_> = with.iter().zip(plain).map(|(with, plain)| with - plain).collect();
        assert!(more.iter().all(|more| *more <= 1.01), "{on}: {more:?} more");
    }
    prints_ok(&launch("singles.c", 4, &["300", "sub"]).with_library().run(), "two ranks each");
}
