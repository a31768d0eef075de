//! Tests values of `TRIB_REPORT`, one of which was removed.

use std::collections::BTreeMap;

use crate::common::launch::{Launch, is_component};
use crate::common::programs::compile;

const RANKS: usize = 3;

/// `trib explain` makes pages now: one line says so, the library stores and prints nothing, and the program runs as
/// before.
#[test]
fn a_page_is_asked_of_trib() {
    for value in ["html", "html:page.html"] {
        let outcome = Launch::new(RANKS, &compile("hints.c")).with_library().env("TRIB_REPORT", value).run();
        let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("TRIB_REPORT")).collect();
        let [line] = lines[..] else { panic!("{value}: not one line: {}", outcome.stderr) };
        assert!(line.contains("TRIB_CAPTURE=DIR") && line.contains("trib explain DIR/NAME.tribcap --html"), "{line}");
        assert!(outcome.reports.is_empty() && !outcome.stderr.contains("accelerated"), "{value}: {}", outcome.stderr);
        assert!(outcome.files.keys().all(|name| !name.contains("html")), "{value}: {:?}", outcome.files.keys());
        assert_eq!(outcome.stdout.matches("SUCCESS").count(), 2 * RANKS, "{value}: {}", outcome.stdout);
    }
}

/// The head of the report names the library that ran: its version and its path, in the table and in JSON.
#[test]
fn the_library_that_ran_is_named() {
    let json = Launch::new(RANKS, &compile("alone.c")).arg("alone").with_library().run();
    let [report] = &json.reports[..] else { panic!("{}", json.stderr) };
    assert_eq!(report.version, env!("CARGO_PKG_VERSION"));
    assert!(std::path::Path::new(&report.library).is_file(), "{report:?}");
    let table = Launch::new(RANKS, &compile("alone.c")).arg("alone").with_library().env("TRIB_REPORT", "1").run();
    let row = table.stderr.lines().find(|line| line.starts_with("│ library ")).unwrap_or_default();
    assert!(row.contains(&format!("{}, {}", report.version, report.library)), "{}", table.stderr);
}

/// Rank 0 prints the report and writes nothing; ranks 1 and 2 write once and twice. Only one of them may want the
/// report.
#[test]
fn calls_of_single_ranks_are_counted_over_all_ranks() {
    let outcome = Launch::new(RANKS, &compile("alone.c")).arg("alone").with_library().run();
    let [report] = &outcome.reports[..] else { panic!("{}", outcome.stderr) };
    let passed: Vec<_> =
        report.passed_through.iter().map(|left| (left.call.as_str(), left.why.as_str(), left.calls)).collect();
    assert_eq!(passed, [("write_at", "independent", 3)], "{report:?}");
    let [left] = &report.passed_through[..] else { panic!("one line: {report:?}") };
    assert_eq!((left.bytes, left.sizes), (Some(12), Some([4; 3])), "{report:?}");
    assert!(left.seconds.is_some_and(|seconds| seconds > 0.0), "{report:?}");
    let others: Vec<_> = report.other_calls.keys().map(String::as_str).collect();
    assert!(others.contains(&"close") && (others.contains(&"open") || is_component()), "{report:?}");
    assert!(report.other_calls.values().all(|seconds| *seconds >= 0.0), "{report:?}");
}

/// Small independent calls that took time would gain from being collective; large ones, and a few small ones, would not.
#[test]
fn independent_calls_that_would_gain_have_a_line() {
    let launch = Launch::new(RANKS, &compile("independent.c")).with_library();
    let many = launch.clone().arg("2000").run();
    let [report] = &many.reports[..] else { panic!("{}", many.stderr) };
    let gain = report.could_be_collective.as_ref().unwrap_or_else(|| panic!("{report:?}"));
    assert_eq!((gain.calls, gain.bytes), (RANKS as u64 * 2000, RANKS as u64 * 2000 * 4096), "{report:?}");
    assert!(gain.seconds > 0.0 && gain.how.iter().any(|how| how.contains("end in _all")), "{report:?}");
    let few = launch.clone().arg("1").run();
    assert!(few.reports.iter().all(|report| report.could_be_collective.is_none()), "{}", few.stderr);
    let table = launch.arg("2000").env("TRIB_REPORT", "1").run();
    assert!(
        table.stderr.contains("to gain ") && table.stderr.contains("6000 small independent calls"),
        "{}",
        table.stderr
    );
}

/// PnetCDF opens a file of all ranks a second time on each rank for independent calls: they are calls on the file of all ranks.
#[test]
fn independent_calls_by_a_second_handle_are_those_of_the_file() {
    let launch = Launch::new(RANKS, &compile("independent.c")).arg("2000").arg("4096").with_library();
    for closed in ["before", "after"] {
        let outcome = launch.clone().arg(closed).run();
        let (own, of_all): (Vec<_>, Vec<_>) = outcome.reports.iter().partition(|report| report.files.is_some());
        let [report] = of_all[..] else { panic!("{closed}: {}", outcome.stderr) };
        let gain = report.could_be_collective.as_ref().unwrap_or_else(|| panic!("{closed}: {report:?}"));
        assert_eq!(gain.calls, RANKS as u64 * 2000, "{closed}: {report:?}");
        let twice = own.iter().flat_map(|report| &report.passed_through).filter(|left| left.call == "write_at").count();
        assert_eq!(twice, 0, "{closed}: {}", outcome.stderr);
    }
}

