//! Tests an aggregator that cannot write: every rank gets the same error class, no rank hangs, and the file can be
//! closed.

use tributary_testing::mounted::Mounted;

use crate::common::launch::{Launch, Outcome, is_component};
use crate::common::matrix::Setting;
use crate::common::programs::compile;

const RANKS: usize = 4;
/// Hint that chooses the library's aggregators; other ranks write nothing.
const AGGREGATORS: &str = "trib_placement=list:1,3";

/// Runs `limit.c` with the library; the run must end in time.
fn limited(setting: &Setting, rank: i32, path: &str) -> Outcome {
    let hints = format!("{}; {AGGREGATORS}", setting.hints());
    let program = Launch::new(RANKS, &compile("limit.c")).arg(rank.to_string()).arg("200000").arg(path);
    program.with_library().hints(&hints).seconds(30).run()
}

/// Checks that every rank got `class` from all calls but the last, which needs no space.
fn check(outcome: &Outcome, class: &str, setting: &Setting) {
    let due = format!(
        "write_all: {class}, fewer bytes than asked for: 1\n\
         write_at_all: {class}\n\
         begin: SUCCESS\n\
         end: {class}, 0 bytes\n\
         iwrite_at_all: SUCCESS\n\
         Wait: {class}, 0 bytes\n\
         null 1, 4000 bytes behind it\n\
         iwrite_at_all: SUCCESS\n\
         Waitall: ERR_IN_STATUS, {class} and SUCCESS\n\
         null 1, 4000 bytes behind it\n\
         at the beginning: SUCCESS\n\
         the handler heard of 5\n\
         close: SUCCESS\n\
         with room: done\n"
    );
    let all: String = (0..RANKS).map(|rank| format!("rank {rank}\n{due}")).collect();
    assert_eq!(outcome.stdout, all, "{setting:?}\n{}", outcome.stderr);
}

#[test]
fn a_limit_on_the_size_of_files_of_one_aggregator() {
    for setting in Setting::few() {
        for rank in [1, 3] {
            check(&limited(&setting, rank, "limited"), "ERR_IO", &setting);
        }
    }
}

/// Only root can mount a file system; for others this prints that it is skipped. (The other test's limit works for
/// all users.)
#[test]
fn a_file_system_that_is_full() {
    for setting in Setting::few() {
        let Some(full) = Mounted::tmpfs("a_file_system_that_is_full", "400k") else { return };
        let path = full.path().join("full").display().to_string();
        check(&limited(&setting, -1, &path), "ERR_NO_SPACE", &setting);
    }
}

/// Runs `codes.c` with this error handler. Returns the run, and the lines of the library.
fn codes(handler: &str) -> (Outcome, Vec<String>) {
    let outcome = Launch::new(2, &compile("codes.c")).arg("file").arg(handler).with_library().run();
    for call in ["datatype", "count", "request"] {
        assert_eq!(outcome.stdout.matches(&format!(": {call}: failed")).count(), 4, "{handler}: {}", outcome.stdout);
    }
    let lines = outcome.stderr.lines().filter_map(|line| line.strip_prefix("tributary: "));
    let lines = lines.filter(|line| !line.starts_with('{')).map(String::from).collect();
    (outcome, lines)
}

/// MPI returns codes of files by default, which many programs ignore: the library prints the first error of each kind, and
/// none if the program has asked for codes. The report counts them in any case.
#[test]
fn an_error_is_printed_once_unless_the_program_asks_for_codes() {
    // Open MPI checks arguments before it calls a component.
    if is_component() {
        return;
    }
    let (outcome, lines) = codes("default");
    let due = [
        "MPI_File_read_at_all: rank 0: datatype: one that is not committed; allowed: a committed datatype",
        "MPI_File_read_at_all: rank 0: count: -1; allowed: 0 or more",
        "MPI_File_iread_at_all: rank 0: count: -1; allowed: 0 or more",
    ];
    assert_eq!(lines, due, "{}", outcome.stderr);
    for handler in ["returns", "later"] {
        let (outcome, lines) = codes(handler);
        assert!(lines.is_empty(), "{handler}: {}", outcome.stderr);
        // A sync of a file that was opened for reading fails in MPI.
        let fails = outcome.stdout.matches("sync: failed").count() as u64;
        let failed =
            outcome.reports.iter().find_map(|report| report.failed.as_ref()).expect("failed calls in a report");
        assert_eq!((failed.calls, failed.first.as_deref()), (6 + fails, Some(due[0])), "{handler}: {}", outcome.stderr);
    }
}
