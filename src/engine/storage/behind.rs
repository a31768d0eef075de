//! Write-behind: a collective write returns when its bytes are in memory of the ranks that would write them, and threads
//! write them to the file later. The threads send no messages.
//!
//! [`Behind`] stands between the engine and the file. It is a [`Storage`], so every path of a call goes through it:
//!
//! - During a collective write, a write to the storage copies the bytes and returns. At all other times, and if there is
//!   no memory, no thread or no lock, it writes at once. If the budget is used up, it waits.
//! - Every other access first waits for the bytes that it touches. The order of a rank's writes to the same bytes stays.
//! - **Bytes that other ranks have left behind.** All ranks know the ranges of earlier collective writes. A rank that
//!   touches such a range waits until no other rank has bytes left behind. A rank that has some holds a lock on a byte far
//!   behind the data of the file ([`Storage::hold`]). It takes the lock before the ranks agree on the end of the call.
//!   This needs no message, so it works in independent calls, too. A lock is released when a thread has written the last
//!   bytes, whatever the other ranks do, so nobody waits for ever.
//! - **Errors** are kept for the next collective call ([`Behind::take_error`]).
//!
//! Bytes that are left behind are written when the file is closed or synced, in MPI_Finalize, and at the end of the
//! process (exit, or the end of main). A child of fork(2) has no threads; it neither writes nor waits.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};
use tributary_base::wire;

use crate::drivers::{FileSystem, Mode};
use crate::engine::direction::Direction;
use crate::engine::storage::buffer::PieceOfWindow;
use crate::engine::storage::pace::Pace;
use crate::engine::storage::worker::leave_to_program;
use crate::engine::storage::{MOST_PARTS, OpenStorage, Storage, StorageFailure, guarded, write_all, write_all_pieces};
use crate::error::{Error, Result};
use crate::fabric::pool::Block;
use crate::topology::Rank;

/// First words of the operation in the error of a write that was left behind.
const DEFERRED: &str = "deferred write";
/// Maximum number of bytes that one write to the file has.
const MOST_AT_ONCE: u64 = 16 << 20;
/// Number of bytes of the budget that a piece takes besides its own bytes.
const PIECE: u64 = 128;
/// Time after which a thread ends that has nothing to write.
const IDLE: Duration = Duration::from_millis(200);
/// Maximum number of ranges of earlier calls that are kept apart.
const MOST_RANGES: usize = 64;
/// The whole file.
const WHOLE: Range<u64> = 0..u64::MAX;

/// Who sees the locks of a rank on parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenLocks {
    /// Nobody: the file system has no such locks.
    None,
    /// The ranks of its host, as far as is known.
    OnHost,
    /// All ranks.
    Everywhere,
}

wire::fields!(enum SeenLocks { 0 None, 1 OnHost, 2 Everywhere, });

impl SeenLocks {
    /// Returns who sees the locks on an open file of a file system. Takes one for a moment.
    pub fn on(found: Option<FileSystem>, file: &dyn Storage) -> Self {
        let is_regular = file.size().is_ok_and(|size| size < u64::MAX);
        match is_regular && file.hold(0, true).and_then(|()| file.hold(0, false)).is_ok() {
            false => Self::None,
            true if found.is_some_and(|found| found.shares_locks()) => Self::Everywhere,
            true => Self::OnHost,
        }
    }

    /// Returns why no bytes can be left behind by ranks of one host, or of `several`.
    pub fn why_not(self, several: bool) -> Option<&'static str> {
        match self {
            Self::None => Some("the file has no locks on its parts (F_OFD_SETLK)"),
            Self::OnHost if several => Some("locks on this file system may hold on one host only"),
            Self::OnHost | Self::Everywhere => None,
        }
    }
}

/// Returns the budget of each of `ranks` ranks of this host for `trib_write_behind=auto`.
pub fn automatic_budget(ranks: usize) -> u64 {
    let of = |name| sysconf(name).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
    let memory = of(SysconfVar::_PHYS_PAGES).saturating_mul(of(SysconfVar::PAGE_SIZE));
    (memory / 16 / ranks.max(1) as u64).min(256 << 20)
}

/// Limits of what a rank leaves behind.
#[derive(Debug, Clone, Copy)]
pub struct BehindLimits {
    /// Maximum number of bytes.
    pub bytes: u64,
    /// Maximum number of threads that write at a time.
    pub threads: u32,
}

