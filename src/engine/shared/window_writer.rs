//! A write through windows in shared memory: copies a rank's bytes into the windows, and writes complete windows to the file.
//!
//! Any rank may write windows. Usually one rank writes at a time, in ascending order, because file systems lock a file during
//! a write. If the file is slow for another reason than this lock or a copy, threads beside several ranks write at a time
//! ([`WindowHelper`]), and the ranks fill other windows meanwhile.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::arena::{Arena, PROGRESS};
use super::ring;
use crate::access::memory::{copy, copy_atomically};
use crate::access::{Extent, Source, Tiling, Walk};
use crate::engine::choose::windows::CallWindows;
use crate::engine::choose::{MOST_WRITERS, WINDOWS_FOR_CALL};
use crate::engine::io::present::{Present, mark_shared, unmark_shared};
use crate::engine::io::sieve::{Segment, Sieve};
use crate::engine::io::terms::FileTerms;
use crate::engine::io::worker::Pace;
use crate::engine::io::{
    self, Moved, Storage, StorageFailure, block_size_signal, guarded, without_size_signal, write_all,
};
use crate::error::{Error, FileOperation, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;
use crate::world;
use crate::world::jobs::{self, Job, JobSender};

/// A number above the number of every window: the position of a rank that has finished.
pub const DONE: u64 = u64::MAX;

/// Ascending extents of the file in which every byte has data; one of them needs no heap memory.
pub type Runs = SmallVec<[Extent; 1]>;

/// The way in which the writer knows which bytes of a window have data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataKnown {
    /// All bytes of these ascending extents of the file have data, if the sum of the pieces' hashes is right.
    BySum(Tiling, Runs),
    /// A bit for each byte says whether the byte has data.
    ByBits,
}

/// Windows that a rank has taken to write.
#[derive(Debug, Default)]
struct Taken {
    /// Adjacent windows whose bytes with data have all been copied.
    full: Option<Extent>,
    /// A window with holes, whose bytes with data have all been copied.
    with_holes: Option<Extent>,
}

impl Taken {
    /// Returns the number of bytes of the taken windows.
    fn bytes(&self) -> u64 {
        self.full.iter().chain(&self.with_holes).map(|extent| extent.len).sum()
    }
}

/// Writes complete windows. A rank's helper thread has a copy.
#[derive(Clone)]
pub struct WindowWriter {
    /// Shared memory of the windows.
    pub arena: Arc<Arena>,
    /// Number, size and range of the call's windows.
    pub windows: CallWindows,
    /// The way in which the bytes with data are known.
    pub known: DataKnown,
    /// This rank's handle of the file, or the error of opening it.
    pub storage: Result<Arc<dyn Storage>>,
    /// Data sieving: what to do about holes.
    pub sieve: Sieve,
    /// End of the file in bytes when this rank first wrote a window with holes in this call.
    pub end: OnceCell<u64>,
    /// This rank, for error messages.
    pub rank: Rank,
    /// The file, for error messages.
    pub file: Arc<FileTerms>,
    /// First error of this rank.
    pub error: RefCell<Option<Error>>,
}

impl WindowWriter {
    /// Writes all complete windows, unless enough other ranks are writing ([`ring::write_complete`]).
    pub fn try_write(&self) {
        let most = || if self.arena.is_slow() { MOST_WRITERS } else { 1 };
        let Self { ref arena, windows, .. } = *self;
        let take = |from, to| self.take_some(from, to);
        ring::write_complete(&**arena, (windows.count(), windows.ring), most, take, |taken| self.write(&taken));
    }

    /// Returns true if a window is complete and not taken, and a further rank may write.
    fn has_complete(&self) -> bool {
        let (arena, most) = (&*self.arena, if self.arena.is_slow() { MOST_WRITERS } else { 1 });
        let complete = ring::passed(arena).min(self.windows.count());
        arena.call().taken.load(Ordering::SeqCst) < complete && arena.parts().writers.load(Ordering::SeqCst) < most
    }

