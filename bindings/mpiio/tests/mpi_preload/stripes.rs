//! Tests hints of stripes on Lustre, under an MPI library that has no driver for it; `testing/c/lustre.c` stands in
//! for Lustre.

use std::path::Path;

use crate::common::launch::Launch;
use crate::common::programs::{compile, preloadable};
use crate::common::report::Report;

const RANKS: usize = 3;

/// Returns the values of the hint `key` that the report on the file lists as not used.
fn not_used(reports: &[Report], file: &str, key: &str) -> Vec<String> {
    let of_file = reports.iter().filter(|report| Path::new(&report.file).ends_with(file));
    let all = of_file.flat_map(|report| &report.hints_not_used).filter(|all| all.key == key);
    all.map(|all| format!("{}: {}", all.value, all.why)).collect()
}

#[test]
fn a_new_file_has_the_hinted_stripes_and_what_a_file_tells_wins() {
    let program = Launch::new(RANKS, &compile("stripes.c")).with_library().also_preload(&preloadable("lustre"));
    let outcome = program.run();
    let expected = "\
new: SUCCESS, the file 131072 3 2, info 131072 3, then 131072 3, mode 664
new: SUCCESS, the file 131072 3 2, info 131072 3, then 131072 3, mode 664
new: SUCCESS, the file 131072 3 2, info 131072 3, then 131072 3, mode 664
new: ERR_FILE_EXISTS, the file 131072 3 2, info
exclusive: SUCCESS, the file 1048576 1 0, info 1048576 1, then 1048576 1, mode 664
wide: SUCCESS, the file 131072 4 2, info 131072 4, then 131072 4, mode 664
absent: ERR_NO_SUCH_FILE, the file no file, info
odd: SUCCESS, the file 1048576 1 0, info 1048576 1, then 1048576 1, mode 664
refused: SUCCESS, the file 1048576 1 0, info 1048576 1, then 1048576 1, mode 664
";
    let ranks = outcome.stdout.split("rank ").skip(1).map(|said| said.split_once('\n').unwrap().1);
    let said: Vec<_> = ranks.collect();
    assert_eq!(said, [expected; RANKS], "{}", outcome.stderr);
    let (opened, others): (Vec<_>, Vec<_>) =
        outcome.reports.iter().cloned().partition(|report| report.driver.is_some());
    assert_eq!(others.len(), 2, "new and absent could not be opened: {others:?}");
    let reports = &opened[..];
    assert!(reports.iter().all(|report| report.driver.as_deref() == Some("lustre")), "{reports:?}");
    let twice = |what: &str| vec![what.to_string(); 2];
    assert_eq!(not_used(reports, "new", "striping_unit"), twice("262144: the file has stripes of 131072 bytes"));
    assert_eq!(not_used(reports, "new", "striping_factor"), twice("2: the file has 3 stripes"));
    assert_eq!(not_used(reports, "exclusive", "striping_factor"), ["3: the file has 1 stripes"]);
    assert_eq!(not_used(reports, "wide", "striping_factor"), ["100: the file has 4 stripes"]);
    assert_eq!(not_used(reports, "wide", "striping_unit"), [""; 0]);
    for (said, times) in [
        ("hint striping_unit: `1000` is not allowed; allowed: multiples of 65536 bytes", 1),
        ("lustre/refused failed: No space left on device", 1),
        ("the library ignores the hints for stripes", 2),
        ("MPI runs the calls of ", 0),
    ] {
        assert_eq!(outcome.stderr.matches(said).count(), times, "{said}: {}", outcome.stderr);
    }
}

/// There are as many aggregators as the file has stripes, not as many as the hint says.
#[test]
fn the_domains_are_those_of_the_file() {
    let hints = "trib_shared_memory=disable; trib_tiny_call=0";
    let program = Launch::new(RANKS, &compile("stripes.c")).with_library().also_preload(&preloadable("lustre"));
    let reports = program.hints(hints).run().reports;
    let aggregators: Vec<_> = reports.iter().filter_map(|report| report.aggregators).collect();
    assert_eq!(aggregators, [3, 3, 3, 1, 3, 1, 1]);
}

/// Every write that is exchanged makes the system calls of Lustre and GPFS; only the aggregator of the first stripe
/// or block has bytes.
#[test]
fn file_systems_are_told_of_writes() {
    let told = |hints: &str| {
        let hints = format!("trib_shared_memory=disable; trib_tiny_call=0; {hints}");
        let program = Launch::new(RANKS, &compile("stripes.c")).with_library();
        program.also_preload(&preloadable("lustre")).also_preload(&preloadable("gpfs")).hints(&hints).run().stderr
    };
    let (silent, locks) = (told(""), told("trib_announce_writes=true"));
    assert_eq!([silent.matches("lock of group").count(), locks.matches("lock of group").count()], [0, 7], "{locks}");
    let ranges = told("trib_driver=gpfs; trib_announce_writes=true");
    for line in ["gpfs: version 1, 0 0, type 1001, range 0 12, 1 0", "gpfs: version 1, 0 0, type 1002, range 0 12, 0 0"]
    {
        assert!(ranges.matches(line).count() >= 5, "{line}: {ranges}");
    }
}
