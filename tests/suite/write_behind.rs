//! Tests write-behind with ranks as threads, on storage that is slow, fails or has no locks.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile, PANIC};
use tributary::engine::{Direction, binding};
use tributary::error::IoClass;
use tributary::{BufferLayout, Error, Extents, File, Hints, Mode, Result};
use tributary_testing::interleaved::Interleaved;
use tributary_testing::trial::same_error;
use tributary_testing::watchdog::on_threads;

use crate::cached_apart::random_program;
use crate::foreign::InMemory;

const RANKS: usize = 4;
const LAYOUT: BufferLayout = BufferLayout::Contiguous;
/// One aggregator for two ranks, windows in shared memory, hosts that write their own bytes, and each rank by itself.
const WAYS: [&str; 4] = [
    "trib_shared_memory=disable; trib_ranks_per_node=2; romio_cb_write=enable; romio_cb_read=enable; trib_tiny_call=0",
    "trib_shared_memory=enable; romio_cb_write=enable; romio_cb_read=enable",
    "trib_shared_memory=enable; trib_ranks_per_node=2",
    "romio_cb_write=disable; romio_cb_read=disable",
];

fn hints(way: &str, more: &str) -> Hints {
    Hints::parse(&format!("{way}; {more}")).unwrap()
}

/// Puts what all ranks write with `seed` into the image of the file.
fn put(image: &mut [u8], pattern: &Interleaved, seed: u64) {
    for (extents, bytes) in (0..RANKS).map(|rank| pattern.part(rank, seed)) {
        let mut rest = &bytes[..];
        for extent in extents.iter() {
            let (here, others) = rest.split_at(extent.len as usize);
            image[extent.offset as usize..extent.end() as usize].copy_from_slice(here);
            rest = others;
        }
    }
}

/// All calls return before the storage has all bytes, and every rank reads what it has written, in independent and in
/// collective calls.
#[test]
fn a_call_returns_before_its_bytes_are_written() {
    on_threads("a call returns early", RANKS, |mut endpoint, directory| {
        for (number, way) in WAYS.into_iter().enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let (hints, storage) = (hints(way, "trib_write_behind=64M; cb_buffer_size=64k"), Hostile::new(Fault::None));
            let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            assert_eq!(file.settings().without_write_behind, None);
            let pattern = Interleaved::full(RANKS, 1000, 150);
            storage.set(Fault::Slow(Duration::from_millis(200)));
            pattern.write(&mut file, 1).unwrap();
            let written: u64 = storage.take().0.iter().map(|range| range.end - range.start).sum();
            assert!(written < pattern.bytes() / RANKS as u64, "{way}: {written} bytes");
            storage.set(Fault::Slow(Duration::from_millis(2)));
            let (extents, own) = pattern.part(rank, 1);
            let (first, mut read) = (extents.iter().next().unwrap(), vec![0; own.len()]);
            file.read_at(first.offset, &mut read[..first.len as usize]).unwrap();
            assert!(read[..first.len as usize] == own[..first.len as usize], "{way}: independent");
            assert_eq!(file.size().unwrap(), pattern.end(), "{way}");
            file.read_all(&extents, &LAYOUT, &mut read).unwrap();
            assert!(read == own, "{way}: collective");
            endpoint = file.close().unwrap();
        }
    });
}

/// Each rank reads at once what it has written in a collective call, and the end of the file is known at once, although
/// the file takes no byte meanwhile. Bytes come from memory where the rank that reads has written them: aggregators, and
/// ranks by themselves.
#[test]
fn a_read_takes_bytes_from_memory() {
    on_threads("reads from memory", RANKS, |mut endpoint, directory| {
        let patterns = [Interleaved::full(RANKS, 1000, 150), Interleaved::full(RANKS, 100_000, 1)];
        for (number, (way, pattern)) in [WAYS[0], WAYS[3]].into_iter().zip(patterns).enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let (hints, storage) = (hints(way, "trib_write_behind=4M; cb_buffer_size=64k"), Hostile::new(Fault::Stuck));
            let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            for seed in 1..=2 {
                pattern.write(&mut file, seed).unwrap();
                let (extents, own) = pattern.part(rank, seed);
                // The bytes of a second write wait for those of the first at the same place.
                if seed == 1 {
                    let mut read = vec![0; own.len()];
                    assert_eq!(file.read_all(&extents, &LAYOUT, &mut read).unwrap().bytes, own.len() as u64, "{way}");
                    assert!(read == own, "{way}: while the file takes nothing");
                    assert_eq!(storage.take().0, [], "{way}");
                    storage.set(Fault::None);
                }
                let mut read = vec![0; own.len()];
                file.read_all(&extents, &LAYOUT, &mut read).unwrap();
                assert!(read == own, "{way}: write {seed}");
            }
            endpoint = file.close().unwrap();
        }
    });
}

