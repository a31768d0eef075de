//! Tests lists of extents: both forms of the file, their meaning, what is refused, and that a collective write
//! follows them.

use std::io::Write;

use crate::common::serial;
use proptest::prelude::*;
use tributary::fabric::threads;
use tributary::{Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_benchmarks::list::{Lists, write_binary};
use tributary_benchmarks::value::fill_bytes;
use tributary_benchmarks::{E3smF, ListPattern, Pattern};
use tributary_testing::settings::DRIVERS;

type Plain = Vec<Vec<(u64, u64)>>;

fn binary(lists: &Plain) -> Vec<u8> {
    let mut bytes = Vec::new();
    let list = |rank: usize| lists[rank].iter().map(|&(offset, len)| Extent { offset, len });
    write_binary(&mut bytes, lists.len(), &mut |rank| Ok(Extents::from_list(list(rank))?)).unwrap();
    bytes
}

fn text(lists: &Plain) -> Vec<u8> {
    let mut out = format!("# made by a test\n\n  ranks {}\r\n", lists.len());
    for (rank, list) in lists.iter().enumerate() {
        out += &format!("rank {rank} # and its extents\n");
        list.iter().for_each(|(offset, len)| out += &format!("\t{offset}  {len}\n"));
    }
    out.into_bytes()
}

fn open(bytes: Vec<u8>) -> ListPattern {
    ListPattern::new(Lists::from_bytes("l", bytes).unwrap())
}

fn error(bytes: impl Into<Vec<u8>>) -> String {
    let line = Lists::from_bytes("l", bytes.into()).err().expect("accepted").to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

/// Returns the rank whose byte is in the file if the highest rank wins, byte by byte; `None` for bytes that nobody
/// writes.
fn owners(lists: &Plain) -> Vec<Option<usize>> {
    let size = lists.iter().flatten().filter(|e| e.1 > 0).map(|e| e.0 + e.1).max().unwrap_or(0);
    let owner = |at: u64| lists.iter().rposition(|list| list.iter().any(|e| (e.0..e.0 + e.1).contains(&at)));
    (0..size).map(owner).collect()
}

fn byte(rank: usize, offset: usize) -> u8 {
    let mut one = [0];
    fill_bytes(rank, offset as u64, &mut one);
    one[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn both_forms_mean_the_same_and_the_highest_rank_wins(
        lists in prop::collection::vec(prop::collection::vec((0u64..300, 0u64..40), 0..12), 1..6)
    ) {
        let owners = owners(&lists);
        for case in [open(text(&lists)), open(binary(&lists))] {
            let totals = case.totals();
            prop_assert_eq!(totals.requests, lists.iter().flatten().filter(|e| e.1 > 0).count() as u64);
            prop_assert_eq!(totals.bytes, lists.iter().flatten().map(|e| e.1).sum::<u64>());
            prop_assert_eq!(totals.file_size, owners.len() as u64);
            for (rank, list) in lists.iter().enumerate() {
                let access = case.rank_access(rank, 0).unwrap();
                let full: Vec<_> = list.iter().filter(|e| e.1 > 0).copied().collect();
                prop_assert_eq!(access.file.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), full.clone());
                prop_assert_eq!(access.requests, full.len() as u64);
                let mut data = vec![0; access.file.bytes() as usize];
                case.fill(rank, 0, &mut data).unwrap();
                let expected = full.iter().flat_map(|e| e.0..e.0 + e.1).map(|at| byte(rank, at as usize));
                prop_assert_eq!(data, expected.collect::<Vec<_>>());
            }
            let image = owners.iter().enumerate().map(|(at, owner)| owner.map_or(0, |rank| byte(rank, at)));
            prop_assert_eq!(serial(&case), image.collect::<Vec<_>>());
        }
    }

    #[test]
    fn flipped_bytes_never_panic(
        is_text: bool, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)
    ) {
        let lists = vec![vec![(5, 10), (100, 7)], vec![], vec![(0, 1), (15, 85), (3, 3)]];
        let mut bytes = if is_text { text(&lists) } else { binary(&lists) };
        for (index, value) in flips {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        match Lists::from_bytes("l", bytes) {
            Ok(lists) => (0..lists.ranks().min(9)).for_each(|rank| {
                // What has been accepted can be used.
                assert!(lists.extents(rank).all(|extent| extent.is_ok()));
            }),
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error),
        }
    }
}

/// Writes `case` collectively with ranks as threads; returns the file's bytes.
fn collectively(case: &ListPattern, hints: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    let hints = Hints::parse(hints).unwrap();
    threads::run(case.ranks(), |transport| {
        let endpoint = Endpoint::new(transport);
        let access = case.rank_access(endpoint.rank(), 0).unwrap();
        let mut data = vec![0; access.file.bytes() as usize];
        case.fill(endpoint.rank(), 0, &mut data).unwrap();
        let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
        file.write_all(&access.file, &access.layout, &data).unwrap();
        file.close().unwrap();
    })
    .unwrap();
    std::fs::read(&path).unwrap()
}

const EXCHANGE: &str = "romio_cb_write=enable;trib_tiny_call=0;cb_nodes=2;striping_unit=64;cb_buffer_size=64";

#[test]
fn a_collective_write_of_unsorted_lists_is_the_serial_file() {
    // Every rank takes every third piece of a different size, backwards; holes between.
    let piece = |k: u64| (k * 50 + k % 7, 20 + k % 13);
    let lists: Plain = (0..3).map(|rank| (0..40).rev().filter(|k| k % 3 == rank).map(piece).collect()).collect();
    let case = open(binary(&lists));
    for driver in DRIVERS {
        assert_eq!(collectively(&case, &format!("{EXCHANGE};trib_driver={driver}")), serial(&case), "{driver}");
    }
}

#[test]
fn where_ranks_overlap_a_byte_is_one_of_the_writers() {
    let lists: Plain = (0..4).map(|rank| (0..20).map(|k| (k * 60 + rank * 10, 45)).collect()).collect();
    let written = collectively(&open(binary(&lists)), EXCHANGE);
    let mut shared = 0;
    for (at, &found) in written.iter().enumerate() {
        let at = at as u64;
        let writers: Vec<usize> =
            (0..4).filter(|&rank| lists[rank].iter().any(|e| (e.0..e.0 + e.1).contains(&at))).collect();
        assert!(writers.iter().any(|&rank| byte(rank, at as usize) == found), "byte {at} of {writers:?}");
        shared += usize::from(writers.len() > 1);
    }
    assert!(shared > 500, "{shared} bytes have more than one writer");
}

#[test]
fn a_pattern_is_recorded_and_played_back() {
    let recorded = E3smF::shipped().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.list");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    write_binary(&mut out, recorded.ranks(), &mut |rank| Ok(recorded.rank_access(rank, 0)?.file)).unwrap();
    drop(out);
    let case = ListPattern::open(&path).unwrap();
    assert_eq!((case.totals().bytes, case.totals().file_size), (recorded.totals().bytes, recorded.totals().file_size));
    for rank in 0..recorded.ranks() {
        let (one, other) = (case.rank_access(rank, 0).unwrap().file, recorded.rank_access(rank, 0).unwrap().file);
        assert!(one.iter().eq(other.iter()), "rank {rank}");
    }
}

#[test]
fn a_long_list_takes_the_memory_of_what_does_not_repeat() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long");
    let vector = Extents::strided(7, 24, 100, 2_000_000).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    write_binary(&mut out, 2, &mut |rank| Ok(if rank == 0 { vector.clone() } else { Extents::empty() })).unwrap();
    out.flush().unwrap();
    let case = ListPattern::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 24 + 2 * 8 + 2_000_000 * 16);
    let access = case.rank_access(0, 0).unwrap();
    assert_eq!((access.file.count(), access.file.bytes()), (2_000_000, 48_000_000));
    assert!(access.file.memory() < 1 << 20, "{} bytes for 2 million extents", access.file.memory());
}

