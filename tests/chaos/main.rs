//! The engine in virtual time: random programs, those that were wrong once, and the clock itself.
//!
//! `cargo run --release -p tributary-testing --bin chaos` runs more of them. `tests/chaos/mutants/run` shows
//! that they find defects: each patch of that folder is one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tributary::{BufferLayout, Extent, Extents, File, Hints, Mode};
use tributary_testing::chaos::{run_found, run_many};
use tributary_testing::regret::{Bed, Regret, programs};
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
    Place {
        hosts,
        delays,
        lost_cores: 0,
        shares_memory: true,
        servers: None,
        faults: Faults::default(),
        killed_after: None,
    }
}

/// The example of docs/how-it-works/virtual-time.md.
#[test]
fn a_test_in_virtual_time() {
    let once = |seed| {
        let outcome = run(seed, &place(vec![0, 0, 1, 1]), |own| {
            let files = Arc::new(Opener(own.files.clone(), own.rank));
            let mut file = File::open_on(own.endpoint(), "f", Mode::Create, Hints::default(), files).unwrap();
            let extents = Extents::strided(own.rank as u64 * 10, 10, 40, 100).unwrap();
            file.write_all(&extents, &BufferLayout::Contiguous, &vec![own.rank as u8 + 1; 1000]).unwrap();
            file.close().map(drop).unwrap();
        });
        assert!(matches!(outcome.ended, Ended::All(_)), "{outcome:?}");
        let bytes = outcome.files.bytes("f".as_ref()).unwrap();
        assert!((0..4000).all(|at| usize::from(bytes[at]) == at / 10 % 4 + 1));
        println!("{:?} of virtual time, {} turns, digest {:x}", outcome.took, outcome.turns, outcome.digest);
        (outcome.took, outcome.turns, outcome.digest)
    };
    assert_eq!(once(7), once(7), "one seed is one run");
    assert_ne!(once(7), once(8));
}

/// Two hosts have runs of 40 KiB in turns. Where a call on the file takes long, aggregators write larger blocks, from the first
/// call on; elsewhere each host writes its own runs.
#[test]
fn hosts_of_a_slow_file_use_aggregators() {
    let once = |file: Duration, hints: &'static str| {
        let mut place = place(vec![0, 0, 1, 1]);
        (place.delays.file, place.delays.rate) = (file, 200_000_000);
        let outcome = run(3, &place, move |own| {
            let files = Arc::new(Opener(own.files.clone(), own.rank));
            let hints = Hints::parse(hints).unwrap();
            let mut file = File::open_on(own.endpoint(), "f", Mode::Create, hints, files).unwrap();
            // Rows of 640 bytes, half of them each rank's; 64 rows of a host are a run.
            let (host, half) = (own.rank as u64 / 2, own.rank as u64 % 2);
            let row =
                |row: u64| Extent { offset: (row / 64 * 128 + host * 64 + row % 64) * 640 + half * 320, len: 320 };
            let all = Extents::from_extents((0..64 * 64).map(row)).unwrap();
            let bytes = vec![own.rank as u8 + 1; all.bytes() as usize];
            let paths: Vec<_> =
                (0..3).map(|_| file.write_all(&all, &BufferLayout::Contiguous, &bytes).unwrap().path.name()).collect();
            file.close().map(drop).unwrap();
            paths
        });
        assert!(matches!(outcome.ended, Ended::All(_)), "{outcome:?}");
        let bytes = outcome.files.bytes("f".as_ref()).unwrap();
        assert!((0..64 * 128 * 640).all(|at| usize::from(bytes[at]) == at / (64 * 640) % 2 * 2 + at / 320 % 2 + 1));
        outcome.ranks[3].clone().unwrap()
    };
    assert_eq!(once(Duration::from_millis(10), ""), ["exchange"; 3]);
    assert_eq!(once(Duration::from_millis(10), "trib_host_domains=enable"), ["shared"; 3]);
    assert_eq!(once(Duration::from_micros(20), ""), ["shared"; 3]);
}

/// On two beds, no way that a hint forces is much faster than the engine's own choice.
#[test]
fn the_engine_chooses_well() {
    let wanted = ["E3SM-IO F", "IOR 64 KiB x 32"];
    for bed in [
        Bed { hosts: 2, latency: 1_000, rate: 25, servers: Some(4), link: 900 },
        Bed { hosts: 4, latency: 5_000, rate: 100, servers: None, link: 100 },
    ] {
        let programs = programs(16);
        for name in wanted {
            let program = programs.iter().find(|program| program.name == name).unwrap();
            let regret = Regret::of(bed, program);
            println!("{:.3} {} on {bed}", regret.times(), program.name);
            assert!(regret.times() < 1.3, "{regret:?}");
        }
    }
}

/// Ranks that wait for a rank that does not call are found at once, and the run says so.
#[test]
fn ranks_that_wait_for_ever_are_found() {
    let outcome = run(1, &place(vec![0, 1, 1]), |own| {
        let files = Arc::new(Opener(own.files.clone(), own.rank));
        let hints = Hints::parse("trib_stall_timeout=1000").unwrap();
        let mut file = File::open_on(own.endpoint(), "f", Mode::Create, hints, files).unwrap();
        if own.rank != 2 {
            let _ = file.sync();
        }
        own.wait_for_ever();
    });
    let Ended::Stuck(who) = outcome.ended else { panic!("{outcome:?}") };
    println!("{}", who.join("\n"));
    for expected in [
        "rank 0 is in a sync of f: it waits for a message from rank 1",
        "rank 1 is in a sync of f: rank 2 has not arrived; rank 2 has made no collective call on the file",
        "rank 2 waits to be woken",
    ] {
        assert!(who.iter().any(|line| line.starts_with(expected)), "{expected}: {who:?}");
    }
}

/// Number of programs of seeds that never change, and of those that do.
const PROGRAMS: [u64; 2] = [800, 400];

/// Returns the digest of all events of programs that must be right.
fn are_right(seed: u64, programs: u64, ranks: usize) -> u64 {
    let summary = run_many(seed..seed + programs, ranks, || false, |_| ());
    if let Some((program, wrong)) = summary.failed {
        let again = "cargo run --release -p tributary-testing --bin chaos -- --programs 1";
        panic!("{wrong}\n{again} --seed {} --ranks {ranks}", program.seed);
    }
    summary.digest
}

#[test]
fn programs_of_fixed_seeds() {
    are_right(0, PROGRAMS[0], 4);
}

#[test]
fn the_same_programs_have_the_same_events() {
    assert_eq!(are_right(5000, 100, 12), are_right(5000, 100, 12));
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