    /// Takes some of the windows `from..to`: full windows that are adjacent in memory, which are one write, and one
    /// window with holes after them. Returns also the first window that is not taken.
    fn take_some(&self, from: u64, to: u64) -> (u64, Taken) {
        let Self { ref arena, windows, .. } = *self;
        let mut taken = Taken::default();
        // Several ranks share the windows of a slow file.
        let most = if self.arena.is_slow() { windows.window } else { WINDOWS_FOR_CALL };
        let mut next = from;
        while next < to {
            let extent = windows.extent(next);
            let wraps = next > from && next.is_multiple_of(windows.ring);
            let joins = taken.full.is_none_or(|full| full.end() == extent.offset && full.len + extent.len <= most);
            if taken.full.is_some() && (wraps || !joins) {
                break;
            }
            let placed = arena.window(&windows, next).placed.swap(0, Ordering::AcqRel);
            let sum = arena.window(&windows, next).sum.swap(0, Ordering::AcqRel);
            if placed == 0 {
                if taken.full.is_some() {
                    break;
                }
            } else if self.is_full(extent, placed, sum) {
                taken.full = Some(taken.full.map_or(extent, |full| Extent { len: full.len + extent.len, ..full }));
            } else {
                taken.with_holes = Some(extent);
                return (next + 1, taken);
            }
            next += 1;
        }
        (next, taken)
    }

