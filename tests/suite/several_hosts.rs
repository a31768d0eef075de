//! Tests ranks on several hosts: the calls that the first agreement completes by itself (little data, large pieces),
//! and the calls that go on after it.

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::engine::{Path, ReadReport};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 7;
/// Hints for every rank on a host of its own, and for hosts of 2, 3 and 6 ranks, whose memory is shared.
const HOSTS: [&str; 4] = [
    "",
    "trib_shared_memory=enable;trib_ranks_per_node=2",
    "trib_shared_memory=enable;trib_ranks_per_node=3",
    "trib_shared_memory=enable;trib_ranks_per_node=6",
];

/// The data of all ranks: rank `owners[c]` writes cell c of a row; the cells have different lengths.
struct Cells {
    owners: Vec<Option<usize>>,
    lens: Vec<u64>,
}

impl Cells {
    fn random(
        seed: u64,
        count: usize,
        owner: impl Fn(usize, &mut SmallRng) -> Option<usize>,
        len: impl Fn(Option<usize>) -> u64,
    ) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let owners: Vec<_> = (0..count).map(|cell| owner(cell, &mut random)).collect();
        let lens = owners.iter().map(|owner| len(*owner)).collect();
        Self { owners, lens }
    }

    fn of(&self, rank: usize, from: u64) -> Extents {
        let mut offset = from;
        let mut own = Vec::new();
        for (owner, &len) in self.owners.iter().zip(&self.lens) {
            if *owner == Some(rank) {
                own.push(Extent { offset, len });
            }
            offset += len;
        }
        Extents::from_extents(own).unwrap()
    }

    fn end(&self, from: u64) -> u64 {
        from + self.lens.iter().sum::<u64>()
    }
}

fn byte(rank: usize, offset: u64, step: u64) -> u8 {
    (offset * 7 + rank as u64 * 31 + step * 101) as u8 | 1
}

fn data(file: &Extents, rank: usize, step: u64) -> Vec<u8> {
    file.iter().flat_map(|piece| (piece.offset..piece.end()).map(move |offset| byte(rank, offset, step))).collect()
}

/// Writes `cells` from offset `first` on in two steps, the second further on, reads both back, and compares the file;
/// returns the paths of the writes.
fn write_and_read(
    endpoint: Endpoint,
    path: &std::path::Path,
    hints: &Hints,
    (cells, first): (&Cells, u64),
    what: &str,
) -> (Endpoint, [Path; 2]) {
    let rank = endpoint.rank();
    let mut file = File::open(endpoint, path, Mode::Create, hints.clone()).unwrap();
    let starts = [first, (cells.end(first) + 50).next_multiple_of(first)];
    let all: u64 = cells.owners.iter().zip(&cells.lens).filter(|(owner, _)| owner.is_some()).map(|(_, len)| len).sum();
    let pieces: u64 = (0..RANKS).map(|rank| cells.of(rank, 0).count()).sum();
    let mut paths = [Path::Nothing; 2];
    for step in 0..2 {
        let own = cells.of(rank, starts[step]);
        let bytes = data(&own, rank, step as u64);
        let report = file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap();
        assert_eq!((report.bytes, report.bytes_written), (all, all), "{what}, step {step}: {report:?}");
        assert_eq!(report.requests, pieces, "{what}");
        paths[step] = report.path;
        // The second time, ranks know whether they read different bytes.
        for again in 0..2 {
            let mut back = vec![0; bytes.len()];
            let read = file.read_all(&own, &BufferLayout::Contiguous, &mut back).unwrap();
            assert!(back == bytes && read.bytes == bytes.len() as u64, "{what}, step {step}: what was written is read");
            let ReadReport { call, .. } = read;
            assert_eq!(
                (call.bytes, call.bytes_read, call.requests),
                (all, all, pieces),
                "{what}, read {again}: {call:?}"
            );
            if matches!(paths[step], Path::Direct | Path::Independent | Path::Hosts) {
                assert_eq!(call.path.name(), paths[step].name(), "{what}, read {again}");
            }
        }
        // All read the same bytes, and beyond the end of the file.
        let same = Extents::contiguous(starts[step], cells.end(starts[step]) - starts[step] + 30).unwrap();
        let mut back = vec![0; same.bytes() as usize];
        let read = file.read_all(&same, &BufferLayout::Contiguous, &mut back).unwrap();
        let ends = (0..RANKS).filter_map(|rank| cells.of(rank, starts[step]).span());
        let there = ends.map(|(_, end)| end).max().unwrap_or(starts[step]) - starts[step];
        assert_eq!((read.bytes, read.call.bytes_read), (there, there * RANKS as u64), "{what}, step {step}");
        let found = std::fs::read(path).unwrap();
        let is_read = found.iter().skip(starts[step] as usize).zip(&back).all(|(found, read)| found == read);
        assert!(is_read, "{what}, step {step}: all read the same");
    }
    let endpoint = file.close().unwrap();
    let found = std::fs::read(path).unwrap();
    let mut expected = vec![0; found.len()];
    for (step, &start) in starts.iter().enumerate() {
        for rank in 0..RANKS {
            for piece in cells.of(rank, start).iter() {
                for offset in piece.offset..piece.end() {
                    expected[offset as usize] = byte(rank, offset, step as u64);
                }
            }
        }
    }
    assert!(found == expected, "{what}: the file");
    (endpoint, paths)
}

