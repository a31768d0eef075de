//! The files that the program has open: the state of each, and the table of them by their MPI_File handles.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use tributary::engine::{may_have_buffered_bytes, wait_for_writes};
use tributary::fabric::shared::CallBoard;
use tributary::hints::FileHints;
use tributary::{Direction, Error};
use tributary_abi::constants;
use tributary_bindings::guard::lock;

use crate::file::backend::{Backend, Runner};
use crate::file::counts::CallCounts;
use crate::file::failures::Failures;
use crate::file::own_handle::OwnHandle;
use crate::file::pending::{CallQueue, Split};
use crate::file::sieving::Sieving;
use crate::mpi::abi::MPI_Offset;
use crate::mpi::abi::word::Word;
use crate::view::pointer::Pointer;
use crate::view::{KnownView, View};

/// A file that the program opened. The MPI library keeps its own file open, for calls that the engine does not run.
pub struct OpenFile {
    /// Library that runs the file's collective calls.
    pub backend: Backend,
    /// This rank's file view.
    pub view: View,
    /// Hints that were set on this rank, with their sources.
    pub asked: FileHints,
    /// True if PnetCDF opened the file by MPI-IO because this library added the hint `nc_driver`.
    pub is_of_pnetcdf: bool,
    /// True if the program set atomic mode.
    pub is_atomic: bool,
    /// Split collective that the program has begun and not ended.
    pub split: Option<Split>,
    /// Collective calls in flight on this file.
    pub queue: CallQueue,
}

impl OpenFile {
    /// Creates the state of a newly opened file, whose view is all bytes.
    pub fn new(backend: Backend, asked: FileHints) -> Self {
        let view = View::Engine(Arc::new(KnownView::all()));
        Self { backend, view, asked, is_of_pnetcdf: false, is_atomic: false, split: None, queue: CallQueue::default() }
    }

    /// Returns the reason why MPI must run calls of this direction; None if the engine can run them. All ranks get
    /// the same answer.
    pub fn refusal(&self, direction: Direction) -> Option<&'static str> {
        match direction {
            Direction::Write if self.backend.amode & constants().mode_rdonly != 0 => {
                Some("opened with MPI_MODE_RDONLY")
            }
            Direction::Read if self.backend.amode & constants().mode_wronly != 0 => Some("opened with MPI_MODE_WRONLY"),
            _ if self.is_atomic => Some("atomic mode"),
            _ => None,
        }
    }

    /// Returns the individual file pointer at `position`, in etypes. This library keeps the pointer if it knows the
    /// view and the file was not opened in sequential mode; otherwise MPI keeps it.
    pub fn pointer_at(&self, position: MPI_Offset) -> Pointer {
        match &self.view {
            View::Engine(view) if self.backend.amode & constants().mode_sequential == 0 => {
                Pointer::new(position, view.clone())
            }
            View::Engine(_) | View::Foreign { .. } => Pointer::default(),
        }
    }

    /// Returns a placeholder that replaces a file after it was closed.
    pub fn closed() -> Self {
        let runner = Runner::Mpi("closed".to_string());
        Self::new(Backend::new(Path::new("").into(), 0, false, runner, None), FileHints::default())
    }
}

/// An open file, shared by all threads of the process. The counts and the file pointer have locks of their own,
/// because independent calls must not wait for a collective call of another thread.
pub struct SharedFile {
    /// The file's name, as an absolute path.
    path: Arc<Path>,
    /// This library's own handle for independent calls, if the file is on NFS.
    pub own: Option<OwnHandle>,
    /// Keeps MPI from data sieving in writes; None if MPI may sieve.
    pub sieving: Option<Sieving>,
    /// Board that shows the other ranks of the host the calls that MPI runs; None if the engine never opens the file.
    pub board: Option<Arc<CallBoard>>,
    /// True if the file has a single rank.
    has_one_rank: bool,
    file: Mutex<MovableFile>,
    counts: Mutex<CallCounts>,
    pointer: Mutex<Pointer>,
}

impl SharedFile {
    /// Counts a collective call that MPI runs, and waits until the bytes of earlier calls are in the file.
    pub fn left_to_mpi(&self, call: &'static str, why: &str) {
        self.counts().left_to_mpi(call, why);
        self.wait_for_writes(|| None);
    }

    /// Waits until buffered bytes of collective calls are in the file, before MPI accesses it. `place` may return the offset
    /// (in etypes of this rank's view) and the number of bytes of the access: then waits only for the bytes in this range,
    /// and for the end of the file if it lies in the range. Local.
    pub fn wait_for_writes(&self, place: impl FnOnce() -> Option<(MPI_Offset, u64)>) {
        if !may_have_buffered_bytes() {
            return;
        }
        let range = match place() {
            Some((_, 0)) => return,
            Some((offset, bytes)) => self.pointer().own().and_then(|own| own.1.select(offset, bytes).ok()?.span()),
            None => None,
        };
        let (start, end) = range.unwrap_or((0, u64::MAX));
        if let Err(cause) = wait_for_writes(&self.path, start..end) {
            let path = self.path.display();
            tributary::say(format_args!("{path}: cannot find out if earlier bytes are written: {cause}"));
        }
    }