#[test]
fn bad_text_is_named_by_line() {
    for (given, expected) in [
        ("", "l: file: has no line \"ranks P\""),
        ("# nothing\n\n", "l: file: has no line \"ranks P\""),
        ("rank 0\n", "l: line 1: is \"rank 0\"; a list begins with \"ranks P\""),
        ("ranks\n", "l: line 1: is \"ranks\"; allowed: ranks and one number"),
        ("ranks 0\n", "l: line 1: ranks is 0; allowed: 1 or more"),
        ("ranks -1\n", "l: line 1: ranks is -1; allowed: 0 to 2^63 - 1"),
        ("ranks 99999999999999999999\n", "l: line 1: ranks is 99999999999999999999; allowed"),
        ("ranks 2\n1 1\n", "l: line 2: is \"1 1\" before the first line \"rank 0\""),
        ("ranks 2\nrank 0\n1 1\n", "l: end: rank 1 of 2 is missing"),
        ("ranks 4000000000000\nrank 0\n", "l: end: rank 1 of 4000000000000 is missing"),
        ("ranks 2\nrank 1\n", "l: line 2: is rank 1; rank 0 is missing before it"),
        ("ranks 3\nrank 0\n\nrank 2\n", "l: line 4: is rank 2; rank 1 is missing before it"),
        ("ranks 2\nrank 0\nrank 0\n", "l: line 3: is rank 0 again, behind rank 0"),
        ("ranks 2\nrank 0\nrank 1\nrank 0\n", "l: line 4: is rank 0 again, behind rank 1"),
        ("ranks 1\nrank 0\nrank 1\n", "l: line 3: is rank 1; allowed: 0 to 0"),
        ("ranks 1\nrank x\n", "l: line 2: rank is \"x\", which is no number"),
        ("ranks 1\nrank 0\n5 -3\n", "l: line 3: length is -3; allowed: 0 to 2^63 - 1"),
        ("ranks 1\nrank 0\n1 1\n-5 3\n", "l: line 4: offset is -5; allowed"),
        ("ranks 1\nrank 0\n5 abc\n", "l: line 3: length is \"abc\", which is no number"),
        ("ranks 1\nrank 0\n0x5 1\n", "l: line 3: offset is \"0x5\", which is no number"),
        ("ranks 1\nrank 0\n5\n", "l: line 3: is \"5\"; allowed: an offset and a length"),
        ("ranks 1\nrank 0\n5 6 7\n", "l: line 3: is \"5 6 7\"; allowed: an offset and a length"),
        ("ranks 1\nrank 0\n9223372036854775807 1\n", "l: line 3: ends beyond 2^63 - 1"),
        ("ranks 1\nrank 0\n9223372036854775808 0\n", "l: line 3: offset is 9223372036854775808; allowed"),
        (
            "ranks 2\nrank 0\n0 9223372036854775807\nrank 1\n0 1\n",
            "l: rank 1: the extents up to here have more than 2^63 - 1 bytes",
        ),
    ] {
        let line = error(given);
        assert!(line.starts_with(expected), "{given:?}: {line}\nexpected {expected}");
    }
    assert!(error([b"ranks 1\nrank 0\n".to_vec(), vec![0xff; 999]].concat()).contains("\\xff..."), "no long lines");
}

