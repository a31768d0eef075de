//! Kernels that are chosen for each call: which ones, and the bytes.

use crate::watchdog::Watchdog;
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};

const RANKS: usize = 48;
const PIECE: u64 = 16;
const PIECES: u64 = 50;

/// Writes and reads a file whose pieces alternate between the ranks. Gives the reasons in the reports of both calls.
fn reasons(hints: &str) -> [String; 2] {
    let _watchdog = Watchdog::new(hints, 120);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints =
        Hints::parse(&format!("trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable; {hints}")).unwrap();
    let outcomes = threads::run(RANKS, |transport| {
        let rank = transport.rank() as u64;
        let mut file = File::open(Endpoint::new(transport), &path, Mode::Create, hints.clone()).unwrap();
        let access = Extents::strided(rank * PIECE, PIECE, (RANKS as u64 * PIECE) as i64, PIECES).unwrap();
        let bytes: Vec<u8> = (0..access.bytes()).map(|at| (at * 7 + rank) as u8).collect();
        let written = file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
        let mut back = vec![0; bytes.len()];
        let read = file.read_all(&access, &BufferLayout::Contiguous, &mut back).unwrap();
        assert!(back == bytes, "rank {rank}: other bytes");
        file.close().unwrap();
        [written.why.into_owned(), read.call.why.into_owned()]
    });
    let mut outcomes = outcomes.unwrap().into_iter();
    let first = outcomes.next().unwrap();
    assert!(outcomes.all(|other| other == first), "ranks differ");
    let file = std::fs::read(&path).unwrap();
    let byte = |at: u64| {
        let (piece, rank) = (at / PIECE / RANKS as u64, at / PIECE % RANKS as u64);
        ((piece * PIECE + at % PIECE) * 7 + rank) as u8
    };
    assert!(file.len() as u64 == RANKS as u64 * PIECE * PIECES);
    assert!(file.iter().zip(0..).all(|(&found, at)| found == byte(at)), "other bytes in the file");
    first
}

#[test]
fn many_ranks_on_few_nodes_go_through_local_aggregators() {
    for shared in ["automatic", "enable"] {
        for why in reasons(&format!("trib_ranks_per_node=24; trib_shared_memory={shared}")) {
            assert!(why.ends_with("; two_layer for metadata and data, as predicted to be faster"), "{why}");
        }
    }
}

#[test]
fn a_hint_for_one_phase_leaves_the_other_open() {
    let [write, read] = reasons("trib_ranks_per_node=24; trib_kernel_data=pairwise");
    assert!(write.ends_with("; two_layer for metadata, as predicted to be faster"), "{write}");
    assert!(read.ends_with("; two_layer for metadata, as predicted to be faster"), "{read}");
}

#[test]
fn without_nodes_of_several_ranks_there_is_nothing_to_choose() {
    for hints in [
        "trib_ranks_per_node=1",
        "trib_ranks_per_node=48",
        "trib_ranks_per_node=24; trib_kernel_meta=balanced; trib_kernel_data=balanced",
    ] {
        for why in reasons(hints) {
            assert!(!why.contains("two_layer"), "{hints}: {why}");
        }
    }
}
