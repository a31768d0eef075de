//! Write-behind: a collective write returns when its bytes are in memory of the ranks that would write them, and threads
//! write them to the file later. The threads send no messages.
//!
//! [`WriteBehind`] knows the calls on a file, and has the threads. [`file::WriteBehindFile`] stands between the engine
//! and the file. It is a [`Storage`], so every path of a call goes through it:
//!
//! - During a collective write ([`call`]), a write to the storage copies the bytes and returns ([`queue`]). At all other
//!   times, if there is no memory, no thread or no lock, and on a file that has shown to be fast ([`limits`]), it writes at
//!   once. If the budget is used up, it waits.
//! - A read takes this rank's buffered bytes from memory. Every other access first waits for the bytes that it touches.
//!   The order of a rank's writes to the same bytes stays.
//! - **Buffered bytes of other ranks.** All ranks know the ranges of earlier collective writes. A rank that touches
//!   such a range waits until no other rank has buffered bytes there, unless it has itself written there last
//!   ([`call`]). A rank shows the range of its bytes by locks far past the data of the file (`FileControl::hold`). It
//!   takes them before the ranks agree on the end of the call. This needs no message, so it works in independent calls,
//!   too. Locks are released when a thread has written the bytes, whatever the other ranks do, so nobody waits for
//!   ever.
//! - **Errors** are kept until a collective call has returned each of them ([`errors`]).
//!
//! Buffered bytes are written when the file is closed or synced, in MPI_Finalize, and at the end of the process: exit,
//! or the end of main ([`process`]). A child of fork(2) has no threads; it neither writes nor waits.

pub mod call;
pub mod errors;
pub mod file;
pub mod limits;
pub mod process;
pub mod queue;

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use crate::access::Direction;
use crate::drivers::Mode;
use crate::engine::io::worker::Pace;
use crate::engine::io::write_behind::call::{AgreedWrite, CallOnFile, CallRanges, RunningCall};
use crate::engine::io::write_behind::errors::KeptErrors;
use crate::engine::io::write_behind::file::WriteBehindFile;
use crate::engine::io::write_behind::limits::{FileSpeed, WriteBehindLimits};
use crate::engine::io::write_behind::queue::{Found, LeftBytes, LeftQueue, MOST_AT_ONCE, PIECE, copy};
use crate::engine::io::{OpenStorage, Storage, StorageFailure, calls, without_size_signal};
use crate::error::{Error, FileOperation, Result};
use crate::topology::Rank;
use crate::world::jobs;
use crate::world::waits::{self, Watched};

/// A thread that has nothing to write ends after this time.
const IDLE: Duration = Duration::from_millis(200);
/// Shortest and longest time between two checks whether other ranks still have bytes.
const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(2);
/// The whole file.
const WHOLE: Range<u64> = 0..u64::MAX;

/// The buffered bytes of this rank, and its knowledge about the bytes of other ranks.
pub struct WriteBehind {
    files: Arc<dyn OpenStorage>,
    path: PathBuf,
    mode: Mode,
    rank: Rank,
    ranks: usize,
    limits: WriteBehindLimits,
    /// Process that writes the bytes: not a child of fork(2).
    process: u32,
    state: Watched<WriteBehindState>,
}

#[derive(Default)]
struct WriteBehindState {
    /// The file to which threads write; `None` until this rank has opened it, and after the close.
    file: Option<Arc<dyn Storage>>,
    /// The collective write that runs now.
    call: Option<RunningCall>,
    /// Number of collective writes so far.
    calls: u64,
    /// Buffered bytes that are not in the file yet.
    left: LeftQueue,
    /// Ranges in which other ranks may have buffered bytes.
    ranges: CallRanges,
    /// The range in which this rank has shown other ranks buffered bytes.
    shown: Range<u64>,
    /// Offset past all bytes of collective writes that may not be in the file; `u64::MAX` if it is unknown.
    end: u64,
    threads: u32,
    /// Number of threads that wait for bytes to write.
    idle: u32,
    /// True if the last write took so long that several threads write at a time.
    is_slow: bool,
    /// Speed of the last writes, if this rank adapts to it.
    speed: FileSpeed,
    /// True if threads end when they have nothing to write.
    is_ending: bool,
    /// Errors that no call has returned yet.
    errors: KeptErrors,
}

