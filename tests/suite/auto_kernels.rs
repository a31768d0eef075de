//! Tests the automatic choice of kernels for each plan: the kernels that are chosen, and the bytes of calls that
//! reuse the plan.

use tributary::engine::AutoChoice;
use tributary::fabric::threads;
use tributary::{BufferLayout, CallReport, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 48;
const PIECE: u64 = 16;
const ROWS: u64 = 50;
const ROW: u64 = RANKS as u64 * PIECE;
/// Number of steps in tests with calls that repeat.
const STEPS: u64 = 40;

/// Parts of the report of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Reason for the call's path, as text.
    pub why: String,
    /// Kernels that `auto` chose, if it did.
    pub auto: Option<AutoChoice>,
    /// True if the call reused a plan.
    pub reused: bool,
}

impl Call {
    fn of(report: CallReport) -> Self {
        Self { auto: report.auto, reused: report.plan_reused, why: report.why().to_string() }
    }
}

/// Returns a rank's extents in a step of a program: every rank has pieces between those of the others.
fn access(rank: u64, step: u64) -> Extents {
    Extents::strided(step * ROW * ROWS + rank * PIECE, PIECE, ROW as i64, ROWS).unwrap()
}

fn byte(rank: u64, step: u64, at: u64) -> u8 {
    (at * 7 + rank * 3 + step * 5) as u8
}

/// Makes `steps` writes, then as many reads, and returns their calls, which are the same on all ranks. Checks the bytes in memory
/// and in the file.
pub fn calls(hints: &str, steps: u64) -> [Vec<Call>; 2] {
    let _watchdog = Watchdog::new(hints, 240);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints =
        Hints::parse(&format!("trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable; {hints}")).unwrap();
    let outcomes = threads::run(RANKS, |transport| {
        let rank = transport.rank() as u64;
        let mut file = File::open(Endpoint::new(transport), &path, Mode::Create, hints.clone()).unwrap();
        let bytes = |step| (0..PIECE * ROWS).map(|at| byte(rank, step, at)).collect::<Vec<_>>();
        let write =
            |step| Call::of(file.write_all(&access(rank, step), &BufferLayout::Contiguous, &bytes(step)).unwrap());
        let written: Vec<_> = (0..steps).map(write).collect();
        let read = |step| {
            let mut back = vec![0; (PIECE * ROWS) as usize];
            let call = Call::of(file.read_all(&access(rank, step), &BufferLayout::Contiguous, &mut back).unwrap().call);
            assert!(back == bytes(step), "rank {rank}, step {step}: other bytes ({call:?})");
            call
        };
        let read: Vec<_> = (0..steps).map(read).collect();
        file.close().unwrap();
        [written, read]
    });
    let mut outcomes = outcomes.unwrap().into_iter();
    let first = outcomes.next().unwrap();
    assert!(outcomes.all(|other| other == first), "ranks differ");
    let file = std::fs::read(&path).unwrap();
    assert!(file.len() as u64 == ROW * ROWS * steps);
    let due = |at: u64| {
        let (row, rank) = (at / ROW, at % ROW / PIECE);
        byte(rank, row / ROWS, row % ROWS * PIECE + at % PIECE)
    };
    assert!(file.iter().zip(0..).all(|(&found, at)| found == due(at)), "other bytes in the file");
    first
}

/// Returns the reasons of all calls.
pub fn reasons(hints: &str, steps: u64) -> Vec<String> {
    calls(hints, steps).concat().into_iter().map(|call| call.why).collect()
}

#[test]
fn many_ranks_on_few_nodes_go_through_local_aggregators() {
    for shared in ["automatic", "enable"] {
        for why in reasons(&format!("trib_ranks_per_node=24; trib_shared_memory={shared}"), 1) {
            assert!(why.contains("; two_layer with "), "{why}");
            assert!(why.ends_with(" a node for metadata and data, as predicted to be faster"), "{why}");
        }
    }
}

#[test]
fn a_hint_for_one_phase_leaves_the_other_open() {
    for why in reasons("trib_ranks_per_node=24; trib_kernel_data=pairwise", 1) {
        assert!(why.ends_with(" a node for metadata, as predicted to be faster"), "{why}");
    }
}

#[test]
fn without_nodes_of_several_ranks_there_is_nothing_to_choose() {
    for hints in [
        "trib_ranks_per_node=1",
        "trib_ranks_per_node=48",
        "trib_ranks_per_node=24; trib_kernel_meta=balanced; trib_kernel_data=balanced",
    ] {
        for why in reasons(hints, 1) {
            assert!(!why.contains("two_layer"), "{hints}: {why}");
        }
    }
}

/// The plan moves with the steps. Reads use the plan that the first write has made, and no later call makes a plan.
#[test]
fn steps_that_repeat_go_as_the_first_one_did() {
    for shared in ["automatic", "enable"] {
        let calls = calls(&format!("trib_ranks_per_node=24; trib_shared_memory={shared}"), STEPS).concat();
        for (number, call) in calls.iter().enumerate() {
            assert!(call.auto.is_some() && call.auto == calls[0].auto, "call {number}: {call:?}");
            assert_eq!(call.reused, number > 0, "call {number}");
        }
    }
}

/// Without memory that the ranks of a node share, there is one layer. The report says so where a hint asks for two.
#[test]
fn without_memory_calls_are_flat() {
    let common = "trib_ranks_per_node=24; trib_shared_memory=disable";
    for (kernels, phases) in [
        ("trib_kernel=two_layer; nc_num_aggrs_per_node=1", "metadata and data"),
        ("trib_kernel_meta=two_layer; trib_kernel_data=balanced; nc_num_aggrs_per_node=2", "metadata"),
    ] {
        for why in reasons(&format!("{common}; {kernels}"), 2) {
            let due = format!("; no two_layer for {phases}: the ranks of a node share no memory");
            assert!(why.ends_with(&due), "{why}");
        }
    }
    for why in reasons(common, 1) {
        assert!(!why.contains("two_layer"), "{why}");
    }
}

/// A hint that asks for two layers is not followed where no local aggregator has members: up to 512 ranks by the paper's
/// number of them, and where each rank is a node. The report says so.
#[test]
fn without_members_there_is_one_layer() {
    for hints in [
        "trib_ranks_per_node=24; trib_kernel=two_layer",
        "trib_ranks_per_node=1; trib_kernel=two_layer; nc_num_aggrs_per_node=1",
    ] {
        for why in reasons(hints, 1) {
            let due = "; no two_layer for metadata and data: every rank is its own local aggregator";
            assert!(why.ends_with(due), "{hints}: {why}");
        }
    }
}

/// Where the hints leave no choice, the report says nothing of kernels.
#[test]
fn given_kernels_are_used_in_every_step() {
    let kernels = "trib_kernel_meta=spread_out; trib_kernel_data=two_layer; nc_num_aggrs_per_node=2";
    let calls = calls(&format!("trib_ranks_per_node=24; {kernels}"), STEPS).concat();
    for (number, call) in calls.iter().enumerate() {
        assert!(["romio_cb_write=enable", "romio_cb_read=enable"].contains(&call.why.as_str()), "{call:?}");
        assert_eq!(call.reused, number > 0, "call {number}");
    }
}
