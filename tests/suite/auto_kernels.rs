//! Kernels that are chosen for each call: which ones, and the bytes.

use crate::watchdog::Watchdog;
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};

const RANKS: usize = 48;
const PIECE: u64 = 16;
const PIECES: u64 = 50;

/// Writes and reads a file whose pieces alternate between the ranks. Gives the reasons in the reports of both calls.
pub fn reasons(hints: &str) -> [String; 2] {
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
            assert!(why.contains("; two_layer with "), "{why}");
            assert!(
                why.ends_with(" local aggregators a node for metadata and data, as predicted to be faster"),
                "{why}"
            );
        }
    }
}

#[test]
fn a_hint_for_one_phase_leaves_the_other_open() {
    let [write, read] = reasons("trib_ranks_per_node=24; trib_kernel_data=pairwise; trib_shared_memory=enable");
    for why in [write, read] {
        assert!(why.ends_with(" local aggregators a node for metadata, as predicted to be faster"), "{why}");
    }
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

/// A step of a program: every rank has pieces between those of the others.
fn step(rank: u64, step: u64) -> (Extents, Vec<u8>) {
    let row = RANKS as u64 * PIECE;
    let access = Extents::strided(step * row * ROWS + rank * PIECE, PIECE, row as i64, ROWS).unwrap();
    let bytes = (0..access.bytes()).map(|at| (at * 7 + rank * 3 + step * 5) as u8).collect();
    (access, bytes)
}

const ROWS: u64 = 10;
const STEPS: u64 = 300;

/// The plan moves with the steps, and the plan of a trial is made for a later step than that of the first call. The bytes are
/// right whatever is tried, all ranks try alike, and reads take what writes have found.
#[test]
fn steps_that_repeat_try_other_kernels() {
    for shared in ["automatic", "enable"] {
        let reasons = reasons_of_steps(&format!("trib_ranks_per_node=24; trib_shared_memory={shared}"));
        let trials: Vec<_> = (0..).zip(&reasons).filter(|(_, why)| why.ends_with(", as a trial")).collect();
        assert!(!trials.is_empty() && trials.len() < STEPS as usize / 4, "{trials:?}");
        assert!(trials[0].0 > 3, "tried before anything is known: {trials:?}");
    }
}

/// Writes and reads all steps. Gives the reasons in the reports of the writes.
fn reasons_of_steps(hints: &str) -> Vec<String> {
    let _watchdog = Watchdog::new(hints, 240);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints =
        Hints::parse(&format!("trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable; {hints}")).unwrap();
    let outcomes = threads::run(RANKS, |transport| {
        let rank = transport.rank() as u64;
        let mut file = File::open(Endpoint::new(transport), &path, Mode::Create, hints.clone()).unwrap();
        let mut reasons = Vec::new();
        for number in 0..STEPS {
            let (access, bytes) = step(rank, number);
            reasons.push(file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap().why.into_owned());
        }
        for number in 0..STEPS {
            let (access, bytes) = step(rank, number);
            let mut back = vec![0; bytes.len()];
            let read = file.read_all(&access, &BufferLayout::Contiguous, &mut back).unwrap();
            assert!(back == bytes, "rank {rank}, step {number}: other bytes ({})", read.call.why);
            assert!(!read.call.why.ends_with(", as a trial"), "writes are timed, not reads: {}", read.call.why);
        }
        file.close().unwrap();
        reasons
    });
    let mut outcomes = outcomes.unwrap().into_iter();
    let first = outcomes.next().unwrap();
    assert!(outcomes.all(|other| other == first), "ranks differ");
    first
}

/// Where the hints leave no choice, nothing is tried.
#[test]
fn given_kernels_are_not_tried() {
    let kernels = "trib_kernel_meta=spread_out; trib_kernel_data=two_layer";
    for why in reasons_of_steps(&format!("trib_ranks_per_node=24; {kernels}")) {
        assert_eq!(why, "romio_cb_write=enable");
    }
}
