//! Tests faults with ranks as threads: storage that fails on purpose, with every kernel setting and driver.

use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile, PANIC};
use tributary::engine::LimitedBy;
use tributary::error::{FileOperation, IoClass};
use tributary::{BufferLayout, Error, File, Hints, Mode};
use tributary_testing::interleaved::Interleaved;
use tributary_testing::settings::{DRIVERS, KERNELS};
use tributary_testing::trial;
use tributary_testing::trial::{Expected, Offset, RANKS, RecordedRank, same_error, trial_hints};
use tributary_testing::watchdog::on_threads;

/// Runs one trial for each kernel setting and driver, each with another failing aggregator.
fn with_all_settings(test: &str, expected: Expected, more: &str, inject: impl Fn(&Hostile, Option<u64>) + Sync) {
    on_threads(test, RANKS, |mut endpoint, directory| {
        for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
            for (d, driver) in DRIVERS.into_iter().enumerate() {
                let buffers = format!("trib_write_buffers={};{more}", 1 + k % 3);
                let hints = trial_hints(kernels, driver, &buffers);
                let what = format!("{name}, {driver}");
                endpoint = trial::run(endpoint, &expected, &hints, k + d, &directory.join("file"), &what, &inject);
            }
        }
    });
}

fn full() -> Interleaved {
    Interleaved::full(RANKS, 24, 150)
}

fn write_fault(test: &str, errno: i32, class: IoClass) {
    let cause = "os error";
    let expected = Expected {
        name: "write",
        pattern: full(),
        operation: FileOperation::Write,
        class,
        cause,
        offset: Offset::AtFault,
    };
    with_all_settings(test, expected, "", |storage, at| {
        storage.set(at.map_or(Fault::None, |at| Fault::Write(at, errno)));
    });
}

#[test]
fn no_space_on_one_aggregator() {
    write_fault("no_space_on_one_aggregator", libc::ENOSPC, IoClass::NoSpace);
}

/// The sync after the write returns the error of the bytes that the write buffered.
#[test]
fn no_space_for_bytes_left_behind() {
    let (operation, class, cause) = (FileOperation::Write, IoClass::NoSpace, "os error");
    let expected =
        Expected { name: "deferred write", pattern: full(), operation, class, cause, offset: Offset::AtFault };
    with_all_settings("no_space_for_bytes_left_behind", expected, "trib_write_behind=1M", |storage, at| {
        storage.set(at.map_or(Fault::None, |at| Fault::Write(at, libc::ENOSPC)));
    });
}

#[test]
fn a_file_too_large_on_one_aggregator() {
    write_fault("a_file_too_large_on_one_aggregator", libc::EFBIG, IoClass::TooLarge);
}

#[test]
fn a_file_system_that_turns_read_only() {
    write_fault("a_file_system_that_turns_read_only", libc::EROFS, IoClass::ReadOnly);
}

#[test]
fn an_input_output_error_on_one_aggregator() {
    write_fault("an_input_output_error_on_one_aggregator", libc::EIO, IoClass::Other);
}

#[test]
fn a_write_that_writes_nothing() {
    let (operation, class, offset) = (FileOperation::Write, IoClass::Other, Offset::AtFault);
    let expected = Expected { name: "write 0", pattern: full(), operation, class, cause: "write zero", offset };
    with_all_settings("a_write_that_writes_nothing", expected, "", |storage, at| {
        storage.set(at.map_or(Fault::None, Fault::WriteZero));
    });
}

#[test]
fn a_writer_that_panics() {
    let (operation, class, offset) = (FileOperation::Write, IoClass::Other, Offset::OfWindow);
    let expected = Expected { name: "panic", pattern: full(), operation, class, cause: PANIC, offset };
    with_all_settings("a_writer_that_panics", expected, "", |storage, at| {
        storage.set(at.map_or(Fault::None, Fault::Panic));
    });
}

#[test]
fn one_aggregator_cannot_open_the_file() {
    let (operation, class, offset) = (FileOperation::Open, IoClass::Access, Offset::Absent);
    let expected = Expected { name: "open", pattern: full(), operation, class, cause: "denied", offset };
    with_all_settings("one_aggregator_cannot_open_the_file", expected, "", |storage, at| {
        storage.set(at.map_or(Fault::None, |_| Fault::Open(libc::EACCES)));
    });
}

#[test]
fn holes_that_cannot_be_read() {
    let pattern = Interleaved::with_holes(RANKS, 12, 150);
    let (operation, class, offset) = (FileOperation::Read, IoClass::Other, Offset::OfCall);
    let expected = Expected { name: "read", pattern, operation, class, cause: "os error", offset };
    with_all_settings("holes_that_cannot_be_read", expected, "romio_ds_write=enable", |storage, at| {
        storage.set(at.map_or(Fault::None, |at| Fault::Read(at, libc::EIO)));
    });
}

/// Short writes, interruptions and a slow file system are not failures: the file is right afterwards.
#[test]
fn storage_that_is_only_difficult() {
    on_threads("storage_that_is_only_difficult", RANKS, |mut endpoint, directory| {
        let rank = endpoint.rank();
        let path = directory.join("file");
        let faults = [Fault::Short(1 + 6 * rank), Fault::Interrupt, Fault::Slow(Duration::from_micros(300))];
        for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
            for (d, driver) in DRIVERS.into_iter().enumerate() {
                for fault in faults {
                    let pattern = if d == k % 3 { Interleaved::with_holes(RANKS, 12, 150) } else { full() };
                    let hints = trial_hints(kernels, driver, "romio_ds_write=enable");
                    let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, &path, &hints);
                    storage.set(fault);
                    let report = pattern.write(&mut file, 1).unwrap();
                    assert_eq!(report.bytes_written, pattern.bytes());
                    let (written, _) = storage.take();
                    let bytes: u64 = written.iter().map(|range| range.end - range.start).sum();
                    if let Fault::Short(most) = fault {
                        assert!(storage.calls() >= bytes / most as u64, "{} calls", storage.calls());
                    }
                    endpoint = file.close().unwrap();
                    if rank == 0 {
                        pattern.check_whole(&path, 1, &format!("{name}, {driver}, {fault:?}"));
                    }
                }
            }
        }
    });
}