    /// Locks the file: waits until no other call uses it. A call that panicked does not poison the lock.
    pub fn lock(&self) -> MutexGuard<'_, MovableFile> {
        lock(&self.file)
    }

    /// Locks the file, unless another thread uses it.
    pub fn try_lock_file(&self) -> Option<MutexGuard<'_, MovableFile>> {
        match self.file.try_lock() {
            Ok(file) => Some(file),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Locks and returns the counts of the calls on the file.
    pub fn counts(&self) -> MutexGuard<'_, CallCounts> {
        lock(&self.counts)
    }

    /// Locks and returns this rank's individual file pointer.
    pub fn pointer(&self) -> MutexGuard<'_, Pointer> {
        lock(&self.pointer)
    }
}

/// An open file that threads pass to each other: only the thread that has locked it uses it.
pub struct MovableFile(OpenFile);

impl Deref for MovableFile {
    type Target = OpenFile;

    fn deref(&self) -> &OpenFile {
        &self.0
    }
}

impl DerefMut for MovableFile {
    fn deref_mut(&mut self) -> &mut OpenFile {
        &mut self.0
    }
}

// SAFETY: what an OpenFile shares with others is `Send` by its types (a test of the engine's file checks this). The rest,
// the transport and the call in flight, is touched by one thread at a time: the mutex ensures this. MPI may be called from
// the program's thread, as its thread level says, and from the helper thread only at MPI_THREAD_MULTIPLE. The program
// promises not to touch buffers of calls in flight.
unsafe impl Send for MovableFile {}

type Table = Mutex<HashMap<Word, Arc<SharedFile>>>;

fn table() -> MutexGuard<'static, HashMap<Word, Arc<SharedFile>>> {
    static TABLE: OnceLock<Table> = OnceLock::new();
    lock(TABLE.get_or_init(Table::default))
}

/// True once this rank has opened a file, or tried to. Never reset.
static IS_ANY_SEEN: AtomicBool = AtomicBool::new(false);

/// Returns true if this rank has ever opened a file, or tried to. Local.
pub fn is_any_seen() -> bool {
    IS_ANY_SEEN.load(Ordering::Relaxed)
}

/// Records that this rank has tried to open a file. Local.
pub fn note_seen() {
    IS_ANY_SEEN.store(true, Ordering::Relaxed);
}

/// Adds an open file to the table, under its handle.
pub fn add(handle: Word, mut file: OpenFile, pointer: Pointer, (own, sieving): (Option<OwnHandle>, Option<Sieving>)) {
    note_seen();
    let (path, board, has_one_rank) = (file.backend.path.clone(), file.backend.board(), file.backend.has_one_rank);
    if let Some(board) = &board {
        // The memory may still show the last call on an earlier file.
        board.enter("MPI_File_open");
        board.leave(false);
    }
    let (file, counts, pointer) = (Mutex::new(MovableFile(file)), Mutex::default(), Mutex::new(pointer));
    table().insert(handle, Arc::new(SharedFile { path, own, sieving, board, has_one_rank, file, counts, pointer }));
}

/// Returns the file of a handle; None if the value is no handle, or if this library did not see the file's
/// MPI_File_open.
pub fn find(handle: Word) -> Option<Arc<SharedFile>> {
    table().get(&handle).cloned()
}

/// Moves the counts of independent calls from handles that this rank has by itself to the handle of several ranks, if it has the file
/// `path` open in both ways: PnetCDF opens a file a second time on each rank for independent calls. `counts` are those of a handle that
/// is being closed, and was removed from the table. Local.
pub fn join_independent(path: &Path, has_one_rank: bool, counts: &mut CallCounts) {
    let others: Vec<_> = {
        let table = table();
        let is_other = |shared: &&Arc<SharedFile>| *shared.path == *path && shared.has_one_rank != has_one_rank;
        table.values().filter(is_other).cloned().collect()
    };
    match has_one_rank {
        true => others.into_iter().take(1).for_each(|shared| shared.counts().take_independent(counts)),
        false => others.into_iter().for_each(|own| counts.take_independent(&mut own.counts())),
    }
}

/// Counts a failed call of the MPI function `call` on the file of a handle; prints the error if it is due
/// ([`Failures::note`]) and this rank `prints` errors of the call. Local.
pub fn note_failure(handle: Word, call: &'static str, error: &Error, prints: bool) {
    match find(handle) {
        Some(shared) => shared.counts().failures.note(call, error, prints),
        None => Failures::default().note(call, error, prints),
    }
}

/// Removes a handle from the table and returns its file.
pub fn remove(handle: Word) -> Option<(OpenFile, CallCounts)> {
    let shared = table().remove(&handle)?;
    // Usually nobody else has the file.
    let shared = match Arc::try_unwrap(shared) {
        Ok(SharedFile { file, counts, .. }) => {
            let MovableFile(file) = file.into_inner().unwrap_or_else(PoisonError::into_inner);
            return Some((file, counts.into_inner().unwrap_or_else(PoisonError::into_inner)));
        }
        Err(shared) => shared,
    };
    let file = std::mem::replace(&mut shared.lock().0, OpenFile::closed());
    let counts = std::mem::take(&mut *shared.counts());
    Some((file, counts))
}