    /// Writes windows that this rank has taken.
    fn write(&self, taken: &Taken) {
        let arena = &self.arena;
        let (pace, writers) = (Pace::begin(), arena.parts().writers.load(Ordering::SeqCst).max(1));
        let _quiet = without_size_signal();
        let cost = &self.file.call_costs[0];
        arena.slow_call().filter(|&nanos| nanos > 0).into_iter().for_each(|nanos| cost.suppose(nanos));
        let mut measure = cost.measure();
        // Full windows first, which are lower in the file.
        measure.add(self.write_full(taken.full));
        taken.with_holes.into_iter().for_each(|extent| self.write_runs(extent));
        let bytes = taken.bytes();
        let (took, is_slow) = pace.end_of(bytes, cost.slow_call().is_some());
        if bytes > 0 {
            arena.set_slow(is_slow.then(|| cost.nanos()));
        }
        let micros = took.as_micros() as u64;
        arena.call().busy.fetch_add(micros / u64::from(writers), Ordering::Relaxed);
        arena.call().spent.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns true if every byte of a window that ranks have data for has been copied.
    fn is_full(&self, extent: Extent, placed: u64, sum: u64) -> bool {
        match &self.known {
            DataKnown::BySum(tiling, runs) => {
                let full = sum == tiling.sum(within(runs, extent));
                if !full {
                    // An overlap hid a hole of the same size: the call is repeated with one rank after the other.
                    self.arena.call().is_repeated.store(1, Ordering::SeqCst);
                }
                full
            }
            DataKnown::ByBits => {
                let places = self.places(extent);
                placed >= extent.len && self.present().runs(places.clone()).next() == Some(places)
            }
        }
    }

    /// Writes adjacent full windows; returns what was written.
    fn write_full(&self, extent: Option<Extent>) -> Moved {
        let Some(extent) = extent else { return Moved::default() };
        match &self.known {
            DataKnown::BySum(_, runs) => self.store(|storage, written| {
                within(runs, extent).try_for_each(|run| write_all(storage, self.bytes(run), run.offset, written))
            }),
            DataKnown::ByBits => {
                let written =
                    self.store(|storage, written| write_all(storage, self.bytes(extent), extent.offset, written));
                unmark_shared(self.present(), self.places(extent));
                written
            }
        }
    }

    /// Writes the bytes of a window with holes that are present.
    fn write_runs(&self, extent: Extent) {
        if matches!(self.known, DataKnown::BySum(..)) {
            return;
        }
        let present = self.present();
        let Range { start: first, .. } = self.places(extent);
        let end = || *self.end.get_or_init(|| io::end(&self.storage, self.rank, &self.file.path).unwrap_or(u64::MAX));
        let sieve = self.sieve.clone().with_end(end);
        self.store(|storage, written| {
            // SAFETY: all ranks have passed the windows of the extent: none reads or writes their places before they
            // are written.
            let bytes = unsafe { self.arena.bytes_mut(&self.windows, extent) };
            Segment { offset: extent.offset, bytes, present, first }.write(storage, &sieve, written)
        });
        unmark_shared(present, self.places(extent));
    }

    fn present(&self) -> &[AtomicU64] {
        self.arena.present(&self.windows)
    }

    /// Returns the positions in the ring of an extent of the file.
    fn places(&self, extent: Extent) -> Range<u64> {
        let first = self.windows.place(extent.offset);
        first..first + extent.len
    }

    fn bytes(&self, extent: Extent) -> &[u8] {
        // SAFETY: all ranks have passed the windows of the extent, and none accesses their places before they are
        // written.
        unsafe { self.arena.bytes(&self.windows, extent) }
    }

    /// Runs `act`, which writes to the file and counts what it writes, unless a write has failed before. Returns what was written.
    fn store(&self, act: impl FnOnce(&dyn Storage, &mut Moved) -> std::result::Result<(), StorageFailure>) -> Moved {
        let failed = &self.arena.call().failed;
        if failed.load(Ordering::Acquire) != 0 {
            return Moved::default();
        }
        let mut written = Moved::default();
        let outcome = match &self.storage {
            Ok(storage) => guarded(FileOperation::Write, None, || act(&**storage, &mut written))
                .map_err(|failure| failure.into_error(self.rank, &self.file.path)),
            Err(error) => Err(error.clone()),
        };
        self.arena.call().written.fetch_add(written.bytes, Ordering::Relaxed);
        self.arena.call().calls.fetch_add(written.calls, Ordering::Relaxed);
        if let Err(error) = outcome {
            let mine = failed.compare_exchange(0, self.rank as u32 + 1, Ordering::AcqRel, Ordering::Acquire);
            if mine.is_ok() {
                self.error.replace(Some(error));
            }
        }
        written
    }
}

/// The thread beside a rank that writes complete windows of a slow file, while the rank fills others. The rank has at most one
/// write at a time, of its own or of the thread.
#[derive(Default)]
pub struct WindowHelper {
    /// The thread, and the queue of its jobs; `None` before the first slow call.
    thread: Option<(JobSender<WindowWriter>, Job)>,
    /// Number of jobs that the thread has not ended.
    jobs: Arc<AtomicU32>,
    /// True if the thread has panicked.
    is_broken: Arc<AtomicBool>,
    /// First error of the thread that the rank has not taken.
    error: Arc<Mutex<Option<Error>>>,
}

impl WindowHelper {
    /// Writes complete windows, unless enough ranks are writing; if the file is slow, lets the thread do so.
    fn write(&mut self, writer: &WindowWriter) {
        if self.is_idle() && !writer.arena.is_slow() {
            return writer.try_write();
        }
        if !writer.has_complete() || !self.is_idle() {
            // The thread looks for further windows when it has written one.
            return;
        }
        let left = self.jobs.clone();
        match self.start() {
            Some(jobs) => {
                left.fetch_add(1, Ordering::SeqCst);
                jobs.send(writer.clone());
            }
            None => writer.try_write(),
        }
    }