/// A rank waits only for ranks that have left bytes where it writes or reads: not if each has a block of its own, although
/// every call writes in the range of the one before.
#[test]
fn ranks_wait_only_where_they_touch_the_same_bytes() {
    const BLOCK: u64 = 4 << 20;
    const PIECE: u64 = 64 << 10;
    on_threads("blocks of ranks", RANKS, |endpoint, directory| {
        let (path, rank) = (&directory.join("file"), endpoint.rank() as u64);
        let (hints, storage) = (hints(WAYS[3], "trib_write_behind=1M"), Hostile::new(Fault::Stuck));
        let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        let bytes = |rank: u64, at: u64| vec![(16 * rank + at + 1) as u8; PIECE as usize];
        for at in 0..4 {
            let extents = Extents::contiguous(rank * BLOCK + at * PIECE, PIECE).unwrap();
            file.write_all(&extents, &LAYOUT, &bytes(rank, at)).unwrap();
        }
        let mut read = vec![0; PIECE as usize];
        file.read_at(rank * BLOCK + PIECE, &mut read).unwrap();
        assert!(read == bytes(rank, 1));
        assert_eq!(storage.take().0, []);
        // What another rank has buffered is waited for.
        file.agree(Ok(())).unwrap();
        let freed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            storage.set(Fault::None);
        });
        let next = (rank + 1) % RANKS as u64;
        file.read_at(next * BLOCK + 3 * PIECE, &mut read).unwrap();
        assert!(read == bytes(next, 3), "rank {next}'s bytes");
        freed.join().unwrap();
        file.close().unwrap();
    });
}

/// A hole before bytes that are not in the file yet is zeros, not the end of the file.
#[test]
fn a_hole_before_left_bytes_is_zeros() {
    on_threads("a hole before left bytes", 1, |endpoint, directory| {
        let (hints, storage) =
            (hints("", "trib_write_behind=1M"), Hostile::new(Fault::Slow(Duration::from_millis(50))));
        let path = directory.join("file");
        let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage)).unwrap();
        file.write_all(&Extents::contiguous(5000, 5).unwrap(), &LAYOUT, &[7; 5][..]).unwrap();
        let mut read = [1; 8];
        assert_eq!((file.read_at(0, &mut read).unwrap(), read), (8, [0; 8]));
        assert_eq!((file.read_at(4998, &mut read).unwrap(), read), (7, [0, 0, 7, 7, 7, 7, 7, 0]));
        file.set_len(4999).unwrap();
        let report = file.read_all(&Extents::contiguous(4990, 30).unwrap(), &LAYOUT, &mut [0; 30][..]).unwrap();
        assert_eq!(report.bytes, 9, "the file is shorter now");
        file.close().unwrap();
    });
}