impl WriteBehindState {
    /// Returns the next bytes to write, and the file.
    fn next(&mut self) -> Option<(Arc<dyn Storage>, Arc<LeftBytes>)> {
        let file = self.file.clone()?;
        Some((file, self.left.next()?))
    }

    /// Ends the call that runs, and notes where ranks have written in it.
    fn end_call(&mut self, is_single: bool) {
        if let Some(call) = self.call.take() {
            self.end = self.end.max(call.range().end);
            if !is_single {
                self.ranges.note(call.range(), call.name.number);
            }
        }
    }

    /// Returns true if other ranks may have bytes of `range` that are not in the file, and that an access of this rank must
    /// wait for. `is_own_write` is true for a write of bytes that only this rank has.
    fn others_may_have(&self, range: &Range<u64>, is_own_write: bool) -> bool {
        let of_call = |call: RunningCall| Some((call.written_before(is_own_write)?, call.name.number));
        self.ranges.may_be_left(range, self.call.and_then(of_call))
    }

    /// Returns the number of the last collective write that has ended on this rank. Locks show what other ranks have
    /// buffered in it, and in earlier ones.
    fn completed(&self) -> u64 {
        self.calls - u64::from(self.call.is_some())
    }

    /// Notes that other ranks may have buffered bytes anywhere in the file in the last call.
    fn note_everywhere(&mut self) {
        self.ranges.forget_own(self.calls);
        self.ranges.note(WHOLE, self.calls);
        self.end = u64::MAX;
    }

    /// Forgets the calls so far: all their bytes are in the file.
    fn forget(&mut self) {
        self.ranges.clear();
        self.end = 0;
    }
}

impl WriteBehind {
    /// Returns the write-behind of `rank` among `ranks` ranks, for the file at `path`.
    pub fn new(
        files: Arc<dyn OpenStorage>,
        (path, mode): (&Path, Mode),
        (rank, ranks): (Rank, usize),
        limits: WriteBehindLimits,
    ) -> Arc<Self> {
        let (path, process) = (path.to_path_buf(), std::process::id());
        let speed = limits.adapts_on.map(FileSpeed::kept).unwrap_or_default();
        let state = Watched::new(WriteBehindState { speed, ..WriteBehindState::default() });
        let write_behind = Arc::new(Self { files, path, mode, rank, ranks, limits, process, state });
        process::add(&write_behind);
        write_behind
    }

    /// Returns the storage that buffers writes to `file`.
    pub fn over(self: &Arc<Self>, file: Arc<dyn Storage>) -> WriteBehindFile {
        self.lock().file = Some(file.clone());
        WriteBehindFile::new(self.clone(), file)
    }