/// Tests all arrangements of hosts, with the hints `extra`.
fn on_all_hosts(test: &str, extra: &str, cells: &[(Cells, [Path; 2])]) {
    let _watchdog = Watchdog::new(test, 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for hosts in HOSTS {
            for (number, (cells, paths)) in cells.iter().enumerate() {
                let what = format!("{test} {number}, {hosts}");
                let hints = Hints::parse(&format!("cb_nodes=3;cb_buffer_size=30000;{hosts};{extra}")).unwrap();
                let path = directory.path().join("cells");
                let found;
                (endpoint, found) = write_and_read(endpoint, &path, &hints, (cells, 100), &what);
                assert_eq!(found, *paths, "{what}");
            }
        }
    })
    .unwrap();
}

#[test]
fn little_data_goes_with_the_opening() {
    let anybody = |_: usize, random: &mut SmallRng| Some(random.random_range(0..RANKS));
    let few = |_: usize, random: &mut SmallRng| random.random_bool(0.2).then_some(5);
    let cases = (0..6).map(|seed| match seed {
        0 => Cells::random(seed, 40, few, |_| 9),
        1 => Cells::random(seed, 1, anybody, |_| 1),
        _ => Cells::random(seed, 300, anybody, |_| 1 + seed * 13),
    });
    on_all_hosts("little", "", &cases.map(|cells| (cells, [Path::Root; 2])).collect::<Vec<_>>());
    let none = Cells::random(0, 5, |_, _| None, |_| 8);
    on_all_hosts("nothing", "", &[(none, [Path::Nothing; 2])]);
}

#[test]
fn more_than_fits_is_exchanged() {
    let anybody = |_: usize, random: &mut SmallRng| Some(random.random_range(0..RANKS));
    // Too much data in all, and too much on one rank.
    let all = Cells::random(1, 900, anybody, |_| 100);
    let one = Cells::random(2, 900, |_, random| Some(if random.random_bool(0.9) { 2 } else { 4 }), |_| 20);
    on_all_hosts("more", "", &[(all, [Path::Exchange; 2]), (one, [Path::Exchange; 2])]);
}

#[test]
fn large_pieces_are_written_by_their_owners() {
    const LARGE: u64 = 20_000;
    let anybody = |_: usize, random: &mut SmallRng| Some(random.random_range(0..RANKS));
    let tiled = Cells::random(3, 30, anybody, |_| LARGE);
    // A block of each rank, with gaps, not in the order of ranks.
    let apart = Cells::random(4, 2 * RANKS, |cell, _| (cell % 2 == 0).then_some((cell / 2 * 3) % RANKS), |_| LARGE);
    on_all_hosts("large", "", &[(tiled, [Path::Independent; 2]), (apart, [Path::Independent; 2])]);
}

