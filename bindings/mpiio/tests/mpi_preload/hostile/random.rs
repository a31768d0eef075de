//! Tests random views, memory types, counts, offsets, calls, hints and numbers of ranks, each derived from a seed.
//! The program checks every byte that it reads, and with the library the files are the same as without. Open MPI's
//! own files are not: OMPIO of 4.1 reads back other bytes than it wrote, so there the ranks write by themselves in
//! the runs without the library.

use rand::{RngExt, SeedableRng, rngs::SmallRng};

use tributary::hints::KernelHint;
use tributary_testing::fault_sweep::{most_tried, tell};
use tributary_testing::settings::DRIVERS;

use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;
use crate::common::report::accelerated;

/// Number of seeds that are tried, and number with TRIB_TEST_ALL=1.
const FEW: u64 = 24;
const ALL: u64 = 372;
const MOST_RANKS: usize = 5;

/// Values that each hint may get; an empty one leaves the default.
const CHOICES: [(&str, &[&str]); 10] = [
    ("trib_shared_memory", &["disable", "disable", "enable", "enable", ""]),
    ("cb_buffer_size", &["97", "97", "1000", "4096", "65536", ""]),
    ("cb_nodes", &["1", "2", "3", ""]),
    ("trib_tiny_call", &["0", "0", ""]),
    ("romio_cb_write", &["enable", "enable", "disable", ""]),
    ("romio_cb_read", &["enable", "enable", "disable", ""]),
    ("romio_ds_read", &["enable", "disable", ""]),
    ("striping_unit", &["64", "4096", "", ""]),
    ("trib_driver", &DRIVERS_OR_NONE),
    ("trib_ranks_per_node", &["2", ""]),
];

/// Names of all drivers, and an empty one for the default.
const DRIVERS_OR_NONE: [&str; DRIVERS.len() + 1] = {
    let (mut all, mut at) = ([""; DRIVERS.len() + 1], 0);
    while at < DRIVERS.len() {
        all[at] = DRIVERS[at];
        at += 1;
    }
    all
};

/// Returns a random number of ranks and random hints.
fn chosen(seed: u64) -> (usize, String) {
    let mut random = SmallRng::seed_from_u64(seed);
    let ranks = random.random_range(1..=MOST_RANKS);
    let mut hints = String::new();
    for (key, values) in CHOICES {
        let value = values[random.random_range(0..values.len())];
        if !value.is_empty() {
            hints += &format!("{key}={value}; ");
        }
    }
    let kernels: Vec<_> = KernelHint::all().collect();
    for key in ["trib_kernel_data", "trib_kernel_meta"] {
        if let Some(kernel) = kernels.get(random.random_range(0..=kernels.len())) {
            hints += &format!("{key}={kernel}; ");
        }
    }
    (ranks, hints)
}

/// Returns a run of the program on `ranks` ranks with these seeds.
fn launch(ranks: usize, how: &str, seeds: &[u64]) -> Launch {
    let launch = Launch::new(ranks, &compile("random.c")).arg(how).seconds(40);
    seeds.iter().fold(launch, |launch, seed| launch.arg(seed.to_string()))
}

/// Returns the part of a run with several seeds that belongs to one seed: the lines and the file.
fn part(of: &Outcome, seed: u64) -> (String, &[u8]) {
    let mark = format!("{seed}:");
    let lines = of.stdout.lines().filter(|line| line.starts_with("rank ") || line.starts_with(&mark));
    (lines.map(|line| format!("{line}\n")).collect(), &of.files[&format!("random-{seed}")])
}

#[test]
fn the_same_bytes_as_without() {
    let seeds: Vec<u64> = (1..=most_tried(FEW).min(ALL)).collect();
    let mut taken = 0;
    let without = match ours() {
        Family::Mpich => "together",
        Family::OpenMpi => "alone",
    };
    for ranks in 1..=MOST_RANKS {
        let own: Vec<u64> = seeds.iter().copied().filter(|seed| chosen(*seed).0 == ranks).collect();
        for some in own.chunks(20) {
            let plain = launch(ranks, without, some).run();
            for &seed in some {
                let (_, hints) = chosen(seed);
                let what = format!("random.c {seed} on {ranks} ranks, `{hints}`");
                tell(seed, seeds.len() as u64, &what);
                let with = launch(ranks, "together", &[seed]).with_library().hints(&hints).run();
                let (stdout, file) = part(&plain, seed);
                assert_eq!(with.stdout, stdout, "{what}: output with the library (left) and without\n{}", with.stderr);
                let at = with.files[&format!("random-{seed}")].iter().zip(file).position(|(a, b)| a != b);
                assert_eq!(at, None, "{what}: the first byte that differs");
                assert_eq!(with.files.values().next().map(Vec::len), Some(file.len()), "{what}: bytes in the file");
                let calls = ["write_all", "write_at_all", "iwrite_at_all", "write_all_begin"];
                taken += usize::from(calls.iter().any(|call| accelerated(&with.reports, call) > 0));
            }
        }
    }
    assert_eq!(taken, seeds.len(), "runs in which the engine wrote");
}
