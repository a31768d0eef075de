//! Runs random legal programs by the hundred, each with a model of every byte (`tests/programs/generated`). Ranks derive a program from its
//! seed; the seed also gives the number of ranks and their environment, so one number repeats a run.
//!
//! | variable | what it does |
//! |---|---|
//! | `TRIB_TEST_SEEDS=7` or `1-5000` | runs these programs only |
//! | `TRIB_TEST_PROGRAM="steps=9 verbose"` | gives options to the program (`generated.cc`) |
//! | `TRIB_TEST_SHRINK=1` | leaves steps out of a program that fails, as long as it fails |

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tributary_testing::fault_sweep::most_tried;
use tributary_testing::wheels::Wheel;

use crate::abis::{compiled, family, under};
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, is_component};
use crate::common::programs::Build;

/// Programs of one launch.
const BLOCK: u64 = 100;
/// Number of launches with seeds that are always the same; with TRIB_TEST_ALL=1. On MPICH, before the library was mended, programs 322,
/// 454, 542 and 751 ended the job in MPI_Waitall, 366 and 540 read an old end of the file, and 601 lost bytes.
const FEW: u64 = 8;
const ALL: u64 = 100;
/// Seconds for one program, and for a launch.
const PROGRAM_SECONDS: u64 = 30;
const SECONDS: u64 = 240;

/// Environments of ranks: hints that programs may override.
const HINTS: [&str; 5] = [
    "",
    // With `auto` a file in memory would be written at once.
    "trib_write_behind=4M; romio_cb_write=disable",
    "trib_ranks_per_node=2; trib_shared_memory=enable",
    "trib_shared_memory=disable; trib_tiny_call=0; cb_buffer_size=4096; cb_nodes=2",
    "romio_cb_write=enable; romio_cb_read=enable",
];

/// Returns a folder in memory, where a sync takes no time, or else the default one.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder for the files")
}

/// Returns a run of these programs, which are of one block, on files in `folder`.
fn launch(seeds: &RangeInclusive<u64>, folder: &Path) -> Launch {
    let block = seeds.start() / BLOCK;
    let build = Build { options: vec!["-Wl,--as-needed".to_string()], ..Build::default() };
    let launch = Launch::new(2 + (block % 4) as usize, &build.compile("generated/generated.cc")).with_library();
    let launch = launch.arg(seeds.start().to_string()).arg(seeds.end().to_string());
    let launch =
        launch.arg(format!("limit={PROGRAM_SECONDS}")).arg(format!("in={}", folder.display())).seconds(SECONDS);
    let launch = if block.is_multiple_of(3) { launch.arg("multiple") } else { launch };
    let launch = if ours() == Family::OpenMpi { launch.env("OMPI_MCA_io", "romio321") } else { launch };
    let hints = HINTS[(block / 4 % HINTS.len() as u64) as usize];
    let options = std::env::var("TRIB_TEST_PROGRAM").unwrap_or_default();
    options.split_whitespace().fold(launch.hints(hints).env("TRIB_REPORT", "0"), Launch::arg)
}

/// Runs programs, a launch for each block.
///
/// # Panics
/// Panics if a program finds a difference, ends the job, or does not end.
fn run(seeds: RangeInclusive<u64>) {
    let mut from = *seeds.start();
    while from <= *seeds.end() {
        let to = (from / BLOCK * BLOCK + BLOCK - 1).min(*seeds.end());
        let files = folder();
        let outcome = launch(&(from..=to), files.path()).try_run();
        let ended = outcome.stdout.contains(" programs in ") && outcome.status.success();
        if !ended && std::env::var_os("TRIB_TEST_SHRINK").is_some() {
            shrink(from..=to);
        }
        let advice = "to repeat it: TRIB_TEST_SEEDS=SEED; to leave steps out: TRIB_TEST_SHRINK=1";
        assert!(ended, "programs {from} to {to}: {}; {advice}\n{}{}", outcome.status, outcome.stdout, outcome.stderr);
        from = to + 1;
    }
}