/// The bytes that this rank has left behind, and what it knows of other ranks.
pub struct Behind {
    files: Arc<dyn OpenStorage>,
    path: PathBuf,
    mode: Mode,
    rank: Rank,
    ranks: usize,
    limits: BehindLimits,
    /// Process that writes the bytes: not a child of fork(2).
    process: u32,
    state: Mutex<BehindState>,
    /// Notified when `state` changes.
    changed: Condvar,
}

#[derive(Default)]
struct BehindState {
    /// The file to which threads write; `None` until this rank has opened it, and after the close.
    file: Option<Arc<dyn Storage>>,
    /// The collective write that runs now.
    call: Option<CallOnFile>,
    /// Number of collective writes so far.
    calls: u64,
    /// Bytes that no thread writes yet.
    waiting: VecDeque<LeftBytes>,
    /// Ranges of the file that were left behind and are not written, from start to end. No two of them overlap.
    ranges: BTreeMap<u64, u64>,
    /// Number of bytes of the budget that these ranges take.
    used: u64,
    threads: u32,
    /// Number of threads that wait for bytes.
    idle: u32,
    /// True if the last write took so long that several threads write at a time.
    is_slow: bool,
    /// True if threads end when they have nothing to write.
    is_ending: bool,
    /// Error that no call has returned yet, of the earliest call and its lowest offset; with number of the call and offset.
    error: Option<(u64, Option<u64>, Error)>,
    /// Error that this rank has brought to a collective call, until all ranks have returned one.
    brought: Option<Error>,
    /// Ranges in which other ranks may have left bytes behind.
    others: Vec<Range<u64>>,
}

/// A collective write.
#[derive(Clone, Copy)]
struct CallOnFile {
    name: &'static str,
    /// Its number among the collective writes on the file, from 1.
    number: u64,
    /// Start and end of what the ranks write in the file; the whole file until they agree on it.
    range: (u64, u64),
    is_agreed: bool,
}

/// Bytes that follow one another in the file, and belong to one call.
struct LeftBytes {
    offset: u64,
    len: u64,
    pieces: Vec<PieceOfWindow>,
    call: CallOnFile,
}

impl LeftBytes {
    fn end(&self) -> u64 {
        self.offset + self.len
    }

    fn cost(&self) -> u64 {
        self.len + PIECE * self.pieces.len() as u64
    }

    fn write(&self, file: &dyn Storage) -> std::result::Result<(), StorageFailure> {
        let mut written = 0;
        guarded("write", self.offset, || match &self.pieces[..] {
            [all] => write_all(file, &all.bytes, self.offset, &mut written),
            pieces => write_all_pieces(file, pieces, self.offset, &mut written),
        })
    }
}

impl BehindState {
    fn take_error(&mut self) -> Option<Error> {
        self.brought.take().or_else(|| self.error.take().map(|(.., error)| error))
    }

    fn overlaps(&self, range: &Range<u64>) -> bool {
        self.ranges.range(..range.end).next_back().is_some_and(|(_, &end)| end > range.start)
    }

    /// Adds bytes whose range is taken already, to the last ones if they follow these.
    fn add(&mut self, mut left: LeftBytes) {
        let (offset, end) = (left.offset, left.end());
        let follows = |last: &&mut LeftBytes| {
            last.end() == offset
                && last.call.number == left.call.number
                && last.len + left.len <= MOST_AT_ONCE
                && last.pieces.len() < MOST_PARTS
        };
        match self.waiting.back_mut().filter(follows) {
            Some(last) => {
                left.pieces.iter_mut().for_each(|piece| piece.position = last.len);
                last.pieces.append(&mut left.pieces);
                last.len += left.len;
                self.ranges.remove(&offset);
                self.ranges.insert(last.offset, end);
            }
            None => self.waiting.push_back(left),
        }
    }

    /// Other ranks may have left bytes of `range` behind.
    fn note(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let hull = |one: Range<u64>, other: Range<u64>| one.start.min(other.start)..one.end.max(other.end);
        let is_full = self.others.len() == MOST_RANGES;
        match self.others.last_mut() {
            Some(last) if range.start <= last.end && last.start <= range.end => *last = hull(last.clone(), range),
            _ if is_full => self.others = self.others.drain(..).chain([range]).reduce(hull).into_iter().collect(),
            _ => self.others.push(range),
        }
    }
}

