//! Tests collective reads with ranks as threads, when reads fail, are slow, or return fewer bytes.

use std::sync::Arc;
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::error::FileOperation;
use tributary::{BufferLayout, Error, Extents, File, Hints, Mode};
use tributary_testing::read_trial;
use tributary_testing::read_trial::{pattern, read};
use tributary_testing::settings::{DRIVERS, KERNELS};
use tributary_testing::trial::{RANKS, RecordedRank, same_error, trial_hints};
use tributary_testing::watchdog::on_threads;

#[test]
fn one_aggregator_cannot_read() {
    on_threads("one_aggregator_cannot_read", RANKS, |endpoint, directory| {
        read_trial::run(endpoint, directory);
    });
}

#[test]
fn storage_that_is_only_difficult() {
    on_threads("storage_that_is_only_difficult", RANKS, |mut endpoint, directory| {
        let path = directory.join("file");
        let faults = [Fault::Short(5), Fault::Interrupt, Fault::Slow(Duration::from_micros(300))];
        for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
            let sieve = ["automatic", "enable", "disable"][k % 3];
            let hints = trial_hints(kernels, DRIVERS[k % DRIVERS.len()], &format!("romio_ds_read={sieve}"));
            let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, &path, &hints);
            pattern().write(&mut file, 1).unwrap();
            for fault in faults {
                storage.set(fault);
                read(&mut file, &format!("{name}, {fault:?}")).unwrap();
            }
            endpoint = file.close().unwrap();
        }
    });
}

/// Without an exchange every rank reads its own data; all ranks get the error of one.
#[test]
fn a_rank_that_fails_on_the_direct_path() {
    on_threads("a_rank_that_fails_on_the_direct_path", RANKS, |endpoint, directory| {
        let hints = Hints::parse("romio_cb_read=disable").unwrap();
        let storage = Hostile::new(Fault::None);
        let path = directory.join("file");
        let mut file = File::open_on(endpoint, &path, Mode::Create, hints, Arc::new(storage.clone())).unwrap();
        pattern().write(&mut file, 1).unwrap();
        read(&mut file, "direct").unwrap();
        if file.endpoint().rank() == 5 {
            storage.set(Fault::Read(11_111, libc::EIO));
        }
        let outcome = read(&mut file, "direct");
        let error = same_error(file.endpoint(), outcome, "direct");
        assert!(matches!(&error, Error::Io { rank: 5, operation: FileOperation::Read, .. }), "{error}");
        storage.set(Fault::None);
        read(&mut file, "direct, again").unwrap();
        file.close().unwrap();
    });
}

#[test]
fn a_file_that_is_not_there_or_may_not_be_read_is_named_on_all_ranks() {
    on_threads("a_file_that_is_not_there", RANKS, |endpoint, directory| {
        let missing = directory.join("missing");
        let Err(error) = File::open(endpoint, &missing, Mode::Read, Hints::default()) else { panic!("it opened") };
        let Error::Io { operation, path, .. } = &error else { panic!("{error}") };
        assert_eq!((operation, path.as_str()), (&FileOperation::Open, missing.to_str().unwrap()));
        assert!(!missing.exists(), "reading makes no file");
    });
}

/// If a buffer is too small on one rank, all ranks get an error, before anything is read.
#[test]
fn a_buffer_that_is_too_small_on_one_rank() {
    on_threads("a_buffer_that_is_too_small_on_one_rank", RANKS, |endpoint, directory| {
        let RecordedRank { mut file, .. } =
            RecordedRank::create(endpoint, &directory.join("file"), &trial_hints("", "gpfs", ""));
        pattern().write(&mut file, 1).unwrap();
        let rank = file.endpoint().rank();
        let extents = Extents::contiguous(0, 100).unwrap();
        let mut buffer = vec![0; if rank == 3 { 99 } else { 100 }];
        let outcome = file.read_all(&extents, &BufferLayout::Contiguous, &mut buffer);
        let error = same_error(file.endpoint(), outcome, "small");
        assert_eq!(error.to_string(), "rank 3: buffer: 99 bytes; allowed: 100 or more");
        read(&mut file, "after it").unwrap();
        file.close().unwrap();
    });
}

/// The last rank gets fewer bytes than it asked for; that does not make ranges overlap.
#[test]
fn a_file_that_ends_early_is_still_read_directly() {
    on_threads("a_file_that_ends_early_is_still_read_directly", RANKS, |endpoint, directory| {
        let path = directory.join("file");
        let hints = Hints::parse("trib_direct_min=1;trib_tiny_call=0").unwrap();
        let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
        let rank = file.endpoint().rank() as u64;
        let extents = Extents::contiguous(rank * 1000, 1000).unwrap();
        let len = if rank as usize == RANKS - 1 { 300 } else { 1000 };
        file.write_all(&extents.slice(0, len), &BufferLayout::Contiguous, &[1 + rank as u8; 1000]).unwrap();
        let mut buffer = vec![0; 1000];
        let report = file.read_all(&extents, &BufferLayout::Contiguous, &mut buffer).unwrap();
        assert_eq!((report.bytes, report.call.path), (len, tributary::engine::Path::Direct), "{}", report.call.why());
        let expected = |at: u64| if at < len { 1 + rank as u8 } else { 0 };
        assert!((0..1000).all(|at| buffer[at as usize] == expected(at)));
        file.close().unwrap();
    });
}
