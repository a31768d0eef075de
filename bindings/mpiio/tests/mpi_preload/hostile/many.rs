//! Tests that thousands of files, one after another, leak nothing.

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;

const RANKS: usize = 3;
/// Numbers of files that are opened, written together and closed, by communicator.
const FILES: [(&str, usize); 3] = [("world", 800), ("self", 700), ("group", 500)];
/// Number of bytes by which a process's heap may grow. MPI libraries keep pools of messages, up to 250 KB here, and
/// 64 bytes for each file; this library has kilobytes for an open file.
const GROWTH: i64 = 512 << 10;

/// Returns the maximum growth on any rank: descriptors, threads, mappings, bytes of the heap.
fn grown(outcome: &Outcome, on: &str) -> [i64; 4] {
    let lines: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.strip_prefix(&format!("{on}: "))).collect();
    assert_eq!(lines.len(), RANKS, "{}", outcome.stdout);
    let number = |line: &str, at: usize| line.split(' ').nth(2 * at).and_then(|word| word.parse::<i64>().ok()).unwrap();
    std::array::from_fn(|at| lines.iter().map(|line| number(line, at)).max().unwrap())
}

#[test]
fn nothing_is_left_of_thousands_of_files() {
    let launch = FILES.iter().fold(Launch::new(RANKS, &compile("many.c")).seconds(60), |launch, (on, count)| {
        launch.arg(*on).arg(count.to_string())
    });
    let plain = launch.run();
    for hints in ["", "trib_shared_memory=disable; trib_tiny_call=0; romio_cb_write=enable"] {
        let with = launch.clone().with_library().hints(hints).run();
        assert!(with.files == plain.files, "`{hints}`: other bytes");
        for (on, count) in FILES {
            let [descriptors, threads, mappings, bytes] = grown(&with, on);
            let what = format!("{count} files on {on}, `{hints}`: {}", with.stdout);
            assert_eq!((descriptors, threads), (0, 0), "{what}");
            // The number of the allocator's mappings varies.
            assert!(mappings < 20 && bytes < GROWTH, "{what}");
        }
        assert!(with.reports.len() > 1000, "{} reports\n{}", with.reports.len(), with.stderr);
    }
}