/// All values of this process, for the end of the process and for calls that know a path only.
static ALL: Mutex<Vec<Weak<Behind>>> = Mutex::new(Vec::new());
/// True once the process has made a [`Behind`].
static IS_USED: AtomicBool = AtomicBool::new(false);
/// Process that has made the first [`Behind`]: a child of fork(2) has none of its own, and must not wait for a lock that
/// another thread of its parent held.
static PROCESS: AtomicU32 = AtomicU32::new(0);

fn all() -> Vec<Arc<Behind>> {
    if !may_be_behind() || PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return Vec::new();
    }
    ALL.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
}

/// Returns true if files of this process may have bytes that are left behind. Costs a load. Local.
pub fn may_be_behind() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// Waits until the bytes of `range` are in the file at `path` that this rank or others have written in collective calls:
/// for an access that the library does not run. Does nothing if nothing was left behind. Local.
///
/// # Errors
/// The file cannot be opened or locked, so that it is unknown if the bytes are there.
pub fn wait_for_writes(path: &Path, range: Range<u64>) -> io::Result<()> {
    all().iter().filter(|behind| behind.path == path).try_for_each(|behind| behind.wait(&range))
}

/// Writes all bytes that files of this process have left behind, and prints errors that no call has returned: at the end
/// of the program. Local.
pub fn write_everything() {
    all().iter().for_each(|behind| behind.finish());
}

extern "C" fn at_exit() {
    write_everything();
}

