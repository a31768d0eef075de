//! Writes complete windows in shared memory to the file, in ascending order. Any rank may do so, but only one at a
//! time.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::arena::{Arena, PROGRESS};
use crate::access::Extent;
use crate::engine::facts::tiling::Tiling;
use crate::engine::policy::WINDOWS_FOR_CALL;
use crate::engine::policy::call_windows::CallWindows;
use crate::engine::storage::sieve::{RunGroup, Sieve};
use crate::engine::storage::{Storage, StorageFailure, guarded, read_all, without_size_signal, write_all};
use crate::error::{Error, Result};
use crate::topology::Rank;

/// The way in which the writer knows which bytes of a window have data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKnown {
    /// All bytes of [`WindowWriter::runs`] have data, if the sum of the pieces' hashes is right.
    BySum(Tiling),
    /// A bit for each byte says whether the byte has data.
    ByBits,
}

/// Writes complete windows.
pub struct WindowWriter<'a> {
    /// Shared memory of the windows.
    pub arena: &'a Arena,
    /// Number, size and range of the call's windows.
    pub windows: CallWindows,
    /// The way in which the bytes with data are known.
    pub known: DataKnown,
    /// With [`DataKnown::BySum`]: extents of the file where ranks have data, ascending.
    pub runs: &'a [Extent],
    /// This rank's handle of the file, or the error of opening it.
    pub storage: &'a Result<Arc<dyn Storage>>,
    /// Data sieving: what to do about holes.
    pub sieve: Sieve,
    /// This rank, for error messages.
    pub rank: Rank,
    /// Path of the file, for error messages.
    pub path: &'a std::path::Path,
    /// First error of this rank.
    pub error: RefCell<Option<Error>>,
}

