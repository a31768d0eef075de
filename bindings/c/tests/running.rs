//! Tests the owner of a file and of its operation in flight, with ranks as threads: the owner may move, and may be
//! dropped while the operation runs; everything that the operation borrows is dropped after it.

use std::path::Path;

use tributary::access::{Memory, OwnedAccess};
use tributary::fabric::threads;
use tributary::{BufferLayout, Direction, Endpoint, Error, Extents, File, Hints, Mode};
use tributary_c::running::Busy;
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 4;

fn on_threads(test: &str, program: impl Fn(Endpoint, &Path) + Sync) {
    let _watchdog = Watchdog::new(test, 120);
    let directory = tempfile::tempdir().unwrap();
    threads::run(RANKS, |transport| program(Endpoint::new(transport), directory.path())).unwrap();
}

fn open(endpoint: Endpoint, directory: &Path) -> Busy {
    let hints = Hints::parse("romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0;cb_buffer_size=64").unwrap();
    Busy::new(File::open(endpoint, directory.join("file"), Mode::Create, hints).unwrap())
}

/// # Safety
/// The 300 bytes of memory outlive the operation, and are not touched before it has ended.
unsafe fn access(rank: usize, direction: Direction, memory: *mut u8) -> OwnedAccess<'static> {
    let file = Extents::strided(10 * rank as u64, 10, 10 * RANKS as i64, 30).unwrap();
    // SAFETY: the caller's promise.
    let memory = unsafe { Memory::from_raw_parts(direction, memory, 300) };
    OwnedAccess { file, layout: BufferLayout::Contiguous, memory }
}

#[test]
fn an_operation_goes_on_while_its_owner_moves() {
    on_threads("moves", |endpoint, directory| {
        let rank = endpoint.rank();
        let mut busy = open(endpoint, directory);
        let mut written = vec![rank as u8 + 1; 300];
        let mut read = vec![0; 300];
        for (direction, buffer) in [(Direction::Write, &mut written), (Direction::Read, &mut read)] {
            // SAFETY: both buffers outlive the operation, and are not touched before it has ended.
            let access = unsafe { access(rank, direction, buffer.as_mut_ptr()) };
            busy.start("a test", direction, Ok(access)).unwrap();
            assert!(busy.file().err().is_some_and(|error| error.to_string().contains("in flight")));
            let mut homes = Vec::with_capacity(1);
            let outcome = loop {
                homes.push(busy);
                let outcome = homes[0].test().unwrap();
                busy = homes.pop().unwrap();
                if let Some(outcome) = outcome {
                    break outcome.unwrap();
                }
                std::thread::yield_now();
            };
            assert_eq!(outcome.bytes, 300);
            assert_eq!(outcome.report.bytes, 300 * RANKS as u64);
        }
        assert_eq!(read, written);
        assert!(busy.test().is_err() && busy.wait().is_err());
        busy.into_file().close().unwrap();
    });
}

/// A file whose operation did not end can only be closed, as in the library.
#[test]
fn an_owner_dropped_during_its_operation() {
    on_threads("goes", |mut endpoint, directory| {
        let rank = endpoint.rank();
        let second = endpoint.duplicate().unwrap();
        let mut busy = open(second, directory);
        let mut buffer = vec![7; 300];
        // SAFETY: the buffer outlives the operations, which do not change it.
        let mut access = || unsafe { access(rank, Direction::Write, buffer.as_mut_ptr()) };
        busy.start("a test", Direction::Write, Ok(access())).unwrap();
        if rank % 2 == 1 {
            drop(busy);
        } else {
            let error = busy.into_file().close().err().unwrap();
            assert!(error.to_string().contains("dropped before its end"), "{error}");
        }
        // Other files still work.
        let mut busy = open(endpoint, directory);
        let bad = Error::argument("count", -1, "0 or more");
        let own = if rank == 2 { Err(bad.clone()) } else { Ok(access()) };
        busy.start("a test", Direction::Write, own).unwrap();
        assert_eq!(busy.wait().err(), Some(bad.of_rank(2)));
        busy.into_file().close().unwrap();
    });
}
