//! Tests slow files: what exchanges learn from the times of earlier ones, and several writers at a time.

use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::engine::Path;
use tributary::fabric::threads;
use tributary::machine::FileCosts;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::suite::value;
use tributary_testing::watchdog::Watchdog;

/// Number of ranks. No other test has as many, so that no other begins with what is learned here.
const RANKS: usize = 11;
/// Number of calls on a file.
const CALLS: u64 = 2;
const PIECE: u64 = 6 << 10;
const COUNT: u64 = 200;
/// The rank of the slow aggregator.
const SLOW: usize = 3;

/// Writes a file in calls in which pieces of all ranks take turns. Returns for each call which part of the bytes the slow
/// aggregator wrote.
fn parts(hints: &str) -> Vec<f64> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let wanted = format!("cb_nodes=4; trib_placement=list:0,{SLOW},6,9; trib_shared_memory=disable; {hints}");
    let written = threads::run(RANKS, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        let storage = Hostile::new(Fault::Slow(Duration::from_millis(if rank == SLOW { 20 } else { 1 })));
        let hints = Hints::parse(&wanted).unwrap();
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        let calls = (0..CALLS).map(|call| {
            let first = (call * COUNT * RANKS as u64 + rank as u64) * PIECE;
            let mine = Extents::strided(first, PIECE, (RANKS as u64 * PIECE) as i64, COUNT).unwrap();
            let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
            file.write_all(&mine, &BufferLayout::Contiguous, &bytes).unwrap();
            storage.take().0.iter().map(|range| range.end - range.start).sum::<u64>()
        });
        let calls: Vec<u64> = calls.collect();
        file.close().unwrap();
        calls
    })
    .unwrap();
    let image = std::fs::read(&path).unwrap();
    assert_eq!(image.len() as u64, CALLS * COUNT * RANKS as u64 * PIECE);
    assert_eq!((0..image.len()).find(|&at| image[at] != value(at as u64)), None, "{hints}");
    let part = |call: usize| {
        let all: u64 = written.iter().map(|calls| calls[call]).sum();
        written[SLOW][call] as f64 / all as f64
    };
    (0..CALLS as usize).map(part).collect()
}

#[test]
fn a_slow_aggregator_gets_less() {
    let _watchdog = Watchdog::new("a_slow_aggregator_gets_less", 120);
    let fixed = parts("trib_aggregators_fixed=true");
    assert!(fixed.iter().all(|part| (0.2..0.3).contains(part)), "{fixed:?}");
    let learned = parts("");
    assert!(learned[0] > 0.2 && learned[1] < 0.15, "{learned:?}");
    let next = parts("");
    assert!(next[0] < 0.15, "the next file begins with it: {next:?}");
    assert!(parts("trib_aggregators_fixed=true")[0] > 0.2, "the hint says that it does not");
}

/// Tests windows in shared memory with holes and without: several ranks write at a time, and every byte is right.
#[test]
fn several_ranks_write_a_slow_file() {
    let _watchdog = Watchdog::new("several_ranks_write_a_slow_file", 120);
    // No other test has as many ranks.
    let (ranks, piece, count) = (13, 3 << 10, 215);
    for (gap, slow) in [(0, 10), (1 << 10, 10), (0, 0)] {
        let storage = Hostile::new(Fault::Slow(Duration::from_millis(slow)));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let pitch = piece + gap;
        threads::run(ranks as usize, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let hints =
                Hints::parse("trib_shared_memory=enable; romio_cb_write=enable; romio_ds_write=enable").unwrap();
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            for call in 0..3 {
                let first = (call * count * ranks + rank) * pitch;
                let mine = Extents::strided(first, piece, (ranks * pitch) as i64, count).unwrap();
                let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
                let report = file.write_all(&mine, &BufferLayout::Contiguous, &bytes).unwrap();
                assert_eq!(report.path, Path::Windows);
            }
            file.close().unwrap();
        })
        .unwrap();
        let image = std::fs::read(&path).unwrap();
        let wrong = |&at: &u64| image[at as usize] != if at % pitch < piece { value(at) } else { 0 };
        assert_eq!((0..image.len() as u64).find(wrong), None, "gap {gap}");
        let at_once = storage.writes_at_once();
        assert!(if slow > 0 { (2..=4).contains(&at_once) } else { at_once >= 1 }, "{at_once} at a time, gap {gap}");
    }
}

