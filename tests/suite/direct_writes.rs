//! Tests large writes past the cache of the system, on a file system of this machine.

use std::sync::Arc;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::suite::value;
use tributary_testing::watchdog::Watchdog;

const RANKS: u64 = 4;
/// Size of a piece, in bytes; the piece behind it belongs to another rank.
const PIECE: u64 = 96 << 10;
const COUNT: u64 = 64;
/// Offset of the first piece, in bytes: not at the beginning of a page.
const START: u64 = 1001;

/// Writes pieces of all ranks in turn, with `gap` bytes between them, and reads them back; returns the number of
/// bytes that went past the cache.
fn past_the_cache(storage: &Hostile, hints: &str, gap: u64) -> u64 {
    // Not in the directory for temporary files: that may be in memory.
    let directory = tempfile::tempdir_in(".").unwrap();
    let path = directory.path().join("file");
    let before = storage.direct_bytes();
    let pitch = PIECE + gap;
    threads::run(RANKS as usize, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let hints = Hints::parse(hints).unwrap();
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        let mine = Extents::strided(START + rank * pitch, PIECE, (RANKS * pitch) as i64, COUNT).unwrap();
        let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
        file.write_all(&mine, &BufferLayout::Contiguous, &bytes).unwrap();
        let mut read = vec![0; bytes.len()];
        file.read_all(&mine, &BufferLayout::Contiguous, &mut read).unwrap();
        assert!(read == bytes, "other bytes than were written");
        file.close().unwrap();
    })
    .unwrap();
    let written = std::fs::read(&path).unwrap();
    let is_there = |at: u64| at >= START && (at - START) % pitch < PIECE;
    let wrong = (0..written.len() as u64).find(|&at| written[at as usize] != if is_there(at) { value(at) } else { 0 });
    assert_eq!(wrong, None, "{hints}");
    storage.direct_bytes() - before
}

/// Tests each driver, with windows in shared memory and without: everything but the ends of windows goes past the
/// cache if a hint asks for it, or if the driver expects a gain; holes are written as before.
#[test]
fn whole_windows_go_past_the_cache() {
    let _watchdog = Watchdog::new("whole_windows_go_past_the_cache", 120);
    if !takes_direct_writes() {
        return;
    }
    let all = RANKS * COUNT * PIECE;
    for shared in ["enable", "disable"] {
        for (driver, storage) in [("lustre", Hostile::lustre(Fault::None)), ("gpfs", Hostile::new(Fault::None))] {
            let with = |direct| {
                format!("trib_driver={driver}; trib_shared_memory={shared}; cb_nodes=2; direct_write={direct}")
            };
            let (asked, left) =
                (past_the_cache(&storage, &with("enable"), 0), past_the_cache(&storage, &with("automatic"), 0));
            assert!(asked >= all / 4 * 3 && asked <= all, "{asked} of {all}, {driver}, shared memory {shared}");
            assert_eq!(left, if driver == "lustre" { asked } else { 0 });
            assert_eq!(past_the_cache(&storage, &with("disable"), 0), 0);
            past_the_cache(&storage, &with("enable"), PIECE);
        }
    }
}

/// Returns true if the file system here supports direct writes; otherwise prints that the test is skipped.
fn takes_direct_writes() -> bool {
    use tributary::drivers::{OpenStorage, SystemFiles};
    let file = tempfile::NamedTempFile::new_in(".").unwrap();
    let refused = SystemFiles.open(file.path(), Mode::Update).unwrap().control().open_direct().err();
    refused.iter().for_each(|cause| eprintln!("not tested: this file system takes no direct writes ({cause})"));
    refused.is_none()
}
