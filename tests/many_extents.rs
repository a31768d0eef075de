//! Tests a hundred million irregular extents of one rank: they are streamed, never expanded. This test has a program
//! of its own, because it checks the peak of the program's memory.

use std::sync::Arc;

use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::periodic::{Periodic, value};
use tributary_testing::watchdog::Watchdog;

const COUNT: u64 = 100_000_000;
/// Number of bytes of memory that an extent may take in the access, in the plan and at the aggregator together;
/// ROMIO's lists take 16 bytes for each of these.
const PER_EXTENT: u64 = 8;

/// Returns the maximum memory that this process has held at any time, in bytes.
fn peak() -> u64 {
    kilobytes("/proc/self/status", "VmHWM:") << 10
}

fn kilobytes(file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Iterates over extents of 1 to 3 bytes, with gaps of 1 to 3 bytes, without any period.
fn extents() -> impl Iterator<Item = Extent> {
    let (mut random, mut at) = (1u64, 100);
    (0..COUNT).map(move |_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let extent = Extent { offset: at, len: 1 + (random >> 33) % 3 };
        at = extent.end() + 1 + (random >> 43) % 3;
        extent
    })
}

#[test]
fn a_hundred_million_extents_of_one_rank() {
    let _watchdog = Watchdog::new("a_hundred_million_extents_of_one_rank", 400);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let bytes: u64 = extents().map(|extent| extent.len).sum();
    let end = extents().last().unwrap().end();
    let storage = Periodic::new(end);
    // Holes are read, and have what the file has: every window is written whole.
    let hints = Hints::parse("romio_cb_write=enable;romio_cb_read=enable;romio_ds_write=enable").unwrap();
    threads::run(2, |transport| {
        let endpoint = Endpoint::new(transport);
        let mine = endpoint.rank() == 1;
        let taken = if mine { usize::MAX } else { 0 };
        let mut buffer: Vec<u8> = extents().take(taken).flat_map(|e| e.offset..e.end()).map(value).collect();
        let file = Extents::from_list(extents().take(taken)).unwrap();
        let mut shared =
            File::open_on(endpoint, &path, Mode::Update, hints.clone(), Arc::new(storage.clone())).unwrap();
        let report = shared.write_all(&file, &BufferLayout::Contiguous, &buffer).unwrap();
        assert_eq!((report.requests, report.bytes, report.bytes_written), (COUNT, bytes, bytes));
        buffer.fill(0);
        let report = shared.read_all(&file, &BufferLayout::Contiguous, &mut buffer).unwrap();
        assert_eq!(report.call.bytes_read, bytes);
        let mut offsets = extents().take(taken).flat_map(|e| e.offset..e.end());
        assert!(buffer.iter().all(|&byte| offsets.next().map(value) == Some(byte)), "other bytes than were written");
        shared.close().unwrap();
    })
    .unwrap();
    // Beside the extents: the caller's buffer, and windows and messages on both sides.
    let allowed = PER_EXTENT * COUNT + bytes + (200 << 20);
    let peak = peak();
    eprintln!("peak {} MiB, {} MiB allowed", peak >> 20, allowed >> 20);
    assert!(peak <= allowed, "peak of {peak} bytes, {allowed} allowed");
}