/// Records with holes return at once, one behind the other: the call does not fill the holes, and asks for no end for which
/// it would have to wait. What others write into the holes stays.
#[test]
fn records_with_holes_are_left_behind() {
    on_threads("records with holes", RANKS, |mut endpoint, directory| {
        for (number, way) in WAYS[..3].iter().enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let (hints, storage) = (hints(way, "trib_write_behind=4M; cb_buffer_size=64k"), Hostile::new(Fault::Stuck));
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            file.set_sole_writer(true);
            let pattern = Interleaved { ranks: RANKS, len: 6000, pitch: 8000, count: 20 };
            let (extents, own) = pattern.part(rank, 1);
            let record = pattern.end() + 2000;
            for at in 0..3 {
                file.write_all(&extents.clone().shift(at * record).unwrap(), &LAYOUT, &own).unwrap();
            }
            assert_eq!(storage.take().0, [], "{way}: no byte is in the file");
            if rank == 0 {
                let other = std::fs::File::options().write(true).open(&path).unwrap();
                for hole in (6000..3 * record - 2000).step_by(8000) {
                    other.write_all_at(&[9; 2000], hole).unwrap();
                }
            }
            storage.set(Fault::None);
            endpoint = file.close().unwrap();
            if rank == 0 {
                let mut image = vec![9; record as usize];
                put(&mut image, &pattern, 1);
                image = image.repeat(3);
                image.truncate((3 * record - 2000) as usize);
                assert!(std::fs::read(&path).unwrap() == image, "{way}");
            }
        }
    });
}

/// Every later write stays, whatever rank writes it, and every rank sees its own bytes after each call.
#[test]
fn later_writes_stay() {
    on_threads("later writes stay", RANKS, |mut endpoint, directory| {
        let storage = Hostile::new(Fault::Slow(Duration::from_millis(1)));
        let patterns =
            [(7000, 40), (200, 30), (200_000, 3), (1500, 200)].map(|(len, count)| Interleaved::full(RANKS, len, count));
        for (number, way) in WAYS.into_iter().enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let hints = hints(way, "trib_write_behind=1M; cb_buffer_size=40k");
            let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            let mut image = vec![0; 2_400_000];
            for seed in 1..=16 {
                let pattern = patterns[(seed as usize * 7 + number) % patterns.len()];
                pattern.write(&mut file, seed).unwrap();
                put(&mut image, &pattern, seed);
                for extent in pattern.extents(rank).iter().step_by(17) {
                    let mut read = vec![0; extent.len as usize];
                    file.read_at(extent.offset, &mut read).unwrap();
                    assert!(
                        read == image[extent.offset as usize..extent.end() as usize],
                        "{way}, write {seed}, {extent:?}"
                    );
                }
                // No rank writes again before all have read.
                file.agree(Ok(())).unwrap();
            }
            endpoint = file.close().unwrap();
            let written = std::fs::read(&path).unwrap();
            assert_eq!(written.len(), image.iter().rposition(|&byte| byte != 0).unwrap() + 1);
            assert!(written == image[..written.len()], "{way}");
        }
    });
}

/// Random programs, in which cells of the file change their owner at a sync: every read, of any kind, gets the bytes that
/// MPI defines.
#[test]
fn random_programs_read_what_they_wrote() {
    on_threads("random programs", RANKS, |mut endpoint, directory| {
        for (number, way) in WAYS.into_iter().enumerate() {
            for seed in 0..9 {
                let path = &directory.join(format!("{number}-{seed}"));
                let files = Arc::new(Hostile::new(Fault::Slow(Duration::from_micros(50 * seed))));
                let hints = format!("{way}; trib_write_behind=1M");
                let now = || std::fs::read(path).unwrap();
                let wrong;
                (endpoint, wrong) = random_program(endpoint, (files, path), &hints, seed, (now, now));
                assert_eq!(wrong, 0, "{hints}, seed {seed}");
            }
        }
    });
}

/// What others write into holes as soon as the call is over stays, although the call fills the holes.
#[test]
fn holes_belong_to_others_after_the_call() {
    on_threads("holes after the call", RANKS, |mut endpoint, directory| {
        for (number, way) in WAYS[..3].iter().enumerate() {
            let (path, rank) = (directory.join(format!("{number}")), endpoint.rank());
            let pattern = Interleaved::with_holes(RANKS, 24, 200);
            if rank == 0 {
                std::fs::write(&path, vec![0x11; pattern.end() as usize]).unwrap();
            }
            let hints = hints(way, "trib_write_behind=1M; cb_buffer_size=4k; romio_ds_write=enable");
            let storage = Hostile::new(Fault::Slow(Duration::from_millis(5)));
            let mut file = File::open_on(endpoint, &path, Mode::Update, hints, Arc::new(storage)).unwrap();
            pattern.write(&mut file, 1).unwrap();
            if rank == 0 {
                let other = std::fs::File::options().write(true).open(&path).unwrap();
                for hole in (24..pattern.end()).step_by(48) {
                    other.write_all_at(&[0; 24], hole).unwrap();
                }
            }
            endpoint = file.close().unwrap();
            if rank == 0 {
                pattern.check_whole(&path, 1, way);
            }
        }
    });
}