/// A slow aggregator makes the call slower, and changes nothing else.
#[test]
fn one_slow_aggregator() {
    on_threads("one_slow_aggregator", RANKS, |endpoint, directory| {
        let path = directory.join("file");
        let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, &path, &trial_hints("", "lustre", ""));
        let culprit = file.settings().aggregators[1];
        let rank = file.endpoint().rank();
        if rank == culprit {
            storage.set(Fault::Slow(Duration::from_millis(20)));
        }
        let report = full().write(&mut file, 1).unwrap();
        let most = 0.02 * report.rounds as f64;
        assert!(report.seconds.io >= most, "{} s in the file system, {most} s at least", report.seconds.io);
        // The other ranks wait for the slow one in the exchange, which has none of this time.
        let limit = report.seconds.limit().unwrap();
        assert!(limit.by == LimitedBy::File && limit.exchange < limit.file / 2.0, "{limit:?} of {:?}", report.seconds);
        file.close().unwrap();
        if rank == 0 {
            full().check_whole(&path, 1, "a slow aggregator");
        }
    });
}

#[test]
fn of_several_failures_the_lowest_rank_is_named() {
    on_threads("of_several_failures_the_lowest_rank_is_named", RANKS, |mut endpoint, directory| {
        for (name, kernels) in KERNELS.iter().copied() {
            let hints = trial_hints(kernels, "lustre", "");
            let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, &directory.join("file"), &hints);
            let (rank, aggregators) = (file.endpoint().rank(), file.settings().aggregators.to_vec());
            if rank == aggregators[2] {
                storage.set(Fault::Write(0, libc::ENOSPC));
            } else if rank == aggregators[1] {
                storage.set(Fault::Write(9000, libc::EIO));
            }
            let outcome = full().write(&mut file, 1);
            let error = same_error(file.endpoint(), outcome, name);
            let Error::Io { rank, class, offset, .. } = error else { panic!("{name}: {error}") };
            assert_eq!((rank, class), (aggregators[1], IoClass::Other), "{name}");
            assert!(offset >= Some(9000), "{name}: offset {offset:?}");
            endpoint = file.close().unwrap();
        }
    });
}

/// Without an exchange every rank writes its own data; all ranks get the error of one.
#[test]
fn a_rank_that_fails_on_the_direct_path() {
    on_threads("a_rank_that_fails_on_the_direct_path", RANKS, |endpoint, directory| {
        let path = directory.join("file");
        let hints = Hints::parse("romio_cb_write=disable").unwrap();
        let storage = Hostile::new(Fault::None);
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        let rank = file.endpoint().rank();
        if rank == 5 {
            storage.set(Fault::Write(11_111, libc::EDQUOT));
        }
        let outcome = full().write(&mut file, 1);
        let error = same_error(file.endpoint(), outcome, "direct");
        let Error::Io { rank: 5, class: IoClass::Quota, offset, .. } = error else { panic!("{error}") };
        let (written, failed) = storage.take();
        assert!(offset >= Some(11_111) && (rank != 5 || failed == offset));
        full().check(&path, &written, 1, "direct");
        storage.set(Fault::None);
        full().write(&mut file, 2).unwrap();
        file.close().unwrap();
        if rank == 0 {
            full().check_whole(&path, 2, "direct");
        }
    });
}

#[test]
fn storage_that_panics_on_the_direct_path() {
    on_threads("storage_that_panics_on_the_direct_path", RANKS, |endpoint, directory| {
        let path = directory.join("file");
        let hints = Hints::parse("romio_cb_write=disable;romio_cb_read=disable").unwrap();
        let storage = Hostile::new(Fault::None);
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        full().write(&mut file, 1).unwrap();
        if file.endpoint().rank() == 2 {
            storage.set(Fault::Panic(0));
        }
        let (extents, mut buffer) = full().part(file.endpoint().rank(), 1);
        let written = full().write(&mut file, 2);
        let error = same_error(file.endpoint(), written, "write");
        assert!(matches!(&error, Error::Io { rank: 2, cause, .. } if cause.text().contains(PANIC)), "{error}");
        let read = file.read_all(&extents, &BufferLayout::Contiguous, &mut buffer);
        let error = same_error(file.endpoint(), read, "read");
        assert!(matches!(&error, Error::Io { rank: 2, cause, .. } if cause.text().contains(PANIC)), "{error}");
        storage.set(Fault::None);
        full().write(&mut file, 3).unwrap();
        file.close().unwrap();
    });
}

/// A file system may report a lack of space only when the file is closed: all ranks get the error.
#[test]
fn a_close_that_reports_what_writes_did_not() {
    on_threads("a_close_that_reports_what_writes_did_not", RANKS, |endpoint, directory| {
        let hints = trial_hints("", "lustre", "");
        let storage = Hostile::new(Fault::None);
        let path = directory.join("file");
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        let culprit = file.settings().aggregators[1];
        if file.endpoint().rank() == culprit {
            storage.set(Fault::Close(libc::EDQUOT));
        }
        full().write(&mut file, 1).unwrap();
        let Err(error) = file.close() else { panic!("nobody was told") };
        let Error::Io { rank, class: IoClass::Quota, operation, .. } = error else { panic!("{error}") };
        assert_eq!((rank, operation), (culprit, FileOperation::Close));
    });
}