impl Behind {
    /// Returns the write-behind of `rank` among `ranks` ranks, for the file at `path`.
    pub fn new(
        files: Arc<dyn OpenStorage>,
        (path, mode): (&Path, Mode),
        (rank, ranks): (Rank, usize),
        limits: BehindLimits,
    ) -> Arc<Self> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // SAFETY: the function has this signature, and touches only values that live as long as the process.
            // If it cannot be registered, files that the program closes are complete all the same.
            unsafe { libc::atexit(at_exit) };
        });
        let (path, process) = (path.to_path_buf(), std::process::id());
        let (state, changed) = Default::default();
        let behind = Arc::new(Self { files, path, mode, rank, ranks, limits, process, state, changed });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&behind));
        PROCESS.store(process, Ordering::Relaxed);
        IS_USED.store(true, Ordering::Relaxed);
        behind
    }

    /// Returns the storage that leaves writes to `file` behind.
    pub fn over(self: &Arc<Self>, file: Arc<dyn Storage>) -> BehindFile {
        self.lock().file = Some(file.clone());
        BehindFile { behind: self.clone(), file }
    }

    fn lock(&self) -> MutexGuard<'_, BehindState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, BehindState>) -> MutexGuard<'a, BehindState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a collective write or read. Returns an error like [`Behind::bring_error`].
    pub fn begin_call(&self, direction: Direction, name: &'static str) -> Option<Error> {
        if direction == Direction::Write {
            let mut state = self.lock();
            state.calls += 1;
            let number = state.calls;
            state.call = Some(CallOnFile { name, number, range: (0, u64::MAX), is_agreed: false });
        }
        self.bring_error()
    }

    /// Sets the range that all ranks write in the call, unless it is known already. (The ranks of a host agree on a part
    /// of it later.)
    pub fn agree(&self, start: u64, end: u64) {
        if let Some(call) = self.lock().call.as_mut().filter(|call| !call.is_agreed) {
            (call.range, call.is_agreed) = ((start, end), true);
        }
    }

    /// Notes that other ranks may have left bytes of this call behind: from here on, this rank waits for them. For a call
    /// in which ranks write the same bytes again.
    pub fn note_call(&self) {
        let mut state = self.lock();
        if let Some(CallOnFile { range: (start, end), .. }) = state.call.filter(|_| self.ranks > 1) {
            state.note(start..end);
        }
    }

    /// Ends a collective write or read with this outcome.
    pub fn end_call<T>(&self, outcome: &Result<T>) {
        self.note_call();
        self.lock().call = None;
        self.returned(outcome);
    }

    /// Forgets the ranges of earlier calls, after all ranks have waited for their own bytes and met. Local.
    pub fn forget_others(&self) {
        self.lock().others.clear();
    }

    /// Returns the first error that no call has returned yet, for this rank's part in a collective call.
    pub fn bring_error(&self) -> Option<Error> {
        let mut state = self.lock();
        state.brought = state.take_error();
        state.brought.clone()
    }

    /// Ends a call with this outcome, the same on all ranks. Keeps the error that this rank has brought to the call for the
    /// next one, if all ranks have returned another rank's error that is not about bytes left behind.
    pub fn returned<T>(&self, outcome: &Result<T>) {
        let is_told = matches!(outcome, Err(Error::Io { operation, .. }) if operation.starts_with(DEFERRED));
        if is_told {
            self.lock().brought = None;
        }
    }

    /// Returns the first error that no call has returned yet, and forgets it.
    pub fn take_error(&self) -> Option<Error> {
        self.lock().take_error()
    }

    /// Waits until this rank has no bytes left behind.
    pub fn write(&self) {
        self.wait_for_own(&WHOLE);
    }

    /// Waits until this rank's bytes in `range` are written.
    fn wait_for_own(&self, range: &Range<u64>) {
        if self.process == std::process::id() {
            let mut state = self.lock();
            while state.overlaps(range) {
                state = self.sleep(state);
            }
        }
    }

    /// Waits until the bytes in `range` are written that other ranks may have left behind.
    fn wait_for_others(&self, range: &Range<u64>) -> io::Result<()> {
        let waits = self.lock().others.iter().any(|other| other.start < range.end && range.start < other.end);
        if !waits || self.process != std::process::id() {
            return Ok(());
        }
        let opened = self.lock().file.clone();
        let file: Arc<dyn Storage> = match opened {
            Some(file) => file,
            None => self.files.open(&self.path, self.mode)?.into(),
        };
        let (own, ranks) = (self.rank as u64, self.ranks as u64);
        file.wait_for_holders(0..own)?;
        file.wait_for_holders(own + 1..ranks)?;
        self.lock().others.clear();
        Ok(())
    }

    /// Waits until all bytes of `range` are in the file.
    ///
    /// # Errors
    /// The file cannot be opened or locked.
    fn wait(&self, range: &Range<u64>) -> io::Result<()> {
        self.wait_for_own(range);
        self.wait_for_others(range)
    }

    /// Waits until this rank has no bytes left behind, ends the threads, and closes the file. Errors stay.
    pub fn close(&self) {
        self.end_threads();
        self.lock().file = None;
    }

    /// Waits until this rank has no bytes left behind, and ends the threads.
    fn end_threads(&self) {
        if self.process != std::process::id() {
            return;
        }
        let mut state = self.lock();
        state.is_ending = true;
        self.changed.notify_all();
        while state.threads > 0 {
            state = self.sleep(state);
        }
        state.is_ending = false;
    }

    /// Ends the threads like [`Behind::end_threads`], and prints an error that no call has returned.
    pub fn finish(&self) {
        self.end_threads();
        if self.process == std::process::id()
            && let Some(error) = self.take_error()
        {
            crate::say(format_args!("{error}; no call has returned this error"));
        }
    }

    /// Copies the first bytes of `parts`, to be written at `offset` later. Returns their number; `None` if the caller must
    /// write. Waits for bytes at the same place, and for room in the budget.
    fn leave(self: &Arc<Self>, file: &dyn Storage, parts: &[IoSlice<'_>], offset: u64) -> Option<usize> {
        let all: usize = parts.iter().map(|part| part.len()).sum();
        // Cut at round offsets, for file systems that lock or write whole blocks.
        let most = MOST_AT_ONCE - offset % MOST_AT_ONCE;
        let len = all.min(most.min(self.limits.bytes.saturating_sub(PIECE)) as usize);
        let (range, cost) = (offset..offset.checked_add(len as u64)?, len as u64 + PIECE);
        let mut state = self.lock();
        let call = state.call.filter(|_| len > 0)?;
        while state.overlaps(&range) || state.used + cost > self.limits.bytes {
            state = self.sleep(state);
        }
        if state.used == 0 && self.ranks > 1 && file.hold(self.rank as u64, true).is_err() {
            return None;
        }
        // From here on the range is taken. The copy needs no lock.
        state.ranges.insert(range.start, range.end);
        state.used += cost;
        drop(state);
        let copied = copy(parts, len);
        let mut state = self.lock();
        let left = copied.ok().and_then(|bytes| {
            let mut pieces = Vec::new();
            pieces.try_reserve(1).and_then(|()| state.waiting.try_reserve(1)).ok()?;
            pieces.push(PieceOfWindow { position: 0, bytes: bytes.into_message() });
            self.has_thread(&mut state).then_some(LeftBytes { offset, len: len as u64, pieces, call })
        });
        let is_left = left.is_some();
        match left {
            Some(left) => state.add(left),
            None => self.forget(&mut state, file, offset, cost),
        }
        drop(state);
        self.changed.notify_all();
        is_left.then_some(len)
    }

    /// Makes sure that a thread will write. Starts another one if the file is slow and none is idle. Returns false if
    /// there is none.
    fn has_thread(self: &Arc<Self>, state: &mut BehindState) -> bool {
        let most = if state.is_slow { self.limits.threads } else { 1 };
        if state.idle as usize <= state.waiting.len() && state.threads < most {
            let behind = self.clone();
            let thread = std::thread::Builder::new().name("tributary behind".to_string());
            state.threads += u32::from(thread.spawn(move || behind.work()).is_ok());
        }
        state.threads > 0
    }

    /// Forgets bytes that were written or are written otherwise. Releases the lock after the last ones.
    fn forget(&self, state: &mut BehindState, file: &dyn Storage, offset: u64, cost: u64) {
        state.ranges.remove(&offset);
        state.used -= cost;
        if state.used == 0 && self.ranks > 1 {
            // A lock that cannot be released ends when the file is closed.
            let _ = file.hold(self.rank as u64, false);
        }
    }

    /// Writes bytes until there are none for a while, or until the file is closed.
    fn work(&self) {
        leave_to_program();
        let mut state = self.lock();
        while let Some(file) = state.file.clone() {
            let Some(next) = state.waiting.pop_front() else {
                if state.is_ending {
                    break;
                }
                state.idle += 1;
                let waited = self.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                state = waited.0;
                state.idle -= 1;
                if waited.1.timed_out() && state.waiting.is_empty() {
                    break;
                }
                continue;
            };
            drop(state);
            let pace = Pace::begin();
            let outcome = next.write(&*file);
            let (_, is_slow) = pace.end(next.len);
            state = self.lock();
            state.is_slow = is_slow;
            if let Err(StorageFailure { offset, cause, .. }) = outcome {
                let CallOnFile { name, number, .. } = next.call;
                let operation = format!("{DEFERRED} ({name}, collective write {number})");
                if state.error.as_ref().is_none_or(|(call, at, _)| (number, offset) < (*call, *at)) {
                    let error = Error::io(self.rank, &operation, &self.path, offset, &cause);
                    state.error = Some((number, offset, error));
                }
            }
            self.forget(&mut state, &*file, next.offset, next.cost());
            self.changed.notify_all();
        }
        state.threads -= 1;
        self.changed.notify_all();
    }
}