/// Tests that gaps are written with the pieces around them if a call takes longer than their bytes, and that bytes there stay.
#[test]
fn gaps_are_written_where_calls_take_long() {
    let _watchdog = Watchdog::new("gaps_are_written_where_calls_take_long", 120);
    // No other test has as many ranks, so that what is learned about the file system is learned here.
    let (ranks, piece, count) = (5, 2 << 10, 60);
    let pitch = 3 * ranks * piece;
    for (slow, hints) in
        [(0, ""), (5, "trib_aggregators_fixed=true"), (5, "romio_cb_write=enable"), (5, "trib_shared_memory=disable")]
    {
        let storage = Hostile::new(Fault::Slow(Duration::from_millis(slow)));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        // Bytes of the second half of the gaps of the first call.
        let old = |at: u64| at < count * pitch && at % pitch >= 2 * ranks * piece;
        let before: Vec<u8> = (0..count * pitch).map(|at| if old(at) { !value(at) } else { 0 }).collect();
        std::fs::write(&path, before).unwrap();
        threads::run(ranks as usize, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let hints = Hints::parse(hints).unwrap();
            let mut file = File::open_on(endpoint, &path, Mode::Update, hints, Arc::new(storage.clone())).unwrap();
            file.set_sole_writer(true);
            for call in 0..2 {
                let first = call * count * pitch + rank * piece;
                let mine = Extents::strided(first, piece, pitch as i64, count).unwrap();
                let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
                file.write_all(&mine, &BufferLayout::Contiguous, &bytes).unwrap();
            }
            file.close().unwrap();
        })
        .unwrap();
        let image = std::fs::read(&path).unwrap();
        let right = |at: u64| match at % pitch < ranks * piece {
            true => value(at),
            false if old(at) => !value(at),
            false => 0,
        };
        assert_eq!((0..image.len() as u64).find(|&at| image[at as usize] != right(at)), None, "{hints}");
        let writes = storage.take().0.len() as u64;
        // On a busy machine, a fast file may take as long.
        if slow > 0 {
            assert_eq!(writes < count, !hints.contains("fixed"), "{writes} writes of {} runs, {hints}", 2 * count);
        }
    }
}

/// Tests that ranks with many large pieces write through windows where calls take long, already in the first call, and that an
/// error of the first piece, which is measured, is an error of the call. Times in a machine file are used in place of measured ones.
#[test]
fn many_large_pieces_go_through_windows_where_calls_take_long() {
    let _watchdog = Watchdog::new("many_large_pieces_go_through_windows_where_calls_take_long", 120);
    // No other test has as many ranks.
    let (ranks, piece, count) = (23, 32 << 10, 20);
    let slow = Fault::Slow(Duration::from_millis(20));
    for (fault, stated, path) in [
        (Fault::Write(0, libc::EIO), None, None),
        (slow, None, Some(Path::Windows)),
        (slow, Some(1e-6), Some(Path::Independent)),
        (Fault::None, Some(20e-3), Some(Path::Windows)),
    ] {
        let storage = Hostile::new(fault);
        let directory = tempfile::tempdir().unwrap();
        let (name, machine) = (directory.path().join("file"), directory.path().join("machine.json"));
        let hints = stated.map_or(String::new(), |call_seconds| {
            std::fs::write(&machine, FileCosts { call_seconds, byte_seconds: 1e-9 }.text()).unwrap();
            format!("trib_machine={}", machine.display())
        });
        let hints = Hints::parse(&format!("trib_shared_memory=enable;{hints}")).unwrap();
        threads::run(ranks as usize, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let storage = Arc::new(storage.clone());
            let mut file = File::open_on(endpoint, &name, Mode::Create, hints.clone(), storage).unwrap();
            for call in 0..2 {
                let first = (call * count * ranks + rank) * piece;
                let mine = Extents::strided(first, piece, (ranks * piece) as i64, count).unwrap();
                let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
                let written = file.write_all(&mine, &BufferLayout::Contiguous, &bytes);
                assert_eq!(written.map(|report| report.path).ok(), path, "call {call}, {fault:?}, {stated:?}");
            }
            file.close().unwrap();
        })
        .unwrap();
        if path.is_some() {
            let image = std::fs::read(&name).unwrap();
            assert_eq!(image.len() as u64, 2 * count * ranks * piece);
            assert_eq!((0..image.len()).find(|&at| image[at] != value(at as u64)), None);
        }
    }
}