thread_local! {
    static RUNS: RefCell<Vec<Extent>> = const { RefCell::new(Vec::new()) };
    /// Bytes read from the file to fill holes; as long as a window.
    static HOLE_BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl WindowWriter<'_> {
    /// Writes all complete windows, unless another rank is writing. Every rank that completes a window calls this, so
    /// no window stays unwritten.
    pub fn try_write(&self) {
        let arena = self.arena;
        loop {
            let unwritten = arena.unwritten().load(Ordering::SeqCst);
            if unwritten >= arena.passed().min(self.windows.count()) {
                return;
            }
            if arena.writer().swap(1, Ordering::SeqCst) != 0 {
                return;
            }
            self.write_complete();
            // Another rank may have completed a window while the lock was taken: check once more.
            arena.writer().store(0, Ordering::SeqCst);
        }
    }

    fn write_complete(&self) {
        let Self { arena, windows, .. } = *self;
        let begin = Instant::now();
        let _quiet = without_size_signal();
        loop {
            let from = arena.unwritten().load(Ordering::SeqCst);
            let passed = arena.passed().min(windows.count());
            if from >= passed {
                break;
            }
            // CallWindows behind the ring have no data yet.
            let to = passed.min(from + windows.ring);
            let next = self.write_some(from, to);
            arena.unwritten().store(if next == to { passed } else { next }, Ordering::SeqCst);
            arena.signal(PROGRESS).advance();
        }
        arena.busy().fetch_add(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    /// Writes some of the windows `from..to`. Full windows that are adjacent in memory are one write. Returns the first
    /// window that is not written.
    fn write_some(&self, from: u64, to: u64) -> u64 {
        let Self { arena, windows, .. } = *self;
        let mut full: Option<Extent> = None;
        let mut next = from;
        while next < to {
            let extent = windows.extent(next);
            let wraps = next > from && next.is_multiple_of(windows.ring);
            let joins =
                full.is_none_or(|full| full.end() == extent.offset && full.len + extent.len <= WINDOWS_FOR_CALL);
            if full.is_some() && (wraps || !joins) {
                break;
            }
            let placed = arena.placed(&windows, next).swap(0, Ordering::AcqRel);
            let sum = arena.sum(&windows, next).swap(0, Ordering::AcqRel);
            if placed == 0 {
                if full.is_some() {
                    break;
                }
            } else if self.is_full(extent, placed, sum) {
                full = Some(full.map_or(extent, |full| Extent { len: full.len + extent.len, ..full }));
            } else {
                // Write the full windows before it first, which are lower in the file.
                self.write_full(full.take());
                self.write_runs(extent);
                return next + 1;
            }
            next += 1;
        }
        self.write_full(full);
        next
    }

    /// Iterates over the parts of an extent where ranks have data.
    fn runs_in(&self, extent: Extent) -> impl Iterator<Item = Extent> {
        let first = self.runs.partition_point(|run| run.end() <= extent.offset);
        let runs = self.runs[first..].iter().take_while(move |run| run.offset < extent.end());
        runs.map(move |run| {
            let offset = run.offset.max(extent.offset);
            Extent { offset, len: run.end().min(extent.end()) - offset }
        })
    }

    /// Returns true if every byte of a window that ranks have data for has been copied.
    fn is_full(&self, extent: Extent, placed: u64, sum: u64) -> bool {
        match self.known {
            DataKnown::BySum(tiling) => {
                let expected =
                    self.runs_in(extent).fold(0u64, |sum, run| sum.wrapping_add(tiling.piece(run.offset, run.end())));
                let full = sum == expected;
                if !full {
                    // An overlap hid a hole of the same size: the call is repeated with one rank after the other.
                    self.arena.again().store(1, Ordering::SeqCst);
                }
                full
            }
            DataKnown::ByBits => {
                placed >= extent.len
                    && RUNS.with_borrow_mut(|runs| {
                        self.arena.take_runs(&self.windows, extent, runs);
                        let full = runs.first() == Some(&extent);
                        if !full {
                            for run in runs.iter() {
                                self.arena.mark(&self.windows, *run);
                            }
                        }
                        full
                    })
            }
        }
    }

    fn write_full(&self, extent: Option<Extent>) {
        let Some(extent) = extent else { return };
        self.store(|storage| match self.known {
            DataKnown::BySum(_) => self.runs_in(extent).try_for_each(|run| self.write_run(storage, run)),
            DataKnown::ByBits => self.write_run(storage, extent),
        });
    }

    #[inline]
    fn write_run(&self, storage: &dyn Storage, run: Extent) -> std::result::Result<(), StorageFailure> {
        // SAFETY: all ranks have passed the windows of the run, and none accesses their places before they are written.
        let bytes = unsafe { self.arena.bytes(&self.windows, run) };
        let mut written = 0;
        let outcome = write_all(storage, bytes, run.offset, &mut written);
        self.arena.written().fetch_add(written, Ordering::Relaxed);
        outcome
    }

    fn write_runs(&self, extent: Extent) {
        if matches!(self.known, DataKnown::BySum(_)) {
            return;
        }
        RUNS.with_borrow_mut(|runs| {
            self.arena.take_runs(&self.windows, extent, runs);
            let close = |one: &Extent, next: &Extent| next.offset - one.end() <= self.sieve.bridge();
            self.store(|storage| runs.chunk_by(close).try_for_each(|group| self.write_group(storage, group)));
        });
    }

    /// Writes runs that lie close together: one by one, or with the holes between them, whichever costs less.
    fn write_group(&self, storage: &dyn Storage, runs: &[Extent]) -> std::result::Result<(), StorageFailure> {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(()) };
        let whole = Extent { offset: first.offset, len: last.end() - first.offset };
        let covered: u64 = runs.iter().map(|run| run.len).sum();
        let group = RunGroup { runs: runs.len() as u64, covered, whole: whole.len };
        if self.sieve.writes_whole(&group) && self.fill_holes(storage, runs, whole)? {
            // SAFETY: as in `write_run`.
            let bytes = unsafe { self.arena.bytes(&self.windows, whole) };
            let mut written = 0;
            let outcome = write_all(storage, bytes, whole.offset, &mut written);
            let counted = if outcome.is_ok() { covered } else { written.min(covered) };
            self.arena.written().fetch_add(counted, Ordering::Relaxed);
            return outcome;
        }
        for run in runs {
            self.write_run(storage, *run)?;
        }
        Ok(())
    }

    /// Reads the holes between the runs. Returns false for a file that may not be read.
    fn fill_holes(
        &self,
        storage: &dyn Storage,
        runs: &[Extent],
        whole: Extent,
    ) -> std::result::Result<bool, StorageFailure> {
        HOLE_BYTES.with_borrow_mut(|there| {
            let internal = |_| StorageFailure {
                operation: "read",
                offset: Some(whole.offset),
                cause: std::io::ErrorKind::OutOfMemory.into(),
            };
            let len = whole.len as usize;
            if there.len() < len {
                there.try_reserve_exact(len - there.len()).map_err(internal)?;
                there.resize(len, 0);
            }
            match read_all(storage, &mut there[..len], whole.offset) {
                Err(failure) if self.sieve.forgives(&failure) => return Ok(false),
                outcome => outcome?,
            };
            for pair in runs.windows(2) {
                let hole = Extent { offset: pair[0].end(), len: pair[1].offset - pair[0].end() };
                let from = (hole.offset - whole.offset) as usize;
                // SAFETY: as in `write_run`; nobody reads it either.
                let place = unsafe { self.arena.bytes_mut(&self.windows, hole) };
                place.copy_from_slice(&there[from..from + hole.len as usize]);
            }
            Ok(true)
        })
    }

    /// Runs `act` on the file, unless a write has failed before.
    fn store(&self, act: impl FnOnce(&dyn Storage) -> std::result::Result<(), StorageFailure>) {
        let failed = self.arena.failed();
        if failed.load(Ordering::Acquire) != 0 {
            return;
        }
        let outcome = match self.storage {
            Ok(storage) => {
                guarded("write", None, || act(&**storage)).map_err(|failure| failure.into_error(self.rank, self.path))
            }
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = outcome {
            let mine = failed.compare_exchange(0, self.rank as u32 + 1, Ordering::AcqRel, Ordering::Acquire);
            if mine.is_ok() {
                self.error.replace(Some(error));
            }
        }
    }
}
