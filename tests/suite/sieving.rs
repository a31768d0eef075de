//! Tests when gaps between pieces are read, by the number of calls and bytes. The rule is the same by messages and
//! through shared memory.

use std::sync::{Arc, Barrier, Mutex};

use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::watchdog::Watchdog;

use crate::counted::{Asked, Counted};

const RANKS: u64 = 4;
const MESSAGES: &str = "cb_nodes=1;trib_tiny_call=0;cb_buffer_size=16777216";
const SHARED: &str = "trib_shared_memory=enable;trib_tiny_call=0";

/// An access of `count` runs that lie `apart` bytes from each other. Each rank has a part of each run, beside the
/// parts of the others.
#[derive(Clone, Copy)]
struct Runs {
    count: u64,
    part: u64,
    apart: u64,
}

impl Runs {
    fn of(&self, rank: u64) -> Extents {
        let piece = |run| Extent { offset: 1000 + run * self.apart + rank * self.part, len: self.part };
        Extents::from_extents((0..self.count).map(piece).collect::<Vec<_>>()).unwrap()
    }

    fn bytes(&self) -> u64 {
        self.count * self.part * RANKS
    }

    fn end(&self) -> u64 {
        1000 + self.count * self.apart + 1000
    }
}

/// Writes the runs into an existing file, which nobody else writes if it `is_sole`, and reads them; returns the
/// counts of the write and of the read.
fn asked(runs: Runs, hints: &str, is_sole: bool) -> [Asked; 2] {
    let _watchdog = Watchdog::new("sieving", 60);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let before: Vec<u8> = (0..runs.end()).map(|offset| (offset % 251) as u8).collect();
    std::fs::write(&path, &before).unwrap();
    // The costs of calls are stated: beside other programs, measured ones would be any.
    let machine = directory.path().join("machine.json");
    std::fs::write(&machine, r#"{"version": 1, "files": {"call_seconds": 2e-6, "byte_seconds": 5e-10}}"#).unwrap();
    let hints = Hints::parse(&format!("trib_machine={};{hints}", machine.display())).unwrap();
    let counted = Counted::default();
    let (barrier, asked) = (Barrier::new(RANKS as usize), Mutex::new([Asked::default(); 2]));
    let count = |call: usize| {
        if barrier.wait().is_leader() {
            asked.lock().unwrap()[call] = counted.take();
        }
        barrier.wait();
    };
    threads::run(RANKS as usize, |transport| {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let (own, files) = (runs.of(rank), Arc::new(counted.clone()));
        let mut file = File::open_on(endpoint, &path, Mode::Update, hints.clone(), files).unwrap();
        file.set_sole_writer(is_sole);
        let bytes = vec![252 + rank as u8; own.bytes() as usize];
        file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap();
        count(0);
        let mut back = vec![0; bytes.len()];
        file.read_all(&own, &BufferLayout::Contiguous, &mut back).unwrap();
        assert_eq!(back, bytes);
        count(1);
        file.close().unwrap();
    })
    .unwrap();
    let mut expected = before;
    for rank in 0..RANKS {
        for piece in runs.of(rank).iter() {
            expected[piece.offset as usize..piece.end() as usize].fill(252 + rank as u8);
        }
    }
    assert!(std::fs::read(&path).unwrap() == expected, "what lies between the runs stays as it was");
    asked.into_inner().unwrap()
}

/// Writes by messages and through shared memory; the counts must be equal, except for bytes at the ends of reads.
fn written(runs: Runs, hints: &str) -> Asked {
    let [messages, shared] =
        [MESSAGES, SHARED].map(|way| asked(runs, &format!("{way};romio_cb_write=enable;{hints}"), true)[0]);
    assert_eq!(Asked { read: 0, ..messages }, Asked { read: 0, ..shared }, "{hints}");
    assert!(shared.read.abs_diff(messages.read) <= 2 * RANKS * runs.part, "{hints}: {messages:?}, {shared:?}");
    messages
}

/// Returns the counts of a read by messages, or of each rank by itself.
fn read(runs: Runs, hints: &str) -> Asked {
    asked(runs, &format!("{MESSAGES};{hints}"), true)[1]
}

#[test]
fn sparse_runs_are_written_one_by_one() {
    let runs = Runs { count: 1000, part: 48, apart: 12_000 };
    assert_eq!(written(runs, ""), Asked { writes: 1000, written: runs.bytes(), reads: 0, read: 0 });
}

#[test]
fn what_is_copied_for_a_group_costs_less_than_its_calls() {
    // Within one window of either way. 450 calls cost as much as 1,843,200 bytes.
    let thin = Runs { count: 450, part: 24, apart: 2110 };
    assert_eq!(written(thin, ""), Asked { writes: 450, written: thin.bytes(), reads: 0, read: 0 });
    let dense = Runs { count: 450, part: 24, apart: 2085 };
    let Asked { writes, reads, read, .. } = written(dense, "");
    assert_eq!((writes, reads), (1, 1));
    assert!(read <= 450 * dense.apart, "{read} bytes read");
    let few = Runs { count: 16, part: 1000, apart: 4040 };
    assert_eq!(written(few, ""), Asked { writes: 16, written: few.bytes(), reads: 0, read: 0 });
    let Asked { writes, reads, .. } = written(Runs { count: 17, ..few }, "");
    assert_eq!((writes, reads), (1, 1));
}

#[test]
fn hints_force_either() {
    let [sparse, dense] = [600, 16].map(|apart| Runs { count: 1000, part: 2, apart });
    let Asked { writes, reads, .. } = written(sparse, "romio_ds_write=enable");
    assert_eq!((writes, reads), (1, 1));
    let Asked { writes, reads, .. } = written(dense, "romio_ds_write=disable");
    assert_eq!((writes, reads), (1000, 0));
    let Asked { reads, .. } = read(sparse, "romio_cb_read=enable;romio_ds_read=enable");
    assert_eq!(reads, 1);
    let Asked { reads, read, .. } = read(dense, "romio_cb_read=enable;romio_ds_read=disable");
    assert_eq!((reads, read), (1000, dense.bytes()));
}

/// If others may write the file, only the pieces are written, whatever a hint says.
#[test]
fn gaps_that_others_may_write_are_not_written() {
    let dense = Runs { count: 450, part: 24, apart: 2085 };
    for hints in [MESSAGES, SHARED].into_iter().flat_map(|way| ["", ";romio_ds_write=enable"].map(|hint| (way, hint))) {
        let hints = format!("{};romio_cb_write=enable{}", hints.0, hints.1);
        let [Asked { writes, written, reads, .. }, _] = asked(dense, &hints, false);
        assert_eq!((writes, written, reads), (450, dense.bytes(), 0), "{hints}");
    }
}

/// A dense part is written as a whole, whatever lies far behind it.
#[test]
fn a_gap_that_is_worth_a_call_divides_groups() {
    let _watchdog = Watchdog::new("groups", 60);
    let directory = tempfile::tempdir().unwrap();
    for hints in [MESSAGES, SHARED] {
        let (path, counted) = (directory.path().join("file"), Counted::default());
        std::fs::write(&path, vec![1; 300_000]).unwrap();
        let hints = Hints::parse(&format!("{hints};romio_cb_write=enable")).unwrap();
        threads::run(1, |transport| {
            let parts = [0, 200_000].map(|from| (0..100).map(move |i| Extent { offset: from + i * 300, len: 200 }));
            let own = Extents::from_extents(parts.into_iter().flatten().collect::<Vec<_>>()).unwrap();
            let files = Arc::new(counted.clone());
            let mut file = File::open_on(Endpoint::new(transport), &path, Mode::Update, hints.clone(), files).unwrap();
            file.set_sole_writer(true);
            file.write_all(&own, &BufferLayout::Contiguous, &[2; 40_000]).unwrap();
            file.close().unwrap();
        })
        .unwrap();
        let Asked { writes, reads, .. } = counted.take();
        assert_eq!((writes, reads), (2, 2));
    }
}

#[test]
fn reads_go_over_what_a_call_is_worth() {
    let [near, far] = [4192, 4193].map(|apart| Runs { count: 100, part: 24, apart });
    for ways in ["romio_cb_read=enable", "romio_cb_read=enable;trib_driver=gpfs;striping_unit=8388608"] {
        let Asked { reads, read, .. } = read(near, ways);
        assert_eq!((reads, read), (1, 99 * near.apart + 24 * RANKS), "{ways}");
    }
    assert_eq!(read(far, "romio_cb_read=enable").reads, 100);
    // Where the file system locks blocks, a call is worth more.
    assert_eq!(read(far, "romio_cb_read=enable;trib_driver=gpfs;striping_unit=8388608").reads, 1);
    // Each rank by itself: the parts of the others lie between its own.
    let own = Runs { count: 100, part: 24, apart: 4096 + 24 };
    assert_eq!(read(own, "romio_cb_read=disable").reads, RANKS);
    let own = Runs { count: 100, part: 24, apart: 4096 + 25 };
    assert_eq!(read(own, "romio_cb_read=disable").reads, 100 * RANKS);
}

/// If all ranks want the same bytes, one rank reads them; also after a read in which no rank wanted any.
#[test]
fn what_all_want_is_read_once_also_after_a_read_of_nothing() {
    let _watchdog = Watchdog::new("same", 60);
    let directory = tempfile::tempdir().unwrap();
    let (path, counted) = (directory.path().join("file"), Counted::default());
    std::fs::write(&path, vec![1; 5000]).unwrap();
    threads::run(RANKS as usize, |transport| {
        let files = Arc::new(counted.clone());
        let hints = Hints::parse("").unwrap();
        let mut file = File::open_on(Endpoint::new(transport), &path, Mode::Read, hints, files).unwrap();
        let mut back = vec![0; 5000];
        for wanted in [0, 5000] {
            let wanted = Extents::contiguous(0, wanted).unwrap();
            file.read_all(&wanted, &BufferLayout::Contiguous, &mut back[..wanted.bytes() as usize]).unwrap();
        }
        assert_eq!(back, [1; 5000]);
        file.close().unwrap();
    })
    .unwrap();
    let Asked { reads, read, .. } = counted.take();
    assert_eq!((reads, read), (1, 5000));
}