/// Writes `pattern` to a storage that fails later, and waits until it has failed on every rank.
fn fail_later(file: &mut File, storage: &Hostile, fails: bool) {
    if fails {
        storage.set(Fault::Write(0, libc::ENOSPC));
    }
    Interleaved::full(RANKS, 1000, 30).write(file, 1).unwrap();
    file.size().unwrap();
    storage.set(Fault::None);
}

fn write(file: &mut File) -> Result<()> {
    Interleaved::full(RANKS, 900, 30).write(file, 2).map(drop)
}

/// The next calls return the error of an earlier write of each rank, once and on all ranks, whichever calls they are.
#[test]
fn the_next_call_returns_the_error() {
    type Call = fn(&mut File) -> Result<()>;
    let calls: [(&str, Call); 6] = [
        ("write", write),
        ("read", |file| file.read_all(&Extents::contiguous(0, 9).unwrap(), &LAYOUT, &mut [0; 9][..]).map(drop)),
        ("sync", File::sync),
        ("set_len", |file| file.set_len(5)),
        ("agree", |file| file.agree(Ok(()))),
        ("fan_in", |file| file.fan_in().map(drop)),
    ];
    on_threads("errors of earlier writes", RANKS, |mut endpoint, directory| {
        for (number, way) in WAYS.into_iter().enumerate() {
            for (name, call) in calls {
                let what = format!("{name}, {way}");
                let (path, rank) = (directory.join(format!("{number}-{name}")), endpoint.rank());
                let hints = hints(way, "trib_write_behind=1M; cb_buffer_size=4k");
                let storage = Hostile::new(Fault::None);
                let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
                binding::call_them(&mut file, "MPI_File_write_all");
                // In an exchange, rank 2 is an aggregator.
                fail_later(&mut file, &storage, number > 0 || rank == 2);
                let outcome = call(&mut file);
                check(&same_error(file.endpoint(), outcome, &what), &what);
                drain(|| call(&mut file), |error| check(error, &what));
                write(&mut file).unwrap();
                endpoint = file.close().unwrap();
            }
        }
    });
}

/// Repeats a call until it returns no error of another rank any more, and checks the errors.
fn drain(mut call: impl FnMut() -> Result<()>, check: impl Fn(&Error)) {
    let errors: Vec<_> = std::iter::from_fn(|| call().err()).take(RANKS).inspect(check).collect();
    assert!(errors.len() < RANKS, "each rank has one, and one was returned before: {errors:?}");
}

fn check(error: &Error, what: &str) {
    let Error::Io { operation, class, .. } = error else { panic!("{what}: {error}") };
    assert_eq!(operation.to_string(), "deferred write (MPI_File_write_all, collective write 1)", "{what}");
    assert_eq!(*class, IoClass::NoSpace, "{what}");
}

/// A panic of the storage in a thread that writes later is an error like others.
#[test]
fn a_thread_that_writes_later_panics() {
    on_threads("a thread that writes later panics", RANKS, |mut endpoint, directory| {
        for (number, way) in WAYS.into_iter().enumerate() {
            let (path, storage) = (directory.join(format!("{number}")), Hostile::new(Fault::Panic(1)));
            let hints = hints(way, "trib_write_behind=1M; cb_buffer_size=4k");
            let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            let outcome = write(&mut file).and_then(|()| file.sync());
            let error = same_error(file.endpoint(), outcome, way);
            assert!(error.to_string().contains(PANIC), "{way}: {error}");
            storage.set(Fault::None);
            drain(|| file.sync(), |error| assert!(error.to_string().contains(PANIC), "{way}: {error}"));
            write(&mut file).unwrap();
            endpoint = file.close().unwrap();
        }
    });
}

