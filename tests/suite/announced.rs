//! Tests the calls with which aggregators announce writes to the file system, before and after they write.

use std::sync::Arc;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::suite::value;
use tributary_testing::watchdog::Watchdog;

const RANKS: u64 = 4;
const PIECE: u64 = 1000;
const COUNT: u64 = 300;
const ALL: u64 = RANKS * PIECE * COUNT;

/// Makes two collective writes in which the ranks' pieces take turns, the second behind the first, with two
/// aggregators.
fn written_twice(storage: &Hostile, hints: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints = format!("trib_shared_memory=disable; cb_nodes=2; striping_unit=64k; cb_buffer_size=128k; {hints}");
    threads::run(RANKS as usize, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let hints = Hints::parse(&hints).unwrap();
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        for start in [0, ALL.next_multiple_of(128 << 10)] {
            let mine = Extents::strided(start + rank * PIECE, PIECE, (RANKS * PIECE) as i64, COUNT).unwrap();
            let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
            file.write_all(&mine, &BufferLayout::Contiguous, &bytes).unwrap();
        }
        file.close().unwrap();
    })
    .unwrap();
    let written = std::fs::read(&path).unwrap();
    assert!((0..ALL).all(|at| written[at as usize] == value(at)), "{hints}");
}

/// Each aggregator takes the group lock for each call, and has released it when the call is over; no write waits for
/// it.
#[test]
fn aggregators_on_lustre_take_the_lock_of_their_group() {
    let _watchdog = Watchdog::new("aggregators_on_lustre_take_the_lock_of_their_group", 60);
    let storage = Hostile::lustre(Fault::None);
    written_twice(&storage, "trib_driver=lustre");
    assert_eq!(storage.group_locks(), (0, 0));
    written_twice(&storage, "trib_driver=lustre; trib_announce_writes=true; direct_write=enable");
    assert_eq!(storage.group_locks(), (4, 0));
    assert_eq!(storage.direct_bytes(), 0, "a second handle would wait for the lock");
}

/// Checks the structures of `gpfs_fcntl.h` byte by byte: the ranges of both aggregators in both calls, whole blocks
/// apart.
#[test]
fn gpfs_is_told_the_ranges() {
    let _watchdog = Watchdog::new("gpfs_is_told_the_ranges", 60);
    let storage = Hostile::new(Fault::None);
    written_twice(&storage, "trib_driver=gpfs");
    assert_eq!(storage.take_advice(), Vec::<Vec<u8>>::new());
    written_twice(&storage, "trib_driver=gpfs; trib_announce_writes=true");
    let numbers = |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
    let range = |start: u64, end: u64| [start, end - start].map(u64::to_ne_bytes).concat();
    let mut expected = Vec::new();
    let half = 10 * (64 << 10);
    for start in [0, ALL.next_multiple_of(128 << 10)] {
        for (from, to) in [(start, start + half), (start + half, start + ALL)] {
            expected.push([numbers(&[48, 1, 0, 0, 32, 1001]), range(from, to), numbers(&[1, 0])].concat());
            expected.push([numbers(&[40, 1, 0, 0, 24, 1002]), range(from, to)].concat());
        }
    }
    let mut told = storage.take_advice();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}
