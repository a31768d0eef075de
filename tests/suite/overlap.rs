//! Tests ranks that write the same bytes: the file has the bytes of one rank, never a mixture within an extent. With
//! `trib_overlap=rank_order` it has the highest rank's, with every kernel, driver and path.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::settings::{DRIVERS, KERNELS, hints};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 7;
const END: u64 = 4000;
const COMMON: &str = "trib_tiny_call=0;trib_ranks_per_node=3;nc_num_aggrs_per_node=1;striping_unit=128;striping_factor=3;\
                      cb_buffer_size=256";

/// Returns the extents of one rank, unsorted, which overlap each other and those of other ranks; most are longer than
/// a window.
fn list(rank: usize, seed: u64) -> Vec<Extent> {
    let mut random = SmallRng::seed_from_u64(seed * 100 + rank as u64);
    let mut extent = || {
        let len = random.random_range(1..700);
        Extent { offset: random.random_range(0..END - len), len }
    };
    (0..6).map(|_| extent()).collect()
}

/// Returns a byte that identifies its writer: rank + 1 in the upper half, the number of the extent in the lower.
fn mark(rank: usize, index: usize) -> u8 {
    ((rank + 1) * 16 + index) as u8
}

fn write(endpoint: Endpoint, path: &std::path::Path, hints: &Hints, seed: u64) -> Endpoint {
    let rank = endpoint.rank();
    let list = list(rank, seed);
    let marks = list.iter().enumerate().flat_map(|(i, extent)| vec![mark(rank, i); extent.len as usize]);
    let buffer: Vec<u8> = marks.collect();
    // Memory in pieces of 50 bytes: an extent is several pieces.
    let bytes = buffer.len() as u64;
    let pieces = (0..bytes).step_by(50).map(|at| Extent { offset: at, len: (bytes - at).min(50) });
    let layout = BufferLayout::Extents(Extents::from_list(pieces).unwrap());
    let mut file = File::open(endpoint, path, Mode::Create, hints.clone()).unwrap();
    file.write_all(&Extents::from_list(list).unwrap(), &layout, &buffer).unwrap();
    file.close().unwrap()
}

/// Checks that all bytes in an overlap of two extents come from the same extent.
fn never_mixed(bytes: &[u8], seed: u64, what: &str) {
    let mut winners = HashMap::new();
    for (at, &byte) in bytes.iter().enumerate() {
        let holds = |extent: &Extent| extent.offset <= at as u64 && (at as u64) < extent.end();
        let mut here = Vec::new();
        for rank in 0..RANKS {
            let marks = list(rank, seed).into_iter().enumerate().filter(|(_, extent)| holds(extent));
            here.extend(marks.map(|(index, _)| mark(rank, index)));
        }
        assert_eq!(here.is_empty(), byte == 0, "{what}: byte {at} is {byte:x}");
        assert!(here.is_empty() || here.contains(&byte), "{what}: byte {at} is {byte:x}, nobody's");
        for other in here.into_iter().filter(|&other| other != byte) {
            let pair = (byte.min(other), byte.max(other));
            let winner = *winners.entry(pair).or_insert(byte);
            assert_eq!(winner, byte, "{what}: byte {at}: {pair:x?} are mixed");
        }
    }
}

fn highest_rank(bytes: &[u8], seed: u64, what: &str) {
    for (at, &byte) in bytes.iter().enumerate() {
        let has = |rank: &usize| list(*rank, seed).iter().any(|e| e.offset <= at as u64 && (at as u64) < e.end());
        let expected = (0..RANKS).rev().find(has).map_or(0, |rank| rank + 1);
        assert_eq!(usize::from(byte / 16), expected, "{what}: byte {at} is rank {}'s", i32::from(byte / 16) - 1);
    }
}

fn with_all_settings(test: &str, more: &str, check: impl Fn(&[u8], u64, &str) + Sync) {
    let _watchdog = Watchdog::new(test, 200);
    let directory = tempfile::tempdir().unwrap();
    threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for seed in 0..4 {
            for (name, kernels) in KERNELS.iter().copied() {
                for driver in DRIVERS {
                    let driver_hint = format!("trib_driver={driver}");
                    let hints = hints(&[COMMON, kernels, &driver_hint, more]);
                    let path = directory.path().join(format!("{seed}"));
                    endpoint = write(endpoint, &path, &hints, seed);
                    if endpoint.rank() == 0 {
                        let mut bytes = std::fs::read(&path).unwrap();
                        bytes.resize(END as usize, 0);
                        check(&bytes, seed, &format!("{name}, {driver}, {more}"));
                    }
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn never_a_mixture_within_an_extent() {
    with_all_settings("never_a_mixture_within_an_extent", "romio_cb_write=enable", never_mixed);
}

#[test]
fn the_highest_rank_wins_in_rank_order() {
    for path in ["romio_cb_write=enable", "romio_cb_write=disable", "romio_cb_write=automatic;trib_direct_min=1"] {
        let more = format!("trib_overlap=rank_order;{path}");
        with_all_settings("the_highest_rank_wins_in_rank_order", &more, |bytes, seed, what| {
            highest_rank(bytes, seed, what);
            never_mixed(bytes, seed, what);
        });
    }
}

/// Ranks 0 and 1 overlap; the gap before rank 2 makes the sum of the ranges small.
#[test]
fn the_highest_rank_wins_beside_a_gap() {
    let _watchdog = Watchdog::new("the_highest_rank_wins_beside_a_gap", 60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for way in ["trib_overlap=rank_order;romio_cb_write=disable", "trib_overlap=rank_order", "trib_overlap=any"] {
        let hints = hints(&["trib_direct_min=1;trib_tiny_call=0", way]);
        threads::run(3, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank();
            let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
            let extents = Extents::contiguous(if rank == 2 { 100_000 } else { 0 }, 5000).unwrap();
            let report = file.write_all(&extents, &BufferLayout::Contiguous, &[rank as u8; 5000]).unwrap();
            assert_eq!(report.path, tributary::engine::Path::Exchange, "{way}: {}", report.why());
            file.close().unwrap();
        })
        .unwrap();
        assert!(std::fs::read(&path).unwrap()[..5000].iter().all(|&byte| byte == 1), "{way}");
    }
}
