//! Tests in which one aggregator fails, on any fabric. All ranks must return the same error, which names the rank,
//! the operation, the offset and the cause; other bytes must be right; and the file can be written again when the
//! fault is gone.

use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use tributary::collectives::{broadcast, gather};
use tributary::error::{FileOperation, IoClass};
use tributary::{CallReport, Endpoint, Error, File, Hints, Mode, wire};

use crate::interleaved::Interleaved;
use crate::settings::{DRIVERS, KERNELS, hints};
use tributary::drivers::hostile::{Fault, Hostile};

/// Number of ranks of all trials.
pub const RANKS: usize = 8;
/// Hints for three nodes, three aggregators and many rounds.
const COMMON: &str = "romio_cb_write=enable;trib_tiny_call=0;trib_ranks_per_node=3;nc_num_aggrs_per_node=2;striping_unit=512;\
                      striping_factor=3;cb_buffer_size=1024;cb_config_list=*:1";

/// The offset in the file that an expected error must name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// The operation has no offset.
    Absent,
    /// The error names the offset of the fault; everything before it is written.
    AtFault,
    /// The error names the offset of the failed call.
    OfCall,
    /// The error names the window's start, at or before the fault; everything before the fault is written.
    OfWindow,
}

/// A fault of a storage, and the error that the ranks must return.
#[derive(Clone)]
pub struct Expected {
    pub name: &'static str,
    pub pattern: Interleaved,
    pub operation: FileOperation,
    pub class: IoClass,
    pub cause: &'static str,
    pub offset: Offset,
}

/// Returns the hints of a trial; `more` are additional ones.
pub fn trial_hints(kernels: &str, driver: &str, more: &str) -> Hints {
    hints(&[COMMON, kernels, &format!("trib_driver={driver}"), more])
}

/// One rank in a trial, with a storage that records its calls.
pub struct RecordedRank {
    pub storage: Hostile,
    pub file: File,
}

impl RecordedRank {
    /// Creates the file anew on a storage without a fault. Collective.
    pub fn create(endpoint: Endpoint, path: &Path, hints: &Hints) -> Self {
        let storage = Hostile::new(Fault::None);
        let file = File::open_on(endpoint, path, Mode::Create, hints.clone(), Arc::new(storage.clone())).unwrap();
        Self { storage, file }
    }
}

/// Returns the bytes that every rank passed as `body`, on every rank. Collective.
pub fn all_gather(endpoint: &mut Endpoint, body: &[u8]) -> Vec<Vec<u8>> {
    let waiting = endpoint.waiting().clone();
    waiting.wait(pin!(async {
        let all = gather(endpoint, 0, body).await.unwrap();
        let all = broadcast(endpoint, 0, &wire::to_bytes(&all)).await.unwrap();
        wire::from_bytes(&all).unwrap()
    }))
}

/// Asserts that all ranks have the same error, and returns it. Collective.
pub fn same_error<T: std::fmt::Debug>(endpoint: &mut Endpoint, outcome: Result<T, Error>, what: &str) -> Error {
    let all = all_gather(endpoint, &wire::to_bytes(&outcome.as_ref().err().cloned()));
    let error = outcome.expect_err(what);
    for (rank, other) in all.iter().enumerate() {
        let other: Option<Error> = wire::from_bytes(other).unwrap();
        assert_eq!(other.as_ref(), Some(&error), "{what}: rank {rank} against rank {}", endpoint.rank());
    }
    error
}

/// Returns the offset at which half of the bytes of `ranges` are written, and a few more: in the middle of an
/// element.
pub fn middle(ranges: &[Range<u64>]) -> u64 {
    let mut half = ranges.iter().map(|range| range.end - range.start).sum::<u64>() / 2 + 3;
    for range in ranges {
        if half < range.end - range.start {
            return range.start + half;
        }
        half -= range.end - range.start;
    }
    panic!("nothing was written to {ranges:?}")
}

/// Returns the part of `ranges` before `offset`.
pub fn cut(ranges: &[Range<u64>], offset: u64) -> Vec<Range<u64>> {
    ranges.iter().filter(|range| range.start < offset).map(|range| range.start..range.end.min(offset)).collect()
}