#[test]
fn ranks_with_small_pieces_exchange_what_is_left() {
    // Ranks 0 and 3 have large pieces and write them early; the others exchange theirs.
    let anybody = |_: usize, random: &mut SmallRng| Some(random.random_range(0..RANKS));
    let mixed = Cells::random(5, 300, anybody, |owner| if matches!(owner, Some(0 | 3)) { 17_000 } else { 600 });
    on_all_hosts("mixed", "", &[(mixed, [Path::Exchange; 2])]);
    // So little is left that it goes with the first agreement.
    let rest = Cells::random(6, 20, anybody, |owner| if matches!(owner, Some(1 | 2)) { 17_000 } else { 6 });
    on_all_hosts("rest", "", &[(rest, [Path::Root; 2])]);
}

#[test]
fn where_ranges_meet_and_do_not_tile_all_is_exchanged() {
    // Alternating large pieces; every fourth has no owner, so no rank can tell that they do not overlap.
    let holes = Cells::random(7, 40, |cell, _| (cell % 4 > 0).then_some(cell % RANKS), |_| 18_000);
    on_all_hosts("holes", "trib_host_domains=disable", &[(holes, [Path::Exchange; 2])]);
}

/// Returns cells in planes: planes of one host follow planes of another; in a plane each rank of the host has bytes
/// everywhere. A rank that is alone on its host has whole planes.
fn planes(ranks_per_host: usize, len: u64, seed: u64) -> Cells {
    let (hosts, mut random) = (RANKS.div_ceil(ranks_per_host), SmallRng::seed_from_u64(seed));
    let (mut owners, mut lens) = (Vec::new(), Vec::new());
    for plane in 0..4 * hosts {
        let first = plane % hosts * ranks_per_host;
        let ranks = first..(first + ranks_per_host).min(RANKS);
        // (15 * 4096 is 160 cells of 384 bytes.)
        let cells = if ranks.len() == 1 { 1 } else { len / 384 };
        owners.extend((0..cells).map(|_| Some(random.random_range(ranks.clone()))));
        lens.extend((0..cells).map(|_| len / cells));
    }
    Cells { owners, lens }
}

#[test]
fn hosts_that_are_apart_write_and_read_their_own() {
    let _watchdog = Watchdog::new("apart", 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for ranks_per_host in [2, 3, 6] {
            let apart = "trib_driver=lustre;striping_unit=4096";
            for (seed, extra, expected) in [
                (1, "cb_buffer_size=30000", Path::Hosts),
                (2, "cb_buffer_size=4096;romio_ds_write=enable;romio_no_indep_rw=true", Path::Hosts),
                (3, "romio_cb_write=enable;romio_cb_read=enable", Path::Hosts),
                (4, "cb_buffer_size=30000;trib_host_domains=disable", Path::Exchange),
                // Fewer writers than hosts, and certain ones.
                (5, "cb_buffer_size=30000;cb_nodes=1", Path::Exchange),
                (6, "cb_buffer_size=30000;trib_placement=stride:2", Path::Exchange),
                // Whole stripes or blocks, if asked for. (Rank 6 is alone and brings a cover only of large pieces.)
                (7, &format!("cb_buffer_size=30000;{apart}"), Path::Exchange),
                (
                    8,
                    &format!("cb_buffer_size=30000;{apart};trib_host_domains=enable;trib_direct_min=4096"),
                    Path::Hosts,
                ),
                (9, "cb_buffer_size=30000;striping_unit=4096;trib_host_domains=enable", Path::Hosts),
                (10, "cb_buffer_size=30000;striping_unit=8192;trib_host_domains=enable", Path::Exchange),
            ] {
                // Times of a busy machine choose nothing.
                let text = format!(
                    "trib_shared_memory=enable;trib_ranks_per_node={ranks_per_host};trib_aggregators_fixed=true;{extra}"
                );
                let cells = planes(ranks_per_host, 15 * 4096, seed);
                let found;
                let path = directory.path().join("planes");
                (endpoint, found) =
                    write_and_read(endpoint, &path, &Hints::parse(&text).unwrap(), (&cells, 4096), &text);
                assert_eq!(found, [expected; 2], "{text}");
            }
        }
    })
    .unwrap();
}