    fn lock(&self) -> MutexGuard<'_, WriteBehindState> {
        self.state.lock()
    }

    fn sleep<'a>(&'a self, state: MutexGuard<'a, WriteBehindState>) -> MutexGuard<'a, WriteBehindState> {
        self.state.wait(state)
    }

    /// Waits while `is_early` is true. Meanwhile the caller writes bytes that no thread is writing: threads have a low
    /// priority, and may get no core if other ranks use all cores.
    fn wait_while<'a>(
        &'a self,
        mut state: MutexGuard<'a, WriteBehindState>,
        is_early: impl Fn(&WriteBehindState) -> bool,
    ) -> MutexGuard<'a, WriteBehindState> {
        while is_early(&state) {
            state = match state.next() {
                Some((file, next)) => {
                    let _quiet = without_size_signal();
                    self.write_one(state, &*file, &next)
                }
                None => self.sleep(state),
            };
        }
        state
    }

    /// Begins a collective write or read. Returns an error like [`WriteBehind::bring_error`].
    pub fn begin_call(&self, direction: Direction, name: &'static str) -> Option<Error> {
        if direction == Direction::Write {
            let mut state = self.lock();
            state.calls += 1;
            state.call = Some(RunningCall::new(CallOnFile { name, number: state.calls }));
        }
        self.bring_error()
    }

    /// Notes what the ranks have agreed on about the call that runs.
    pub fn agree(&self, agreed: AgreedWrite) {
        self.change_call(|call| call.agree(agreed), agreed.is_repeated || agreed.may_overlap);
    }

    /// Notes that the ranks repeat the writes of the call that runs: from here on, this rank waits for the bytes that
    /// others have buffered in it.
    pub fn repeat_call(&self) {
        self.change_call(RunningCall::repeat, true);
    }

    /// Changes the call that runs. `is_shared` is true if others may have written, or will write, bytes that this rank has
    /// written in it.
    fn change_call(&self, change: impl FnOnce(&mut RunningCall), is_shared: bool) {
        let mut state = self.lock();
        if let Some(call) = state.call.as_mut() {
            change(call);
            let number = call.name.number;
            if is_shared {
                state.ranges.forget_own(number);
            }
        }
    }

    /// Ends a collective write or read with this outcome.
    pub fn end_call<T>(&self, outcome: &Result<T>) {
        self.lock().end_call(self.ranks == 1);
        self.returned(outcome);
    }

    /// Forgets the ranges of earlier calls. Call it only after all ranks have waited for their own bytes and then have
    /// agreed. Local.
    pub fn forget_others(&self) {
        self.lock().forget();
    }

    /// Returns the first error that no call has returned yet, for this rank's part in a collective call.
    pub fn bring_error(&self) -> Option<Error> {
        self.lock().errors.first()
    }

    /// Ends a call with this outcome, the same on all ranks. Forgets the error that the call has returned, if it is of
    /// this rank. After a failed call, other ranks may have written anywhere before the agreement: they may have been
    /// in another call.
    pub fn returned<T>(&self, outcome: &Result<T>) {
        let mut state = self.lock();
        if outcome.is_err() && self.ranks > 1 {
            state.note_everywhere();
        }
        state.errors.returned(outcome);
    }

    /// Returns the first error that no call has returned yet, and forgets it.
    pub fn take_error(&self) -> Option<Error> {
        self.lock().errors.take_first()
    }

    /// Keeps an error of an operation that is no late write. The file system reports such an error only once, so no other
    /// error displaces it.
    pub fn keep(&self, error: Error) {
        let mut state = self.lock();
        let number = state.calls;
        state.errors.keep_other(number, error);
    }

    /// Waits until all buffered bytes of this rank are written.
    pub fn write(&self) {
        self.wait_for_own(&WHOLE);
    }

    /// Returns true in the process whose threads write, and not in a child of fork(2).
    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// Waits until this rank's bytes in `range` are written.
    fn wait_for_own(&self, range: &Range<u64>) {
        if self.is_here() {
            drop(self.wait_while(self.lock(), |state| state.left.overlaps(range)));
        }
    }

    /// Waits until the bytes in `range` are written that other ranks may have buffered. `is_own_write` is true before a
    /// write of bytes that only this rank has.
    fn wait_for_others(&self, range: &Range<u64>, is_own_write: bool) -> io::Result<()> {
        if !self.is_here() || !self.lock().others_may_have(range, is_own_write) {
            return Ok(());
        }
        let completed = self.lock().completed();
        let file = self.opened()?;
        if !calls::is_held(&*file, WHOLE)? {
            self.lock().ranges.forget(completed);
            return Ok(());
        }
        let mut pause = SHORTEST;
        while calls::is_held(&*file, range.clone())? {
            waits::sleep(pause);
            pause = (2 * pause).min(LONGEST);
        }
        if *range == WHOLE {
            self.lock().ranges.forget(completed);
        }
        Ok(())
    }

    /// Waits until all bytes of `range` are in the file. After a wait for the whole file, this rank keeps no end of its own:
    /// another rank, or MPI, may then truncate the file.
    ///
    /// # Errors
    /// The file cannot be opened or locked.
    fn wait(&self, range: &Range<u64>) -> io::Result<()> {
        self.wait_for_own(range);
        self.wait_for_others(range, false)?;
        if *range == WHOLE && self.is_here() {
            let mut state = self.lock();
            // Another thread may have written meanwhile.
            if !state.left.overlaps(&WHOLE) && !state.ranges.may_be_left(&WHOLE, None) {
                state.end = 0;
            }
        }
        Ok(())
    }

    /// Waits until an access of `range` by MPI finds what completed calls have written: the bytes of `range`, and an
    /// end of the file after `range` if later bytes are still buffered. Costs a query of the size if such bytes are
    /// known.
    ///
    /// # Errors
    /// The file cannot be opened, asked or locked.
    fn wait_for_access(&self, range: &Range<u64>) -> io::Result<()> {
        self.wait(range)?;
        let past = range.end..u64::MAX;
        if self.may_be_unwritten(&past) && calls::size(&*self.opened()?)? < range.end {
            self.wait(&past)?;
        }
        Ok(())
    }

    /// Returns true if bytes of `range`, of this rank or of others, may not be in the file.
    fn may_be_unwritten(&self, range: &Range<u64>) -> bool {
        let state = self.lock();
        self.is_here() && (state.left.overlaps(range) || state.others_may_have(range, false))
    }

    /// Returns the file to which threads write, or else opens it.
    fn opened(&self) -> io::Result<Arc<dyn Storage>> {
        let opened = self.lock().file.clone();
        match opened {
            Some(file) => Ok(file),
            None => Ok(calls::open(&*self.files, &self.path, self.mode)?.into()),
        }
    }

    /// Waits until all buffered bytes of this rank are written, ends the threads, and closes the file. Errors stay.
    pub fn close(&self) {
        self.end_threads();
        let mut state = self.lock();
        state.file = None;
        if let Some(key) = self.limits.adapts_on {
            state.speed.keep(key);
        }
    }

    /// Returns where the bytes from `offset` on are. Waits while they are copied.
    fn find(&self, offset: u64) -> Found {
        if !self.is_here() {
            return Found::File(u64::MAX);
        }
        let mut state = self.lock();
        loop {
            if let Some(found) = state.left.find(offset) {
                return found;
            }
            state = self.sleep(state);
        }
    }

    /// Returns an offset past all bytes of collective writes that may not be in the file; `u64::MAX` if it is unknown.
    fn last_end(&self) -> u64 {
        if !self.is_here() {
            return 0;
        }
        let state = self.lock();
        let in_call = state.call.and_then(|call| call.written_before(false)).map_or(0, |range| range.end);
        state.end.max(in_call)
    }

    /// Returns [`WriteBehind::last_end`]. Waits for all bytes, and returns 0, if it is unknown.
    fn end(&self) -> io::Result<u64> {
        let end = self.last_end();
        if end == u64::MAX {
            self.wait(&WHOLE)?;
            return Ok(0);
        }
        Ok(end)
    }

    /// Waits until all buffered bytes of this rank are written, and ends the threads.
    fn end_threads(&self) {
        if !self.is_here() {
            return;
        }
        let mut state = self.lock();
        state.is_ending = true;
        self.state.changed();
        state = self.wait_while(state, |state| state.threads > 0);
        state.is_ending = false;
    }

    /// Ends the threads like [`WriteBehind::end_threads`], and prints errors that no call has returned.
    pub fn finish(&self) {
        self.end_threads();
        while self.is_here()
            && let Some(error) = self.take_error()
        {
            crate::say(format_args!("{error}; no call has returned this error"));
        }
    }

    /// Buffers the first bytes of `parts`, to be written at `offset` later. Returns their number; `None` if the caller
    /// must write. Waits for bytes at the same place, and for room in the budget.
    fn buffer(self: &Arc<Self>, file: &dyn Storage, parts: &[IoSlice<'_>], offset: u64) -> Option<usize> {
        let all: usize = parts.iter().map(|part| part.len()).sum();
        // Cut at round offsets, for file systems that lock or write whole blocks.
        let most = MOST_AT_ONCE - offset % MOST_AT_ONCE;
        let len = all.min(most.min(self.limits.bytes.saturating_sub(PIECE)) as usize);
        let range = offset..offset.checked_add(len as u64)?;
        let mut state = self.lock();
        let call = state.call.filter(|_| len > 0 && !state.speed.is_fast())?.name;
        let most = self.limits.bytes - (len as u64 + PIECE);
        state = self.wait_while(state, |state| state.left.overlaps(&range) || state.left.used() > most);
        // From here on the range is taken. The copy needs no lock.
        state.left.take_range(&range);
        if !self.show(&mut state, file) {
            state.left.give_back(offset, len as u64);
            self.show(&mut state, file);
            return None;
        }
        drop(state);
        let copied = copy(parts, len);
        let mut state = self.lock();
        let is_left = match copied {
            Ok(bytes) if self.has_thread(&mut state) => state.left.add(offset, bytes, call),
            _ => {
                state.left.give_back(offset, len as u64);
                false
            }
        };
        self.show(&mut state, file);
        drop(state);
        self.state.changed();
        is_left.then_some(len)
    }

    /// Returns true if a collective write runs and `len` bytes of it can be buffered without waiting.
    fn has_room(&self, len: u64) -> bool {
        let state = self.lock();
        state.call.is_some() && !state.speed.is_fast() && state.left.used().saturating_add(len) <= self.limits.bytes
    }

    /// Writes some of the bytes of `parts` at once, like [`Storage::write_parts_at`], and notes how fast that was.
    fn write_now(&self, file: &dyn Storage, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let pace = self.limits.adapts_on.map(|_| Pace::begin());
        let written = calls::write_parts(file, parts, offset)?;
        if let Some(pace) = pace {
            let (_, is_slow) = pace.end(written as u64);
            self.lock().speed.note(written as u64, is_slow);
        }
        Ok(written)
    }

    /// Notes that this rank has written `range`, now or later, in the call that runs, if there is one.
    fn note_own(&self, range: Range<u64>) {
        if self.ranks > 1 && self.is_here() {
            let mut state = self.lock();
            if let Some(call) = state.call.filter(RunningCall::owns_bytes) {
                state.ranges.note_own(range, call.name.number);
            }
        }
    }

    /// Ensures that a thread will write the buffered bytes. Starts another thread if the file is slow and none is idle.
    /// Returns false if there is no thread.
    fn has_thread(self: &Arc<Self>, state: &mut WriteBehindState) -> bool {
        let most = if state.is_slow { self.limits.threads } else { 1 };
        if state.idle as usize <= state.left.waiting() && state.threads < most {
            let write_behind = self.clone();
            state.threads += u32::from(jobs::start("tributary behind", move || write_behind.work()).is_ok());
        }
        state.threads > 0
    }

    /// Shows to other ranks where this rank has buffered bytes. Returns false if that is not possible.
    fn show(&self, state: &mut WriteBehindState, file: &dyn Storage) -> bool {
        let hull = state.left.hull();
        if self.ranks == 1 || hull == state.shown {
            return true;
        }
        // A lock that cannot be released ends when the file is closed.
        let is_shown = calls::hold(file, self.rank as u64, hull.clone()).is_ok();
        if is_shown {
            state.shown = hull;
        }
        is_shown
    }

    /// Writes bytes until there are none for a while, or until the file is closed.
    fn work(&self) {
        jobs::leave_to_program();
        jobs::lower_priority();
        let mut state = self.lock();
        loop {
            if let Some((file, next)) = state.next() {
                state = self.write_one(state, &*file, &next);
                continue;
            }
            if state.is_ending || state.file.is_none() {
                break;
            }
            state.idle += 1;
            let (after, is_over) = self.state.wait_at_most(state, IDLE);
            state = after;
            state.idle -= 1;
            if is_over && state.left.waiting() == 0 {
                break;
            }
        }
        state.threads -= 1;
        self.state.changed();
    }

    /// Writes bytes that [`WriteBehindState::next`] has returned.
    fn write_one<'a>(
        &'a self,
        state: MutexGuard<'a, WriteBehindState>,
        file: &dyn Storage,
        next: &LeftBytes,
    ) -> MutexGuard<'a, WriteBehindState> {
        drop(state);
        let pace = Pace::begin();
        let outcome = next.write(file);
        let (_, is_slow) = pace.end(next.len);
        let mut state = self.lock();
        state.is_slow = is_slow;
        if self.limits.adapts_on.is_some() {
            state.speed.note(next.len, is_slow);
        }
        if let Err(failure) = outcome {
            self.keep_error(&mut state, next, failure);
        }
        state.left.written(next);
        self.show(&mut state, file);
        self.state.changed();
        state
    }

    /// Keeps the error of bytes that could not be written.
    fn keep_error(&self, state: &mut WriteBehindState, left: &LeftBytes, failure: StorageFailure) {
        let (CallOnFile { name, number }, StorageFailure { offset, cause, .. }) = (left.call, failure);
        let operation = FileOperation::deferred_write(name, number);
        state.errors.keep(number, offset, Error::io(self.rank, operation, &self.path, offset, &cause));
    }
}
