//! Ranks in virtual time.

use std::time::Duration;

use tributary::{BufferLayout, Extents, File, Hints, Mode};
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
    Place { hosts, delays, faults: Faults::default() }
}

#[test]
fn one_seed_is_one_run() {
    let once = |seed| {
        let outcome = run(seed, &place(vec![0, 0, 1, 1]), |own| {
            let (rank, ranks) = (own.rank as u64, own.ranks as u64);
            let mut file = File::open_on(own.endpoint(), "f", Mode::Create, Hints::parse("").unwrap(), std::sync::Arc::new(Opener(own.files.clone()))).unwrap();
            for call in 0..3 {
                let extents = Extents::strided(call * 1000 * ranks + rank * 10, 10, 10 * ranks as i64, 100).unwrap();
                let bytes = vec![(rank + 1) as u8; 1000];
                file.write_all(&extents, &BufferLayout::Contiguous, &bytes).unwrap();
                own.compute();
            }
            let mut back = vec![0; 1000];
            file.read_all(&Extents::strided(rank * 10, 10, 10 * ranks as i64, 100).unwrap(), &BufferLayout::Contiguous, &mut back).unwrap();
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
