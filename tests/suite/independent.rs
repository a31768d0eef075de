//! Tests independent calls and the size of the file, with ranks as threads: with and without failing storage, and
//! between collective calls.

use std::sync::Arc;

use tributary::drivers::hostile::{Fault, Hostile, PANIC};
use tributary::engine::Direction;
use tributary::engine::binding::{self, Asked};
use tributary::error::About;
use tributary::error::{FileOperation, IoClass};
use tributary::{BufferLayout, Error, Extents, File, Hints, Mode};
use tributary_testing::interleaved::Interleaved;
use tributary_testing::watchdog::on_threads;

const RANKS: usize = 4;
const LAYOUT: BufferLayout = BufferLayout::Contiguous;

fn exchange() -> Hints {
    Hints::parse("romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0;trib_driver=lustre;striping_unit=64;striping_factor=2").unwrap()
}

fn class_of(error: &Error) -> IoClass {
    match error {
        Error::Io { class, .. } => *class,
        other => panic!("not an I/O error: {other}"),
    }
}

#[test]
fn a_rank_reads_what_all_have_written_and_all_read_what_a_rank_has_written() {
    on_threads("independent and collective", RANKS, |endpoint, directory| {
        let rank = endpoint.rank();
        let path = directory.join("file");
        let pattern = Interleaved::full(RANKS, 24, 40);
        let mut file = File::open(endpoint, &path, Mode::Create, exchange()).unwrap();
        pattern.write(&mut file, 1).unwrap();
        assert_eq!(file.size().unwrap(), pattern.end());

        // A part that other ranks have written, in the middle of everything.
        let from = 7 + rank as u64;
        let mut alone = vec![0; 500];
        assert_eq!(file.read_at(from, &mut alone).unwrap(), 500);
        assert_eq!(alone, std::fs::read(&path).unwrap()[from as usize..][..500]);
        file.agree(Ok(())).unwrap();

        // Behind the end: each rank a part, then all read all of them; twice, the second time by the plan of the first.
        let end = pattern.end();
        for seed in [3, 9] {
            let own = vec![rank as u8 + seed; 100];
            assert_eq!(file.write_at(end + 100 * rank as u64, &own).unwrap(), 100);
            file.agree(Ok(())).unwrap();
            let all = Extents::contiguous(end, 100 * RANKS as u64).unwrap();
            let mut got = vec![0; 100 * RANKS];
            let report = file.read_all(&all, &LAYOUT, &mut got).unwrap();
            assert_eq!(report.bytes, 100 * RANKS as u64);
            assert!((0..got.len()).all(|at| got[at] == (at / 100) as u8 + seed));
            file.agree(Ok(())).unwrap();
        }
        file.sync().unwrap();
        file.close().unwrap();
    });
}

#[test]
fn the_end_of_the_file_moves_and_reads_stop_there() {
    on_threads("set_len", RANKS, |endpoint, directory| {
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, directory.join("file"), Mode::Create, exchange()).unwrap();
        let pattern = Interleaved::full(RANKS, 24, 40);
        pattern.write(&mut file, 1).unwrap();
        let (all, own) = (pattern.end(), pattern.extents(rank));
        for len in [all - 1000, 0, 777, all + 5000, 1] {
            file.set_len(len).unwrap();
            assert_eq!(file.size().unwrap(), len);

            // Bytes of the buffer beyond the end of the file are not changed, in independent and collective reads.
            let mut buffer = vec![0xee; 64];
            let from = len.saturating_sub(10);
            assert_eq!(file.read_at(from, &mut buffer).unwrap(), len - from);
            assert!(buffer[(len - from) as usize..].iter().all(|&byte| byte == 0xee));
            let mut buffer = vec![0xee; own.bytes() as usize];
            let present: u64 = own.iter().map(|e| e.end().min(len).saturating_sub(e.offset)).sum();
            assert_eq!(file.read_all(&own, &LAYOUT, &mut buffer).unwrap().bytes, present, "{len}");
        }
        pattern.write(&mut file, 2).unwrap();
        file.close().unwrap();
        if rank == 0 {
            pattern.check_whole(&directory.join("file"), 2, "after set_len");
        }
    });
}

#[test]
fn bad_arguments_are_refused() {
    on_threads("bad arguments", RANKS, |endpoint, directory| {
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, directory.join("file"), Mode::Create, Hints::default()).unwrap();
        assert_eq!(file.write_at(9, b"").unwrap(), 0);
        assert_eq!(file.read_at(9, &mut []).unwrap(), 0);
        let far = i64::MAX as u64;
        for offset in [far, u64::MAX] {
            assert!(file.write_at(offset, b"x").unwrap_err().to_string().contains("2^63 - 1"));
            assert!(file.read_at(offset, &mut [0]).unwrap_err().to_string().contains("2^63 - 1"));
        }
        assert!(file.set_len(far + 1).unwrap_err().to_string().contains("2^63 - 1"));
        let error = file.set_len(if rank == 2 { 10 } else { 20 }).unwrap_err();
        let due = Error::argument("length of the file", "10 on rank 2, 20 on rank 0", "the same on all ranks");
        assert_eq!(error, due.about(About::FileSize));
        assert_eq!(file.size().unwrap(), 0);
        file.close().unwrap();
    });
}