#[test]
fn bad_binaries_are_named_by_entry() {
    let lists = vec![vec![(5, 10), (100, 7)], vec![], vec![(0, 1)]];
    let good = binary(&lists);
    assert_eq!(good.len(), 24 + 3 * 8 + 3 * 16);
    for len in 8..good.len() {
        let line = error(&good[..len]);
        assert!(line.contains("truncated"), "cut to {len}: {line}");
    }
    let with = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        error(bytes)
    };
    assert!(error([&good[..], b"x"].concat()).starts_with("l: end: 1 bytes behind the last extent"));
    assert!(with(8, 2).starts_with("l: header: has version 2 and 0 behind it; allowed: 1 and 0"));
    assert!(with(16, 0).starts_with("l: header: has 0 ranks"));
    assert!(with(16, u64::MAX).starts_with("l: header: has 18446744073709551615 ranks, and the file ends after"));
    assert!(with(32, u64::MAX / 8).starts_with("l: rank 1: has 2305843009213693951 extents, and the file ends"));
    assert!(with(24, 1).starts_with("l: end: 16 bytes behind"));
    assert!(with(56, -7i64 as u64).starts_with("l: rank 0, entry 0: length is -7; allowed"));
    assert!(with(80, 1 << 63).starts_with("l: rank 2, entry 0: offset is -9223372036854775808; allowed"));
    assert!(with(64, i64::MAX as u64).starts_with("l: rank 0, entry 1: ends beyond 2^63 - 1"));
}

#[test]
fn ranks_steps_and_buffers_are_checked() {
    let case = open(binary(&vec![vec![(0, 4)], vec![]]));
    assert!(case.rank_access(2, 0).unwrap_err().to_string().contains("rank: 2; allowed: 0 to 1"));
    assert!(case.rank_access(0, 1).unwrap_err().to_string().contains("step: 1; allowed: 0"));
    assert!(case.fill(0, 0, &mut [0; 3]).unwrap_err().to_string().contains("buffer: 3 bytes; allowed: 4 bytes"));
    assert!(write_binary(&mut Vec::new(), 0, &mut |_| Ok(Extents::empty())).is_err());
    let directory = tempfile::tempdir().unwrap();
    let missing = ListPattern::open(&directory.path().join("none")).err().unwrap().to_string();
    assert!(missing.contains("none: open failed"), "{missing}");
    let folder = ListPattern::open(directory.path()).err().unwrap().to_string();
    assert!(folder.contains("is a directory, not a list of extents"), "{folder}");
}