/// Ranks of a host write the same bytes, but no two hosts do: the bytes of each host's highest rank are in the file.
#[test]
fn ranks_that_overlap_on_hosts_that_are_apart_are_in_order() {
    let _watchdog = Watchdog::new("overlap on hosts", 60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("overlap");
    const STEP: u64 = 1000;
    threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for hints in ["", "trib_overlap=rank_order", "trib_overlap=rank_order;cb_buffer_size=5000"] {
            // Small pieces; large ones, which are written early and then again.
            for len in [300, 40_000] {
                let hints = format!("trib_shared_memory=enable;trib_ranks_per_node=3;{hints}");
                let rank = endpoint.rank();
                let base = rank as u64 / 3 * 10_000_000 + rank as u64 % 3 * len / 3;
                let own = Extents::strided(base, len, (len + STEP) as i64, 60).unwrap();
                let mut file = File::open(endpoint, &path, Mode::Create, Hints::parse(&hints).unwrap()).unwrap();
                for call in 0..2 {
                    let bytes = vec![rank as u8 + 1; own.bytes() as usize];
                    let report = file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap();
                    // Rank 6 is alone; its small pieces are another's to write.
                    let path = if len < STEP { Path::Exchange } else { Path::Hosts };
                    assert_eq!(report.path, path, "{hints}, {len} bytes, call {call}: {}", report.why());
                }
                endpoint = file.close().unwrap();
                let found = std::fs::read(&path).unwrap();
                for host in 0..3 {
                    for offset in 0..len {
                        let highest = (0..3).rev().map(|place| 3 * host + place).find(|&rank| {
                            // Its piece here, or the end of the one before.
                            let from = rank % 3 * len / 3;
                            let covers = |at: u64| (from..from + len).contains(&at);
                            rank < RANKS as u64 && (covers(offset) || covers(offset + len + STEP))
                        });
                        let byte = found[(host * 10_000_000 + 7 * (len + STEP) + offset) as usize];
                        let is_right = match hints.contains("rank_order") {
                            true => Some(u64::from(byte)) == highest.map(|rank| rank + 1),
                            false => u64::from(byte).checked_sub(1).is_some_and(|rank| rank / 3 == host),
                        };
                        assert!(is_right, "{hints}, {len} bytes: {byte} at {offset} of host {host}, {highest:?}");
                    }
                }
            }
        }
    })
    .unwrap();
}