/// Leaves out steps of a program that fails while it still fails, and prints what is left.
fn shrink(seed: RangeInclusive<u64>) {
    assert_eq!(seed.start(), seed.end(), "TRIB_TEST_SHRINK takes one seed");
    let files = folder();
    // A race does not show in each run.
    let fails = |skipped: &[u64]| {
        let list = skipped.iter().map(|step| step.to_string()).collect::<Vec<_>>().join(",");
        (0..5).any(|_| !launch(&seed, files.path()).arg(format!("skip={list}")).try_run().status.success())
    };
    let mut skipped: Vec<u64> = Vec::new();
    for size in [8, 4, 2, 1] {
        for first in (1..=40).rev().step_by(size as usize) {
            let more: Vec<u64> =
                (first - (size - 1).min(first - 1)..=first).filter(|at| !skipped.contains(at)).collect();
            let tried = [skipped.clone(), more.clone()].concat();
            if !more.is_empty() && fails(&tried) {
                skipped = tried;
            }
        }
    }
    skipped.sort_unstable();
    let list = skipped.iter().map(|step| step.to_string()).collect::<Vec<_>>().join(",");
    say(&format!("seed {} still fails with TRIB_TEST_PROGRAM=skip={list}", seed.start()));
}

/// Prints a line, also while the output of the test is captured.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns the seeds that TRIB_TEST_SEEDS names.
fn asked() -> Option<RangeInclusive<u64>> {
    let value = std::env::var("TRIB_TEST_SEEDS").ok()?;
    let (from, to) = value.split_once('-').unwrap_or((&value, &value));
    let number =
        |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("TRIB_TEST_SEEDS: `{value}`; allowed: 7 or 1-5000"));
    Some(number(from)..=number(to))
}

/// Returns true under the component, whose independent calls OMPIO of 4.1 runs: without the library too, it waits for ever in
/// MPI_File_open, MPI_File_sync and the end of split calls of such programs. Says that nothing is run.
fn is_ompio() -> bool {
    if is_component() {
        say("generated: no programs are run under the component: OMPIO itself does not end them");
    }
    is_component()
}

#[test]
fn programs_with_fixed_seeds() {
    match asked() {
        _ if is_ompio() => {}
        Some(seeds) => run(seeds),
        None => run(1..=most_tried(FEW).min(ALL) * BLOCK - 1),
    }
}

#[test]
fn programs_with_fresh_seeds() {
    if asked().is_none() && !is_ompio() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
        let from = now % 10_000_000 * BLOCK;
        let to = from + 2 * BLOCK - 1;
        say(&format!("generated: the fresh seeds are TRIB_TEST_SEEDS={from}-{to}"));
        run(from..=to);
    }
}

/// The first programs, under MPI libraries that are newer than those of the distribution. Before the library was mended, MPICH 4.3 and 5
/// ended 22, 47, 57 and 81 in MPI_Test, and 10 of 100 waited for ever under ROMIO of Open MPI 5 for a lock of the library.
#[test]
fn programs_under_newer_mpis() {
    for (wheel, last) in [(Wheel::mpich(), 59), (Wheel::open_mpi(), 99)] {
        let Some(wheel) = wheel else { continue };
        let name = format!("generated.{}", family(&wheel).name());
        let program = compiled(&wheel, "mpicxx", "generated/generated.cc", &name);
        let files = folder();
        let launch = under(&wheel, &program, 3).with_library().arg("0").arg(last.to_string()).seconds(SECONDS);
        let launch = launch.arg(format!("limit={PROGRAM_SECONDS}")).arg(format!("in={}", files.path().display()));
        let outcome = launch.env("OMPI_MCA_io", "romio341").env("TRIB_REPORT", "0").try_run();
        let ended = outcome.stdout.contains(" programs in ") && outcome.status.success();
        assert!(ended, "{name}: {}\n{}{}", outcome.status, outcome.stdout, outcome.stderr);
    }
}
