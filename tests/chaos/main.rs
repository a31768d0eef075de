//! The engine in virtual time: random programs, those that were wrong once, and the clock itself.
//!
//! `cargo run --release -p tributary-testing --bin chaos` runs more of them. `tests/chaos/mutants/run` shows
//! that they find defects: each patch of that folder is one.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tributary::{BufferLayout, Extents, File, Hints, Mode};
use tributary_testing::chaos::{run_found, run_many};
use tributary_testing::virtual_time::file::{Faults, Opener};
use tributary_testing::virtual_time::tasks::Ended;
use tributary_testing::virtual_time::{Delays, Place, run};

fn place(hosts: Vec<usize>) -> Place {
    let delays = Delays {
        message: Duration::from_micros(20),
        file: Duration::from_micros(100),
        rate: 1_000_000_000,
        compute: Duration::from_millis(1),
    };
    Place { hosts, delays, faults: Faults::default(), killed_after: None, lost_cores: 0, shares_memory: true }
}

#[test]
fn one_seed_is_one_run() {
    let once = |seed| {
        let outcome = run(seed, &place(vec![0, 0, 1, 1]), |own| {
            let (rank, ranks) = (own.rank as u64, own.ranks as u64);
            let mut file = File::open_on(
                own.endpoint(),
                "f",
                Mode::Create,
                Hints::parse("").unwrap(),
                std::sync::Arc::new(Opener(own.files.clone(), own.rank)),
            )
            .unwrap();
            for call in 0..3 {
                let extents = Extents::strided(call * 1000 * ranks + rank * 10, 10, 10 * ranks as i64, 100).unwrap();
                let bytes = vec![(rank + 1) as u8; 1000];
                file.write_all(&extents, &BufferLayout::Contiguous, &bytes).unwrap();
                own.compute();
            }
            let mut back = vec![0; 1000];
            file.read_all(
                &Extents::strided(rank * 10, 10, 10 * ranks as i64, 100).unwrap(),
                &BufferLayout::Contiguous,
                &mut back,
            )
            .unwrap();
            assert_eq!(back, vec![(rank + 1) as u8; 1000]);
            file.close().map(drop).unwrap();
        });
        assert_eq!(outcome.ended, Ended::All, "{outcome:?}");
        let bytes = outcome.files.bytes("f".as_ref()).unwrap();
        assert!(bytes.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at / 10 % 4 + 1));
        (outcome.turns, outcome.digest, outcome.took)
    };
    println!("{:?} {:?}", once(1), once(2));
    assert_eq!(once(1), once(1));
    assert_ne!(once(1), once(2));
}

/// Number of programs of seeds that never change, and of those that do.
const PROGRAMS: [u64; 2] = [800, 400];

fn are_right(seed: u64, programs: u64, ranks: usize) {
    let summary = run_many(seed..seed + programs, ranks, || false, |_| ());
    if let Some((program, wrong)) = summary.failed {
        let again = "cargo run --release -p tributary-testing --bin chaos -- --programs 1";
        panic!("{wrong}\n{again} --seed {} --ranks {ranks}", program.seed);
    }
}

#[test]
fn programs_of_fixed_seeds() {
    are_right(0, PROGRAMS[0], 4);
}

#[test]
fn programs_of_a_fresh_seed() {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |now| now.as_secs()) << 16;
    println!("seed {seed}");
    are_right(seed, PROGRAMS[1], 12);
}

#[test]
fn programs_that_were_wrong_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chaos/found");
    println!("{} programs", run_found(&folder));
}