/// Bytes in a gap are read and written back with their surroundings, but never if another host may write there at
/// that time.
#[test]
fn hosts_do_not_write_back_what_others_write() {
    let _watchdog = Watchdog::new("write back", 120);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gaps");
    threads::run(6, |transport| {
        let mut endpoint = Endpoint::new(transport);
        // Gaps that are wider than what is sieved, and gaps that are not: then hosts overlap.
        for (gap, expected) in [(90_000, Path::Hosts), (3_000, Path::Exchange)] {
            for round in 0..20 {
                let rank = endpoint.rank() as u64;
                // The path follows from times if it may.
                let fixed = round % 2 == 0;
                // In a gap between the pieces of one host, the other has its own.
                let (host, place) = (rank / 3, rank % 3);
                let base = host * (gap / 2) + place * 200;
                let own = Extents::strided(base, 150, gap as i64, 30).unwrap();
                let hints = format!(
                    "trib_shared_memory=enable;trib_ranks_per_node=3;romio_ds_write=enable;trib_tiny_call=0;\
                     trib_aggregators_fixed={fixed}"
                );
                let mut file = File::open(endpoint, &path, Mode::Create, Hints::parse(&hints).unwrap()).unwrap();
                let bytes = vec![rank as u8 + 1; own.bytes() as usize];
                let report = file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap();
                assert!(!fixed || report.path == expected, "gap {gap}: {}", report.why());
                endpoint = file.close().unwrap();
                let found = std::fs::read(&path).unwrap();
                for rank in 0..6 {
                    for piece in 0..30 {
                        let at = (rank / 3 * (gap / 2) + rank % 3 * 200 + piece * gap) as usize;
                        let is_there = found[at..at + 150].iter().all(|&byte| u64::from(byte) == rank + 1);
                        assert!(is_there, "gap {gap}, round {round}: piece {piece} of rank {rank}");
                    }
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn large_pieces_that_overlap_are_written_again_in_order() {
    let _watchdog = Watchdog::new("large overlap", 60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("overlap");
    threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for hosts in HOSTS {
            let hints = Hints::parse(&format!("trib_overlap=rank_order;{hosts}")).unwrap();
            let rank = endpoint.rank();
            let own = Extents::contiguous(rank as u64 * 10_000, 25_000).unwrap();
            let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
            for _ in 0..2 {
                file.write_all(&own, &BufferLayout::Contiguous, &[rank as u8 + 1; 25_000]).unwrap();
            }
            endpoint = file.close().unwrap();
            let found = std::fs::read(&path).unwrap();
            for (offset, &byte) in found.iter().enumerate() {
                assert_eq!(byte as usize, (offset / 10_000).min(RANKS - 1) + 1, "{hosts}: byte {offset}");
            }
        }
    })
    .unwrap();
}

/// A few bytes of one rank lie in a large piece of another rank, which is written before any rank knows of them.
#[test]
fn little_data_over_large_pieces_is_in_the_order_of_ranks() {
    let _watchdog = Watchdog::new("little over large", 60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("overlap");
    threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for hosts in HOSTS {
            for (large, little) in [(5, 1), (2, 6)] {
                let hints = Hints::parse(&format!("trib_overlap=rank_order;{hosts}")).unwrap();
                let rank = endpoint.rank();
                let own = match rank {
                    _ if rank == large => Extents::contiguous(0, 50_000).unwrap(),
                    _ if rank == little => Extents::contiguous(20_000, 10).unwrap(),
                    _ => Extents::empty(),
                };
                let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
                let bytes = vec![rank as u8 + 1; own.bytes() as usize];
                file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap();
                endpoint = file.close().unwrap();
                let found = std::fs::read(&path).unwrap();
                for (offset, &byte) in found.iter().enumerate() {
                    let highest = if (20_000..20_010).contains(&offset) { large.max(little) } else { large };
                    assert_eq!(usize::from(byte), highest + 1, "{hosts}: byte {offset}");
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn a_bad_argument_of_one_rank_is_the_error_of_all() {
    let _watchdog = Watchdog::new("bad argument", 60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad");
    let errors = threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let mut errors = Vec::new();
        for hosts in HOSTS {
            let hints = Hints::parse(hosts).unwrap();
            let rank = endpoint.rank();
            let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
            for len in [10, 20_000] {
                let own = Extents::contiguous(rank as u64 * len, len).unwrap();
                let bytes = vec![1; len as usize - usize::from(rank == 4)];
                errors.push(file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap_err());
                // The file can still be used.
                file.write_all(&own, &BufferLayout::Contiguous, &vec![2; len as usize]).unwrap();
            }
            endpoint = file.close().unwrap();
        }
        errors
    })
    .unwrap();
    assert_eq!(errors[0].len(), 2 * HOSTS.len());
    assert!(errors.iter().all(|of_rank| *of_rank == errors[0]), "{errors:?}");
}

/// Rank 0 gets all data: only bytes that ranks of other nodes send are counted.
#[test]
fn what_travels_between_nodes_is_counted() {
    let _watchdog = Watchdog::new("between nodes", 60);
    let directory = tempfile::tempdir().unwrap();
    for (ranks_per_node, elsewhere) in [(1, 6), (2, 5), (4, 3), (RANKS, 0)] {
        let path = directory.path().join("file");
        let hints = format!("trib_ranks_per_node={ranks_per_node};cb_nodes=1;trib_tiny_call=0;romio_cb_write=enable");
        threads::run(RANKS, |transport| {
            let endpoint = Endpoint::new(transport);
            let own = Extents::strided(endpoint.rank() as u64 * 100, 100, 700, 50).unwrap();
            let mut file = File::open(endpoint, &path, Mode::Create, Hints::parse(&hints).unwrap()).unwrap();
            let report = file.write_all(&own, &BufferLayout::Contiguous, &[1; 5000]).unwrap();
            let lists = report.between_hosts - elsewhere * 5000;
            assert!(lists <= report.metadata_bytes && (lists > 0) == (elsewhere > 0), "{hints}: {report:?}");
            file.close().unwrap();
        })
        .unwrap();
    }
}
