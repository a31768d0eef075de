//! Kernels that are chosen for each call, and tried in calls that repeat: which ones, and the bytes.

use tributary::engine::{AutoChoice, ChosenBy};
use tributary::fabric::threads;
use tributary::{BufferLayout, CallReport, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 48;
const PIECE: u64 = 16;
const ROWS: u64 = 50;
const ROW: u64 = RANKS as u64 * PIECE;
/// Steps of a file; more begin anew.
const STEPS: u64 = 300;
/// Calls of a file after which no trial is expected any more.
const MOST: u64 = 1500;
/// Files after which one must have had a trial. (A machine that stalls while the first plan is made has none for long.)
const FILES: usize = 4;

/// What the report of a call says.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The reason of its path.
    pub why: String,
    /// What `auto` took.
    pub auto: Option<AutoChoice>,
    /// Whether it had its plan.
    pub reused: bool,
}

impl Call {
    fn of(report: CallReport) -> Self {
        Self { auto: report.auto, reused: report.plan_reused, why: report.why().to_string() }
    }

    fn is_trial(&self) -> bool {
        self.auto.is_some_and(|choice| choice.by == ChosenBy::Trial)
    }
}

/// A step of a program: every rank has pieces between those of the others.
fn access(rank: u64, step: u64) -> Extents {
    Extents::strided(step * ROW * ROWS + rank * PIECE, PIECE, ROW as i64, ROWS).unwrap()
}

fn byte(rank: u64, step: u64, at: u64) -> u8 {
    (at * 7 + rank * 3 + step * 5) as u8
}

/// The calls of writes, then of reads, the same on all ranks: `steps` of each, or as many as it takes until one has been a trial
/// and some have followed. Checks the bytes in memory and in the file.
pub fn calls(hints: &str, steps: impl Into<Option<u64>>) -> [Vec<Call>; 2] {
    let _watchdog = Watchdog::new(hints, 240);
    let steps = steps.into();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let hints =
        Hints::parse(&format!("trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable; {hints}")).unwrap();
    let outcomes = threads::run(RANKS, |transport| {
        let rank = transport.rank() as u64;
        let mut file = File::open(Endpoint::new(transport), &path, Mode::Create, hints.clone()).unwrap();
        let bytes = |step| (0..PIECE * ROWS).map(|at| byte(rank, step, at)).collect::<Vec<_>>();
        let written = repeated(steps, |step| {
            Call::of(file.write_all(&access(rank, step), &BufferLayout::Contiguous, &bytes(step)).unwrap())
        });
        let read = repeated(steps, |step| {
            let (mut back, step) = (vec![0; (PIECE * ROWS) as usize], step.min(written.len() as u64 - 1));
            let call = Call::of(file.read_all(&access(rank, step), &BufferLayout::Contiguous, &mut back).unwrap().call);
            assert!(back == bytes(step), "rank {rank}, step {step}: other bytes ({call:?})");
            call
        });
        file.close().unwrap();
        [written, read]
    });
    let mut outcomes = outcomes.unwrap().into_iter();
    let first = outcomes.next().unwrap();
    assert!(outcomes.all(|other| other == first), "ranks differ");
    let file = std::fs::read(&path).unwrap();
    assert!(file.len() as u64 == ROW * ROWS * (first[0].len() as u64).min(STEPS));
    let due = |at: u64| {
        let (row, rank) = (at / ROW, at % ROW / PIECE);
        byte(rank, row / ROWS, row % ROWS * PIECE + at % PIECE)
    };
    assert!(file.iter().zip(0..).all(|(&found, at)| found == due(at)), "other bytes in the file");
    first
}

fn repeated(steps: Option<u64>, mut call: impl FnMut(u64) -> Call) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    loop {
        let done = calls.len();
        let is_enough = match steps {
            Some(steps) => done as u64 == steps,
            None => done as u64 == MOST || (done > 20 && calls[done - 20].is_trial()),
        };
        if is_enough {
            return calls;
        }
        calls.push(call(done as u64 % STEPS));
    }
}

/// The reasons of all calls.
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

/// The plan moves with the steps, and the plan of a trial is made for a later step than that of the first call. The bytes are
/// right whatever is tried, and all ranks try alike; writes and reads each for themselves.
#[test]
fn steps_that_repeat_try_other_kernels() {
    for shared in ["automatic", "enable"] {
        let hints = format!("trib_ranks_per_node=24; trib_shared_memory={shared}");
        let mut tried = [false; 2];
        for _ in 0..FILES {
            for (tried, calls) in tried.iter_mut().zip(calls(&hints, None)) {
                let trials: Vec<_> = (0..calls.len()).filter(|&call| calls[call].is_trial()).collect();
                assert!(trials.first().is_none_or(|&first| first >= 3), "tried before anything is known: {trials:?}");
                assert!(trials.windows(2).all(|pair| pair[1] > pair[0] + 1), "not in turns: {trials:?}");
                assert!(trials.first().is_none_or(|&first| !calls[first].reused), "a trial makes a plan: {trials:?}");
                *tried |= !trials.is_empty();
            }
            if tried == [true; 2] {
                break;
            }
        }
        assert_eq!(tried, [true; 2], "trials of writes, and of reads");
    }
}

/// Where the hints leave no choice, nothing is tried: no call makes a plan but the first.
#[test]
fn given_kernels_are_not_tried() {
    let kernels = "trib_kernel_meta=spread_out; trib_kernel_data=two_layer";
    let calls = calls(&format!("trib_ranks_per_node=24; {kernels}"), STEPS).concat();
    for (number, call) in calls.iter().enumerate() {
        assert!(["romio_cb_write=enable", "romio_cb_read=enable"].contains(&call.why.as_str()), "{call:?}");
        assert_eq!(call.reused, number > 0, "call {number}");
    }
}
