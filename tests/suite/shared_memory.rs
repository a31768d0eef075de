//! Runs the conformance suite through memory that ranks share, with ranks as threads.

use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::suite;

fn on_threads(ranks: usize) {
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| suite::run_shared(Endpoint::new(transport), directory.path())).unwrap();
}

tributary_testing::tests_of_ranks! {
    on_threads:
    one_rank(1), two_ranks(2), three_ranks(3), eight_ranks(8), thirty_two_ranks(32)
}

/// Runs the suite on nodes whose ranks share memory, and which exchange messages with each other.
fn in_nodes(ranks: usize, part: usize) {
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| suite::run_in_nodes(Endpoint::new(transport), directory.path(), part)).unwrap();
}

// Each hint meets two or three of the twelve cases, with many ranks one.

#[test]
fn nodes_of_few_ranks() {
    in_nodes(3, 4);
    in_nodes(5, 6);
}

#[test]
fn nodes_of_three_and_four_ranks() {
    in_nodes(8, 6);
}

#[test]
fn nodes_of_many_ranks() {
    in_nodes(32, 12);
}

/// Writes `accesses(rank)` to one file, one after the other, and compares the file with the same writes made by rank
/// after rank.
fn same_as_in_order(ranks: usize, hints: &str, accesses: impl Fn(usize) -> Vec<Extents> + Sync) {
    let directory = tempfile::tempdir().unwrap();
    let (path, reference) = (directory.path().join("file"), directory.path().join("reference"));
    let hints = Hints::parse(&format!("trib_shared_memory=enable;{hints}")).unwrap();
    let bytes = |rank: usize, call: usize, len: u64| vec![(1 + rank * 16 + call) as u8; len as usize];
    threads::run(ranks, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
        for (call, access) in accesses(rank).iter().enumerate() {
            let buffer = bytes(rank, call, access.bytes());
            file.write_all(access, &BufferLayout::Contiguous, &buffer).unwrap();
        }
        file.close().unwrap();
    })
    .unwrap();
    let expected = std::fs::File::create(&reference).unwrap();
    for call in 0..accesses(0).len() {
        for rank in 0..ranks {
            for extent in accesses(rank)[call].iter() {
                let buffer = bytes(rank, call, extent.len);
                std::os::unix::fs::FileExt::write_all_at(&expected, &buffer, extent.offset).unwrap();
            }
        }
    }
    let len = std::fs::metadata(&path).unwrap().len();
    assert_eq!(len, std::fs::metadata(&reference).unwrap().len());
    // Of huge files with holes, only what was written.
    for rank in 0..ranks {
        for extent in accesses(rank).iter().flat_map(|access| access.iter().collect::<Vec<_>>()) {
            let (mut got, mut wanted) = (vec![0; extent.len as usize], vec![0; extent.len as usize]);
            let read = |path: &std::path::Path, into: &mut [u8]| {
                let file = std::fs::File::open(path).unwrap();
                std::os::unix::fs::FileExt::read_exact_at(&file, into, extent.offset).unwrap();
            };
            read(&path, &mut got);
            read(&reference, &mut wanted);
            assert!(got == wanted, "{extent:?} under {hints:?}");
        }
    }
}

/// A later call does not write bytes that a rank left in its slot in an earlier call.
#[test]
fn small_and_large_writes_in_one_call() {
    let one = |offset, len| Extents::contiguous(offset, len).unwrap();
    same_as_in_order(2, "", |rank| {
        let at = rank as u64 * 1000;
        let mixed = if rank == 0 { one(1 << 20, 1 << 20) } else { one(5000, 100) };
        vec![one(at, 100), one(at + 100, 100), mixed.clone(), one(at + 300, 10), mixed, one(at, 50)]
    });
}

#[test]
fn pieces_of_every_size_in_one_call() {
    for hints in
        ["", "cb_buffer_size=5", "cb_buffer_size=32769", "trib_driver=lustre;striping_unit=1000;cb_buffer_size=3000"]
    {
        same_as_in_order(4, hints, |rank| {
            let rank = rank as u64;
            let strided = |len: u64| Extents::strided(rank * len, len, 4 * len as i64, 40).unwrap();
            vec![
                strided(40 << 10),
                strided(50),
                strided(1 + rank * 1000),
                strided(3),
                Extents::contiguous(7, 20000).unwrap(),
            ]
        });
    }
}

/// Bytes overlap in distant places: the space between them costs nothing.
#[test]
fn overlaps_far_apart() {
    same_as_in_order(3, "romio_cb_write=enable", |rank| {
        let far = |at: u64| (0..300).map(move |i| Extent { offset: at + i * 20 + rank as u64 * 3, len: 11 });
        let list = far(0).chain(far(1 << 30)).chain(far(1 << 42));
        vec![Extents::from_list(list).unwrap()]
    });
}

#[test]
fn rank_order_without_collective_buffering() {
    same_as_in_order(3, "trib_overlap=rank_order;romio_cb_write=disable", |rank| {
        vec![Extents::contiguous(rank as u64 * 10_000, 30_000).unwrap()]
    });
}