/// Files that each rank opens by itself have one report, of all ranks if these know of each other by a file of all of them, or else
/// of each rank.
#[test]
fn files_of_single_ranks_have_one_report() {
    const FILES: u64 = 60;
    let launch = Launch::new(RANKS, &compile("many.c")).with_library();
    let count = FILES.to_string();
    let outcome = launch.clone().arg("world").arg("1").arg("self").arg(&count).run();
    let of_several: Vec<_> = outcome.reports.iter().filter(|report| report.files.is_some()).collect();
    let [all] = of_several[..] else { panic!("{}", outcome.stderr) };
    assert_eq!((all.files, all.ranks), (Some(FILES * RANKS as u64), None), "{all:?}");
    assert_eq!(all.file, format!("{} files that {RANKS} ranks opened by themselves", FILES * RANKS as u64));
    let calls: u64 = all.accelerated.values().map(|ran| ran.calls).sum();
    assert!(calls >= FILES * RANKS as u64 && all.seconds["total"] > 0.0, "{all:?}");
    let table = launch.clone().arg("world").arg("1").arg("self").arg(&count).env("TRIB_REPORT", "1").run();
    assert_eq!(table.stderr.matches("that 3 ranks opened by themselves").count(), 1, "{}", table.stderr);
    let own = launch.arg("self").arg(&count).run();
    let files: Vec<_> = own.reports.iter().map(|report| report.files).collect();
    assert_eq!(files, [Some(FILES); RANKS], "{}", own.stderr);
}

/// All ranks delete one file: each call reaches MPI, and the report of the next file says how many found nothing. A
/// single rank that deletes a missing file is not worth a line.
#[test]
fn deletions_that_found_no_file_are_counted_over_all_ranks() {
    for (who, ranks) in [("all", RANKS as u64 - 1), ("one", 1)] {
        let outcome = Launch::new(RANKS, &compile("deletions.c")).arg("file").arg(who).with_library().run();
        assert!(outcome.stdout.ends_with("ok\n"), "{}{}", outcome.stdout, outcome.stderr);
        // Rank 0 opens the file by itself first, to make it.
        let reports: Vec<_> = outcome.reports.iter().filter(|report| report.ranks == Some(RANKS)).collect();
        let [first, second] = reports[..] else { panic!("{}", outcome.stderr) };
        let expected =
            (ranks > 1).then(|| BTreeMap::from([("calls".to_string(), ranks), ("ranks".to_string(), ranks)]));
        assert_eq!(first.deletions_in_vain, expected, "{who}: {}", outcome.stderr);
        assert_eq!(second.deletions_in_vain, None, "{who}: {}", outcome.stderr);
    }
}

/// The seconds of functions add up to those of all calls, and the limit is the longer of its two parts.
#[test]
fn seconds_are_those_of_the_calls() {
    let outcome = Launch::new(RANKS, &compile("hints.c")).with_library().run();
    assert!(!outcome.reports.is_empty(), "{}", outcome.stderr);
    for report in &outcome.reports {
        let total = report.seconds["total"];
        let each: f64 = report.accelerated.values().map(|ran| ran.seconds).sum();
        assert!(total > 0.0 && (each - total).abs() < 1e-9, "{report:?}");
        let limit = report.limit.as_ref().unwrap();
        let longer = limit.file.max(limit.exchange);
        assert_eq!(limit.by, if limit.file >= limit.exchange { "file" } else { "exchange" }, "{report:?}");
        assert!((limit.of_the_longer - total / longer).abs() < 1e-9, "{report:?}");
    }
}

/// A file that MPI cannot open has a report, too, which says why.
#[test]
fn a_file_that_cannot_be_opened_has_a_report() {
    let outcome = Launch::new(RANKS, &compile("unopened.c")).arg("/no/such/folder/file").with_library().run();
    let [report] = &outcome.reports[..] else { panic!("{}", outcome.stderr) };
    assert_eq!(report.file, "/no/such/folder/file");
    let why = report.not_taken.as_deref().unwrap_or_default();
    assert!(why.starts_with("not opened: ") && why.contains("MPI_File_open"), "{why}");
    assert!(!outcome.stderr.contains("opened no file"), "{}", outcome.stderr);
}

#[test]
fn a_program_without_files_gets_a_line() {
    let outcome = Launch::new(RANKS, &compile("alone.c")).with_library().run();
    assert_eq!(
        outcome.stderr.matches("no report: this program opened no file by MPI_File_open").count(),
        // Open MPI loads components when a program opens its first file.
        usize::from(!is_component()),
        "{}",
        outcome.stderr
    );
    assert!(outcome.reports.is_empty());
}