    /// Takes the first error of the thread.
    pub fn take_error(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns true if the thread has no job.
    fn is_idle(&self) -> bool {
        self.jobs.load(Ordering::SeqCst) == 0
    }

    /// Returns the queue of the thread, which is started if it does not run; `None` if the system starts no thread.
    fn start(&mut self) -> Option<&JobSender<WindowWriter>> {
        if self.thread.is_none() {
            let (left, is_broken, error) = (self.jobs.clone(), self.is_broken.clone(), self.error.clone());
            let (jobs, inbox) = jobs::queue::<WindowWriter>();
            let work = move || {
                jobs::leave_single_core();
                let _quiet = block_size_signal();
                while let Some(writer) = inbox.receive() {
                    // The rank may close the file when the job has ended.
                    let _end = EndOfJob { left: &left, is_broken: &is_broken, arena: writer.arena.clone() };
                    writer.try_write();
                    if let Some(own) = writer.error.take() {
                        error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(own);
                    }
                    drop(writer);
                }
            };
            self.thread = Some((jobs, jobs::start("tributary windows", work).ok()?));
        }
        self.thread.as_ref().map(|(jobs, _)| jobs)
    }

    /// Fails if the thread has panicked: then windows may be lost, and the error ends the job.
    fn check(&self, rank: Rank) -> Result<()> {
        match self.is_broken.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(Error::internal(rank, "the thread that writes windows is gone")),
        }
    }
}

impl Drop for WindowHelper {
    fn drop(&mut self) {
        if let Some((jobs, thread)) = self.thread.take() {
            drop(jobs);
            thread.join();
        }
    }
}

/// Ends a job of the thread, also if it panics, and wakes the ranks, which look for further windows.
struct EndOfJob<'a> {
    left: &'a AtomicU32,
    is_broken: &'a AtomicBool,
    arena: Arc<Arena>,
}

impl Drop for EndOfJob<'_> {
    fn drop(&mut self) {
        self.is_broken.fetch_or(jobs::is_panicking(), Ordering::SeqCst);
        self.left.fetch_sub(1, Ordering::SeqCst);
        self.arena.signal(PROGRESS).advance();
    }
}

/// Iterates over the parts of ascending extents that lie within `whole`.
fn within(extents: &[Extent], whole: Extent) -> impl Iterator<Item = Extent> {
    let first = extents.partition_point(|extent| extent.end() <= whole.offset);
    let here = extents[first..].iter().take_while(move |extent| extent.offset < whole.end());
    here.map(move |extent| {
        let offset = extent.offset.max(whole.offset);
        Extent { offset, len: extent.end().min(whole.end()) - offset }
    })
}

/// Copies an access into the windows. For each window: waits until its memory is free, copies the bytes, and publishes
/// this rank's new position. Returns when `helper` writes no window any more. Collective. O(pieces + windows with data).
///
/// # Errors
/// Errors of the message transport; the thread of `helper` has panicked.
pub async fn place(
    endpoint: &mut Endpoint,
    writer: &WindowWriter,
    helper: &mut WindowHelper,
    mut walk: Walk<'_>,
    source: Source<'_>,
) -> Result<()> {
    let (arena, windows) = (&*writer.arena, writer.windows);
    while let Some(at) = walk.position() {
        let number = windows.number_at(at);
        // This rank has passed all windows before its next window with data.
        ring::pass(arena, number);
        helper.write(writer);
        if !helper.is_idle() && writer.has_complete() {
            // Ranks that have nothing to fill can write, too.
            arena.signal(PROGRESS).advance();
        }
        wait_for_place(endpoint, writer, helper, number).await?;
        if place_in_window(writer, number, &mut walk, source) {
            arena.call().is_repeated.store(1, Ordering::SeqCst);
        }
    }
    ring::pass(arena, DONE);
    helper.write(writer);
    if !helper.is_idle() {
        arena.signal(PROGRESS).advance();
    }
    loop {
        let seen = arena.signal(PROGRESS).get();
        helper.check(writer.rank)?;
        let is_left = arena.is_slow() && arena.call().taken.load(Ordering::SeqCst) < windows.count();
        if is_left {
            // Several ranks write the windows that are left.
            helper.write(writer);
        } else if helper.is_idle() {
            return Ok(());
        }
        endpoint.wait_for(arena.team(), PROGRESS, seen).await?;
    }
}