#[test]
fn a_file_that_is_only_read() {
    on_threads("read only", RANKS, |mut endpoint, directory| {
        let path = directory.join("file");
        let second = endpoint.duplicate().unwrap();
        File::open(endpoint, &path, Mode::Create, Hints::default()).unwrap().close().unwrap();
        let mut file = File::open(second, &path, Mode::Read, Hints::default()).unwrap();
        assert_eq!(class_of(&file.write_at(0, b"x").unwrap_err()), IoClass::ReadOnly);
        assert_eq!(class_of(&file.set_len(5).unwrap_err()), IoClass::ReadOnly);
        assert_eq!(file.size().unwrap(), 0);
        assert_eq!(file.read_at(0, &mut [0; 4]).unwrap(), 0);
        file.close().unwrap();
    });
}

/// If the storage of one rank fails, its own calls fail and name the offset; calls of other ranks fail only if they
/// are collective.
#[test]
fn failing_storage() {
    on_threads("failing storage", RANKS, |endpoint, directory| {
        let rank = endpoint.rank();
        let storage = Hostile::new(Fault::None);
        let path = directory.join("file");
        let mut file = File::open_on(endpoint, &path, Mode::Create, exchange(), Arc::new(storage.clone())).unwrap();
        file.set_len(100).unwrap();
        let place = 100 * rank as u64;
        let faulty = |fault| storage.set(if rank == 0 { fault } else { Fault::None });
        let expect = |outcome: Result<u64, Error>, offset: u64, class: IoClass| match (rank, outcome) {
            (0, Err(Error::Io { rank: 0, offset: at, class: found, .. })) => {
                assert_eq!((at, found), (Some(offset), class))
            }
            (1.., Ok(100)) => {}
            (_, other) => panic!("rank {rank}: {other:?}"),
        };
        faulty(Fault::Write(40, libc::ENOSPC));
        expect(file.write_at(place, &[1; 100]), 40, IoClass::NoSpace);
        let error = file.set_len(500).unwrap_err();
        assert!(matches!(&error, Error::Io { rank: 0, offset: None, operation: FileOperation::SetSize, .. }));
        assert_eq!(class_of(&error), IoClass::NoSpace);

        faulty(Fault::Read(50, libc::EIO));
        file.agree(Ok(())).unwrap();
        expect(file.read_at(place, &mut [0; 100]), 0, IoClass::Other);

        faulty(Fault::Panic(50));
        assert!(file.set_len(500).unwrap_err().to_string().contains(PANIC));
        faulty(Fault::None);

        // Short and interrupted calls are not errors.
        for fault in [Fault::Short(7), Fault::Interrupt] {
            storage.set(fault);
            let bytes: Vec<u8> = (0..100).map(|i| i as u8 ^ rank as u8).collect();
            let mut back = vec![0; 100];
            assert_eq!(file.write_at(place, &bytes).unwrap(), 100);
            assert_eq!(file.read_at(place, &mut back).unwrap(), 100);
            assert_eq!(back, bytes);
        }
        storage.set(Fault::None);
        let pattern = Interleaved::full(RANKS, 24, 40);
        pattern.write(&mut file, 5).unwrap();
        file.close().unwrap();
        if rank == 0 {
            pattern.check_whole(&path, 5, "after the faults");
        }
    });
}

#[test]
fn a_refusal_that_is_tested() {
    on_threads("start_refuse", RANKS, |endpoint, directory| {
        let rank = endpoint.rank();
        let mut file = File::open(endpoint, directory.join("file"), Mode::Create, exchange()).unwrap();
        let pattern = Interleaved::full(RANKS, 24, 40);
        let (extents, buffer) = pattern.part(rank, 1);
        let told = Error::argument("count", -1, "0 or more");
        let asked = match rank {
            2 => Asked::refusal(Direction::Write, told.clone()),
            _ => Asked::write(&extents, &LAYOUT, (&buffer).into()),
        };
        let mut operation = binding::start(&mut file, asked);
        let outcome = std::iter::repeat_with(|| operation.test()).find_map(|outcome| outcome);
        drop(operation);
        assert_eq!(outcome.unwrap().err(), Some(told.of_rank(2)));
        pattern.write(&mut file, 1).unwrap();
        file.close().unwrap();
    });
}