/// Runs one trial. Calls `inject` on one aggregator only, number `victim`, with its storage and the offset of the
/// fault, or with None to end the fault. Collective; returns the endpoint.
pub fn run(
    endpoint: Endpoint,
    expected: &Expected,
    hints: &Hints,
    victim: usize,
    path: &Path,
    what: &str,
    inject: &dyn Fn(&Hostile, Option<u64>),
) -> Endpoint {
    let what = &format!("{}, {what}", expected.name);
    let pattern = &expected.pattern;
    let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, path, hints);
    let report = write(pattern, &mut file, 1).unwrap();
    assert!(report.rounds > 2, "{what}: {} rounds", report.rounds);
    let rank = file.endpoint().rank();
    assert_eq!(file.settings().aggregators.len(), 3, "{what}");
    // Rank 0 opens the file before the first write.
    let may_fail = |rank: &&usize| expected.operation != FileOperation::Open || **rank != 0;
    let may_fail: Vec<usize> = file.settings().aggregators.iter().filter(may_fail).copied().collect();
    let culprit = may_fail[victim % may_fail.len()];
    let (clean, _) = storage.take();
    let fault = (rank == culprit).then(|| middle(&clean));
    let endpoint = file.close().unwrap();

    let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, path, hints);
    if expected.operation == FileOperation::Read {
        // Nothing is read behind the end of a file.
        file.set_len(pattern.end()).unwrap();
    }
    if fault.is_some() {
        inject(&storage, fault);
    }
    let outcome = write(pattern, &mut file, 2);
    let error = same_error(file.endpoint(), outcome, what);
    let (written, failed) = storage.take();
    check_error(expected, &error, culprit, fault.map(|at| (at, failed)), path, what);
    if let (Some(at), Offset::AtFault | Offset::OfWindow) = (fault, expected.offset) {
        assert_eq!(written, cut(&clean, at), "{what}: all before the fault is written");
    } else if fault.is_some() {
        let inside = |range: &Range<u64>| clean.iter().any(|c| c.start <= range.start && range.end <= c.end);
        assert!(written.iter().all(inside), "{what}: {written:?} in {clean:?}");
    } else {
        assert_eq!(written, clean, "{what}: rank {rank} has nothing to do with it");
    }
    pattern.check(path, &written, 2, what);

    let outcome = write(pattern, &mut file, 2);
    assert_eq!(same_error(file.endpoint(), outcome, what), error, "{what}: it fails again as before");
    if fault.is_some() {
        inject(&storage, None);
    }
    let report = write(pattern, &mut file, 3).unwrap_or_else(|error| panic!("{what}: when the fault is gone: {error}"));
    assert_eq!(report.bytes_written, pattern.bytes(), "{what}");
    let endpoint = file.close().unwrap();
    if rank == 0 {
        pattern.check_whole(path, 3, what);
        std::fs::remove_file(path).unwrap();
    }
    endpoint
}

/// Writes `pattern` with bytes of `seed`, until all bytes are in the file. The error of a buffered write
/// becomes that of another write; it must name the call. Collective.
fn write(pattern: &Interleaved, file: &mut File, seed: u64) -> Result<CallReport, Error> {
    let report = pattern.write(file, seed)?;
    let synced = if file.settings().hints.write_behind == Some(0) { Ok(()) } else { file.sync() };
    synced.map(|()| report).map_err(|mut error| {
        if let Error::Io { operation, .. } = &mut error
            && matches!(operation, FileOperation::DeferredWrite(write) if write.call == "a collective write")
        {
            *operation = FileOperation::Write;
        }
        error
    })
}

/// Checks the error. `fault`, on the failing rank only: the offset of the fault, and the offset of the first call
/// that failed.
fn check_error(
    expected: &Expected,
    error: &Error,
    culprit: usize,
    fault: Option<(u64, Option<u64>)>,
    file: &Path,
    what: &str,
) {
    let Error::Io { rank, operation, path, offset, class, cause } = error else { panic!("{what}: {error}") };
    assert_eq!((*rank, operation, *class), (culprit, &expected.operation, expected.class), "{what}: {error}");
    assert_eq!(*path, file.display().to_string(), "{what}");
    assert!(cause.text().contains(expected.cause), "{what}: {error} does not say `{}`", expected.cause);
    let Some((at, failed)) = fault else { return };
    let fits = match expected.offset {
        Offset::Absent => offset.is_none(),
        // Threads that write later may reach a later place first.
        Offset::AtFault => *offset == Some(at) && failed >= Some(at),
        Offset::OfCall => *offset == failed,
        Offset::OfWindow => offset.is_some_and(|start| start <= at && at < start + 3 * 1024) && failed >= Some(at),
    };
    assert!(fits, "{what}: {error}; the fault is at {at}, the call failed at {failed:?}");
}

/// Size of the file system that [`fill_up`] fills.
pub const TMPFS: &str = "1m";

/// Fills up the small file system at `directory`. Checks that every rank gets the error of the lowest failing rank,
/// that the written bytes are right, and that the same file can be written after other files are removed. Collective.
pub fn fill_up(mut endpoint: Endpoint, directory: &Path) {
    let (path, ballast) = (directory.join("file"), directory.join("ballast"));
    let pattern = Interleaved::full(RANKS, 600, 150);
    for (k, (name, kernels)) in KERNELS.iter().copied().enumerate() {
        let hints = trial_hints(kernels, DRIVERS[k % DRIVERS.len()], "cb_buffer_size=16KiB;striping_unit=4KiB");
        let rank = endpoint.rank();
        if rank == 0 {
            // Left over from the round before.
            let _ = std::fs::remove_file(&path);
            std::fs::write(&ballast, vec![1; 600 << 10]).unwrap();
        }
        let RecordedRank { storage, mut file } = RecordedRank::create(endpoint, &path, &hints);
        let outcome = pattern.write(&mut file, 1);
        let error = same_error(file.endpoint(), outcome, name);
        let (written, failed) = storage.take();
        let Error::Io { rank: culprit, class: IoClass::NoSpace, offset, .. } = error else { panic!("{name}: {error}") };
        assert!(rank != culprit || failed == offset, "{name}: {offset:?} and {failed:?}");
        assert!(rank >= culprit || failed.is_none(), "{name}: rank {rank} failed, too, and is lower");
        pattern.check(&path, &written, 1, name);
        if rank == 0 {
            std::fs::remove_file(&ballast).unwrap();
        }
        // No rank writes before there is space.
        file.sync().unwrap();
        pattern.write(&mut file, 2).unwrap();
        endpoint = file.close().unwrap();
        if rank == 0 {
            pattern.check_whole(&path, 2, name);
        }
    }
}