/// Copies the first `len` bytes of `parts`.
///
/// # Errors
/// The system has no memory left.
fn copy(parts: &[IoSlice<'_>], len: usize) -> io::Result<Block> {
    let mut block = Block::take(len)?;
    block.set_len(len);
    let mut to = &mut block[..];
    for part in parts {
        let taken = part.len().min(to.len());
        to[..taken].copy_from_slice(&part[..taken]);
        to = &mut to[taken..];
    }
    Ok(block)
}

/// An open file whose writes in collective calls are left behind. Everything that is asked only of a file that was just
/// created or opened, such as its identity, is asked of that file.
pub struct BehindFile {
    behind: Arc<Behind>,
    file: Arc<dyn Storage>,
}

impl Storage for BehindFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_parts_at(&[IoSlice::new(bytes)], offset)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let all: usize = parts.iter().map(|part| part.len()).sum();
        let range = offset..offset.saturating_add(all as u64);
        self.behind.wait_for_others(&range)?;
        match self.behind.leave(&*self.file, parts, offset) {
            Some(left) => Ok(left),
            None => {
                self.behind.wait_for_own(&range);
                self.file.write_parts_at(parts, offset)
            }
        }
    }

    fn at_once(&self, range: Range<u64>) -> io::Result<Option<&dyn Storage>> {
        self.behind.wait(&range)?;
        Ok(Some(&*self.file))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.behind.wait(&(offset..offset.saturating_add(bytes.len() as u64)))?;
        self.file.read_at(bytes, offset)
    }

    fn next_data(&self, offset: u64) -> u64 {
        match self.behind.wait(&(offset..u64::MAX)) {
            Ok(()) => self.file.next_data(offset),
            Err(_) => offset,
        }
    }

    fn size(&self) -> io::Result<u64> {
        self.behind.wait(&WHOLE)?;
        self.file.size()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.behind.wait(&WHOLE)?;
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.behind.wait_for_own(&WHOLE);
        self.file.sync()
    }

    fn settle(&self) -> io::Result<()> {
        self.behind.wait_for_own(&WHOLE);
        self.file.settle()
    }
}
