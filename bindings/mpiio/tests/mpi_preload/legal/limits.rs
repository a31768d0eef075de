//! Tests a limit of file size, which also applies to shared memory: nothing fails, and the report says what it costs.

use super::{is_ok, launch};

#[test]
fn the_report_names_a_limit_of_file_size() {
    is_ok("fsize.c", 4, &[], &[]);
    let report = |arguments: &[&str]| {
        let outcome = launch("fsize.c", 4, arguments).with_library().run();
        outcome.reports.first().and_then(|report| report.no_shared_memory.clone())
    };
    let why = report(&["6", "8"]).expect("a reason");
    assert!(why.starts_with("the limit of file size (RLIMIT_FSIZE, ulimit -f) is 8 MiB; "), "{why}");
    assert!(why.ends_with(" MiB are needed"), "{why}");
    assert_eq!(report(&["6", "4096"]), None, "enough");
    let table = launch("fsize.c", 4, &[]).with_library().env("TRIB_REPORT", "1").run().stderr;
    assert!(table.contains("none: the limit of file size (RLIMIT_FSIZE, ulimit -f) is 8 MiB; "), "{table}");
}