/// Copies the pieces of one window, and records that their bytes are present. Returns true if the map shows that other
/// pieces have some of these bytes.
#[inline]
pub fn place_in_window(writer: &WindowWriter, number: u64, walk: &mut Walk<'_>, source: Source<'_>) -> bool {
    // If ranks overlap, they may copy to the same bytes at the same time. The bytes then have no defined value, and the call
    // is repeated with one rank after the other. Between threads the copies must be atomic; processes share no variable, only
    // memory that each of them has mapped.
    match writer.arena.team().has_threads() {
        false => place_pieces(writer, number, walk, source, |piece, to| {
            // SAFETY: a place of the window that this rank may access; the other ranks are processes of their own.
            unsafe { copy(piece.as_ptr(), to, piece.len()) }
        }),
        true => place_pieces(writer, number, walk, source, |piece, to| {
            // SAFETY: a place of the window that this rank may access; other ranks that copy there meanwhile do it here, too.
            unsafe { copy_atomically(piece, to) }
        }),
    }
}

/// Copies pieces like [`place_in_window`]. `copy` copies the bytes of a piece to a place of the window that has room for
/// them.
#[inline]
fn place_pieces(
    writer: &WindowWriter,
    number: u64,
    walk: &mut Walk<'_>,
    source: Source<'_>,
    copy: impl Fn(&[u8], *mut u8),
) -> bool {
    let WindowWriter { ref arena, ref windows, ref known, .. } = *writer;
    arena.touch(windows, number);
    let (placed, sum, twice) = match known {
        DataKnown::BySum(tiling, _) => {
            let mut sum = 0u64;
            let placed = copy_pieces(arena, windows, number, (walk, source), copy, |piece| {
                sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
            });
            (placed, sum, false)
        }
        DataKnown::ByBits => {
            let (present, mut twice) = (arena.present(windows), false);
            let placed = copy_pieces(arena, windows, number, (walk, source), copy, |piece| {
                let place = windows.place(piece.offset);
                twice |= mark_shared(present, place..place + piece.len);
            });
            (placed, 0, twice)
        }
    };
    arena.window(windows, number).sum.fetch_add(sum, Ordering::AcqRel);
    arena.window(windows, number).placed.fetch_add(placed, Ordering::AcqRel);
    twice
}

/// Copies the pieces of one window, and calls `note` with each piece. Returns the number of bytes.
#[inline]
fn copy_pieces(
    arena: &Arena,
    windows: &CallWindows,
    number: u64,
    (walk, source): (&mut Walk<'_>, Source<'_>),
    copy: impl Fn(&[u8], *mut u8),
    mut note: impl FnMut(Extent),
) -> u64 {
    let from = windows.base + number * windows.window;
    let memory = arena.at(windows.first_place(number));
    let (mut placed, mut pieces) = (0, 0);
    walk.visit_before(windows.extent(number).end(), |piece| {
        let bytes = source.piece(piece.memory, piece.len);
        // The piece lies in the window: it begins at `from` or later, because pieces ascend, and ends before the window's end.
        copy(bytes, memory.wrapping_add((piece.offset - from) as usize));
        note(Extent { offset: piece.offset, len: piece.len });
        placed += piece.len;
        pieces += 1;
    });
    world::work(pieces, placed);
    placed
}

/// Waits until the earlier window in the memory of window `number` is written.
async fn wait_for_place(
    endpoint: &mut Endpoint,
    writer: &WindowWriter,
    helper: &mut WindowHelper,
    number: u64,
) -> Result<()> {
    loop {
        let seen = writer.arena.signal(PROGRESS).get();
        helper.check(writer.rank)?;
        let is_free = || ring::is_free(&*writer.arena, number, writer.windows.ring);
        if is_free() {
            return Ok(());
        }
        helper.write(writer);
        if !is_free() {
            endpoint.wait_for(writer.arena.team(), PROGRESS, seen).await?;
        }
    }
}
