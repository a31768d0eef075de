//! Tests that thousands of files, one after another, leak nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use tributary_testing::fault_sweep::most_tried;

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;

const RANKS: usize = 3;
/// Numbers of files that are opened, written together and closed, by communicator: usually, and with TRIB_TEST_ALL=1. MPI opens a file of one rank twenty times
/// faster than a file of all ranks, and most of what a file has is the same for both.
const FILES: [(&str, u64, u64); 3] = [("world", 260, 800), ("self", 1500, 1500), ("group", 180, 500)];
/// Number of ints that a rank writes to a file.
const INTS: u64 = 64;
/// Number of bytes by which a process's heap may grow. MPI libraries keep pools of messages, up to 250 KB here, and
/// 64 bytes for each file; this library has kilobytes for an open file.
const GROWTH: i64 = 384 << 10;

/// Returns the bytes of a file that these ranks have written `count` times.
fn written(ranks: Range<usize>, count: u64) -> Vec<u8> {
    let value = |rank: usize, at: u64| 1 + rank as i32 + 1000 * (count - 1 + at) as i32;
    ranks.flat_map(|rank| (0..INTS).flat_map(move |at| value(rank, at).to_ne_bytes())).collect()
}

/// Returns all files that the program leaves, by name.
fn files(counts: [u64; 3]) -> BTreeMap<String, Vec<u8>> {
    let [world, own, group] = counts;
    let mut all: BTreeMap<_, _> =
        (0..RANKS).map(|rank| (format!("self-{rank}"), written(rank..rank + 1, own))).collect();
    all.insert("world-0".to_string(), written(0..RANKS, world));
    all.insert("group-1".to_string(), written(0..RANKS - 1, group));
    all.insert("group-0".to_string(), written(RANKS - 1..RANKS, group));
    all
}

/// Returns the maximum growth on any rank: descriptors, threads, mappings, bytes of the heap.
fn grown(outcome: &Outcome, on: &str) -> [i64; 4] {
    let lines: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.strip_prefix(&format!("{on}: "))).collect();
    assert_eq!(lines.len(), RANKS, "{}", outcome.stdout);
    let number = |line: &str, at: usize| line.split(' ').nth(2 * at).and_then(|word| word.parse::<i64>().ok()).unwrap();
    std::array::from_fn(|at| lines.iter().map(|line| number(line, at)).max().unwrap())
}

/// Slow: 2,000 files are opened and closed by MPI, with each of two hints.
#[test]
fn nothing_is_left_of_thousands_of_files() {
    let counts = FILES.map(|(_, usual, all)| most_tried(usual).min(all));
    let of_each = || FILES.iter().map(|(on, ..)| *on).zip(counts);
    let launch = of_each().fold(Launch::new(RANKS, &compile("many.c")).seconds(60), |launch, (on, count)| {
        launch.arg(on).arg(count.to_string())
    });
    for hints in ["", "trib_shared_memory=disable; trib_tiny_call=0; romio_cb_write=enable"] {
        let with = launch.clone().with_library().hints(hints).run();
        assert!(with.files == files(counts), "`{hints}`: other bytes");
        for (on, count) in of_each() {
            let [descriptors, threads, mappings, bytes] = grown(&with, on);
            let what = format!("{count} files on {on}, `{hints}`: {}", with.stdout);
            assert_eq!((descriptors, threads), (0, 0), "{what}");
            // The number of the allocator's mappings varies.
            assert!(mappings < 20 && bytes < GROWTH, "{what}");
        }
        let of_single: u64 = with.reports.iter().filter_map(|report| report.files).sum();
        let reported = with.reports.len() as u64 + of_single;
        assert!(reported > 1000, "{reported} files\n{}", with.stderr);
    }
}