#[test]
fn the_close_returns_the_error() {
    for (number, way) in WAYS.into_iter().enumerate() {
        let errors = on_threads("the close returns the error", RANKS, |endpoint, directory| {
            let (hints, storage) = (hints(way, "trib_write_behind=1M; cb_buffer_size=4k"), Hostile::new(Fault::None));
            let (path, fails) = (directory.join("file"), number > 0 || endpoint.rank() == 2);
            let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            binding::call_them(&mut file, "MPI_File_write_all");
            fail_later(&mut file, &storage, fails);
            file.close().map(drop).unwrap_err()
        });
        check(&errors[0], way);
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
}

/// An error of a lower rank does not displace the error of an earlier write: the call after it returns it.
#[test]
fn another_error_displaces_none() {
    on_threads("another error displaces none", RANKS, |endpoint, directory| {
        let (hints, storage) = (hints(WAYS[0], "trib_write_behind=1M; cb_buffer_size=4k"), Hostile::new(Fault::None));
        let (path, rank) = (directory.join("file"), endpoint.rank());
        let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        binding::call_them(&mut file, "MPI_File_write_all");
        fail_later(&mut file, &storage, rank == 2);
        let outcome = match rank {
            0 => Err(binding::refuse(&mut file, Direction::Write, Error::argument("count", -1, "0 or more"))),
            _ => write(&mut file),
        };
        assert!(matches!(same_error(file.endpoint(), outcome, "a bad argument"), Error::Argument { .. }));
        let outcome = write(&mut file);
        check(&same_error(file.endpoint(), outcome, "the call after it"), "the call after it");
        write(&mut file).unwrap();
        file.close().unwrap();
    });
}

/// No more bytes than the budget are buffered.
#[test]
fn a_call_waits_at_the_budget() {
    on_threads("a call waits at the budget", 1, |mut endpoint, directory| {
        // Less than 1 MiB is taken as 1 MiB.
        for (given, budget) in [(300, 1 << 20), (1 << 20, 1 << 20), (3 << 20, 3 << 20)] {
            let storage = Hostile::new(Fault::Slow(Duration::from_millis(3)));
            let (hints, path) = (hints("", &format!("trib_write_behind={given}")), directory.join("file"));
            let mut file = File::open_on(endpoint, path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
            assert_eq!(file.settings().hints.write_behind, Some(budget));
            let bytes = vec![7; 6_000_000];
            file.write_all(&Extents::contiguous(0, 6_000_000).unwrap(), &LAYOUT, &bytes).unwrap();
            let written: u64 = storage.take().0.iter().map(|range| range.end - range.start).sum();
            assert!(written >= 6_000_000 - budget, "{written} bytes with {budget}");
            assert!(storage.calls() <= 20, "{} calls with {budget}", storage.calls());
            assert_eq!(file.size().unwrap(), 6_000_000);
            endpoint = file.close().unwrap();
        }
    });
}

/// Where ranks cannot wait for each other's bytes, or must see them at once, no call leaves any behind, and the file
/// says why.
#[test]
fn files_without_write_behind_say_why() {
    on_threads("files without write-behind", 2, |endpoint, directory| {
        let path = &directory.join("file");
        let asked = hints(WAYS[0], "trib_write_behind=auto");
        let check = |file: File, why: Option<&str>| {
            let is_off = file.settings().hints.write_behind == Some(0);
            assert_eq!((file.settings().without_write_behind, is_off), (why, why.is_some()));
            file.close().unwrap()
        };
        let announced = Hints { announce_writes: true, ..asked.clone() };
        let endpoint =
            check(File::open(endpoint, path, Mode::Create, announced).unwrap(), Some("trib_announce_writes is true"));
        let endpoint = check(File::open(endpoint, path, Mode::Update, asked.clone()).unwrap(), None);
        let endpoint =
            check(File::open(endpoint, path, Mode::Read, asked.clone()).unwrap(), Some("the file is only read"));
        let files = Arc::new(InMemory::default());
        let opened = File::open_on(endpoint, path, Mode::Create, asked, files).unwrap();
        check(opened, Some("the file has no locks on its parts (F_OFD_SETLK)"));
    });
}
