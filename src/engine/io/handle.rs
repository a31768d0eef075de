//! This rank's handle of the file, which makes bytes that one host has written visible on other hosts, on a file system
//! whose hosts cache independently: NFS, FUSE ([`FileSystem::is_coherent`](crate::drivers::FileSystem::is_coherent)).
//!
//! On such a file system, a host sees what another host has written after the other host closed the file and this host
//! reopened it (*close-to-open consistency*). MPI promises more: a rank sees its own bytes at once, also bytes that an
//! aggregator on another host has written for it. If two calls write the same bytes, the bytes of the later call stay. So
//!
//! - a rank that has written in a collective call makes its bytes visible before the ranks agree on the end of the call
//!   ([`calls::settle`]). An error of the file system, such as a full quota, is then an error of the call;
//! - bytes that a rank has written in independent calls are made visible at the beginning of the next collective call;
//! - a rank reopens the file before it reads what other hosts may have written: in a collective call, after all ranks
//!   have made their bytes visible. If reopening is not enough, the storage does more ([`calls::see_other_hosts`]).
//!
//! The handle does nothing of this on other file systems, if all ranks are on one host, or if the file is only read.
//!
//! All methods are local.

use std::sync::Arc;

use crate::access::{Access, Direction, Sink, Source};
use crate::drivers::{DirectWrites, Mode};
use crate::engine::io::terms::FileTerms;
use crate::engine::io::window_queue::WindowQueue;
use crate::engine::io::worker::Worker;
use crate::engine::io::write_behind::WriteBehind;
use crate::engine::io::write_behind::limits::WriteBehindLimits;
use crate::engine::io::{
    Moved, OpenStorage, Storage, StorageFailure, calls, direct, end, guarded, read_present, size, without_size_signal,
    write_all,
};
use crate::engine::trace::counts::Outcome;
use crate::error::{Error, FileOperation, IoCause, IoClass, Result};
use crate::fabric::Idle;
use crate::topology::Rank;

/// Message of a rank that opens another file than rank 0 under the same path.
const NOT_SHARED: &str =
    "the host of this rank has another file of this name than that of rank 0: they do not share the directory";

/// This rank's handle of the file. It is opened when it is first needed.
pub struct FileHandle {
    files: Arc<dyn OpenStorage>,
    rank: Rank,
    terms: Arc<FileTerms>,
    /// The file as rank 0 has opened it for all ranks, until the handle needs it.
    opened: Option<Box<dyn Storage>>,
    storage: Option<Arc<dyn Storage>>,
    /// The queue of windows that an aggregator writes, and reads ahead, through the handle.
    pub queue: Option<WindowQueue>,
    /// True if this rank has written bytes that other hosts do not see yet.
    is_ahead: bool,
    /// True if other hosts may have written since this rank opened the file.
    is_stale: bool,
    /// True if a handle was closed whose bytes may not be on stable storage.
    was_closed: bool,
    /// The write-behind of collective writes; `None` if they do not buffer bytes.
    pub write_behind: Option<Arc<WriteBehind>>,
}

impl Drop for FileHandle {
    /// Writes the buffered bytes, if the file was not closed, and prints errors that no call has returned.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(write_behind) = &self.write_behind {
            write_behind.finish();
        }
    }
}

impl FileHandle {
    /// Returns the handle of `rank`, which is not open yet unless the rank has `opened` the file. With `limits`, collective writes
    /// buffer bytes.
    pub fn new(
        files: Arc<dyn OpenStorage>,
        (rank, opened): (Rank, Option<Box<dyn Storage>>),
        terms: Arc<FileTerms>,
        limits: Option<WriteBehindLimits>,
    ) -> Self {
        let write_behind = limits.map(|limits| {
            WriteBehind::new(files.clone(), (&terms.path, terms.mode), (rank, terms.topology.ranks()), limits)
        });
        Self {
            files,
            rank,
            terms,
            opened,
            storage: None,
            queue: None,
            is_ahead: false,
            is_stale: false,
            was_closed: false,
            write_behind,
        }
    }

    /// Returns the open storage, and opens it if needed.
    ///
    /// # Errors
    /// The file cannot be opened, or is not the file of rank 0.
    pub fn storage(&mut self) -> Result<Arc<dyn Storage>> {
        if let Some(storage) = &self.storage {
            return Ok(storage.clone());
        }
        let failure = |cause| StorageFailure { operation: FileOperation::Open, offset: None, cause };
        let opened = self.opened.take();
        let open = || {
            let open = || calls::open(&*self.files, &self.terms.path, self.terms.mode);
            let file = opened.map_or_else(open, Ok).map_err(failure)?;
            if self.terms.caches_incoherent {
                calls::see_other_hosts(&*file).map_err(failure)?;
            }
            same_file(&self.terms, file)
        };
        let opened = self.with_context(guarded(FileOperation::Open, None, open));
        let storage: Arc<dyn Storage> = match self.terms.layout.direct_from {
            Some(from) => Arc::new(DirectWrites::over(opened?, from)),
            None => opened?.into(),
        };
        let storage = match &self.write_behind {
            Some(write_behind) => Arc::new(write_behind.over(storage)),
            None => storage,
        };
        self.storage = Some(storage.clone());
        Ok(storage)
    }

    /// Returns the storage, if it is open.
    pub fn open_storage(&self) -> Option<&Arc<dyn Storage>> {
        self.storage.as_ref()
    }

    /// Returns a new queue of windows, whose worker writes and reads through the handle. An error of the handle or the
    /// worker is an error of the first window.
    pub fn open_queue(&mut self, waker: Arc<dyn Idle>) -> WindowQueue {
        let (rank, path) = (self.rank, self.terms.path.clone());
        let start = |storage| {
            Worker::start(storage, waker).map_err(|cause| Error::io(rank, FileOperation::Open, &path, None, &cause))
        };
        let worker = self.storage().and_then(start);
        WindowQueue::new(worker, self.terms.read_sieve(), rank, path)
    }

    /// Closes the handle.
    ///
    /// # Errors
    /// An error of the file system that appears only now, such as a full disk or quota.
    pub fn close(&mut self) -> Result<()> {
        (self.queue, self.opened) = (None, None);
        let settled = self.storage.take().map_or(Ok(()), |storage| calls::settle(&*storage));
        if let Some(write_behind) = &self.write_behind {
            write_behind.close();
        }
        settled.map_err(|cause| Error::io(self.rank, FileOperation::Close, &self.terms.path, None, &cause))
    }

    /// Closes the handle; the next access reopens the file.
    pub fn reopen_lazily(&mut self) {
        self.was_closed |= self.storage.is_some();
        (self.queue, self.storage, self.opened) = (None, None, None);
    }

    /// Syncs the bytes that this rank has written to stable storage (fsync).
    ///
    /// # Errors
    /// The file cannot be opened; an error of the system.
    pub fn sync_written(&mut self) -> Result<()> {
        // Bytes of a closed handle also need a sync.
        let storage = match self.was_closed && self.terms.mode != Mode::Read {
            true => Some(self.storage()?),
            false => self.storage.clone(),
        };
        let synced = storage.map_or(Ok(()), |storage| calls::sync(&*storage));
        synced.map_err(|cause| Error::io(self.rank, FileOperation::Sync, &self.terms.path, None, &cause))
    }

    /// Waits until the buffered bytes of this rank's collective writes are in the file. Errors stay for the next
    /// collective call.
    pub fn write_left_bytes(&self) {
        if let Some(write_behind) = &self.write_behind {
            write_behind.write();
        }
    }

    /// Returns the outcome of an operation whose error the file system reports only once. With write-behind, keeps the error
    /// and returns success: this collective call returns the kept error, or a later call if another error comes first.
    pub fn keep_error(&self, outcome: Result<()>) -> Result<()> {
        match (&self.write_behind, outcome) {
            (Some(write_behind), Err(error)) => {
                write_behind.keep(error);
                Ok(())
            }
            (_, outcome) => outcome,
        }
    }

    /// Records that all ranks have waited for their buffered bytes.
    pub fn all_have_synced(&self) {
        if let Some(write_behind) = &self.write_behind {
            write_behind.forget_others();
        }
    }

    /// Writes an access that needs no other rank.
    pub fn write_directly(&mut self, access: Access<'_, Source<'_>>) -> Outcome {
        if access.file.count() == 0 {
            return Outcome::default();
        }
        match self.storage() {
            Ok(storage) => direct::write(&*storage, access, self.rank, &self.terms.path),
            Err(error) => Outcome { error: Some(error), ..Outcome::default() },
        }
    }

    /// Reads an access that needs no other rank.
    pub fn read_directly(&mut self, Access { file, layout, memory }: Access<'_, Sink<'_>>) -> Outcome {
        if file.count() == 0 {
            return Outcome::default();
        }
        let sieve = self.terms.read_sieve();
        let read = self.storage().and_then(|storage| {
            let read = guarded(FileOperation::Read, None, || direct::read(&*storage, file, layout, memory, &sieve));
            self.with_context(read)
        });
        read.unwrap_or_else(|error| Outcome { error: Some(error), ..Outcome::default() })
    }

    /// Writes `bytes` at byte `offset` in an independent call, and returns their number.
    ///
    /// # Errors
    /// The file cannot be opened; an error of the system. Some of the bytes may then be in the file.
    pub fn write_bytes(&mut self, bytes: &[u8], offset: u64) -> Result<u64> {
        let storage = self.storage()?;
        let _quiet = without_size_signal();
        let mut written = Moved::default();
        let outcome = guarded(FileOperation::Write, offset, || write_all(&*storage, bytes, offset, &mut written));
        self.is_ahead = true;
        self.with_context(outcome.map(|()| written.bytes))
    }

    /// Reads into `bytes` from byte `offset` on in an independent call, and returns the number of bytes before the end
    /// of the file. Reopens the file first if other hosts may have written.
    ///
    /// # Errors
    /// The file cannot be opened; an error of the system.
    pub fn read_bytes(&mut self, bytes: &mut [u8], offset: u64) -> Result<u64> {
        if self.terms.caches_incoherent && self.terms.mode != Mode::Read && self.is_stale {
            let passed = self.pass_on();
            self.reopen_lazily();
            (self.is_ahead, self.is_stale) = (false, false);
            passed?;
        }
        let storage = self.storage()?;
        let read = guarded(FileOperation::Read, offset, || read_present(&*storage, bytes, offset));
        self.with_context(read)
    }

    /// Returns the size of the file in bytes, as the system reports it to this rank now; `u64::MAX` if the file is a
    /// device or a pipe.
    ///
    /// # Errors
    /// The file cannot be opened; an error of the system.
    pub fn size(&mut self) -> Result<u64> {
        size(&self.storage(), self.rank, &self.terms.path)
    }

    /// Returns the end of the file in bytes, buffered bytes included; `u64::MAX` if the storage is not open or does not
    /// know the end.
    pub fn end(&self) -> u64 {
        let end = self.storage.as_ref().map(|storage| end(&Ok(storage.clone()), self.rank, &self.terms.path));
        end.and_then(Result::ok).unwrap_or(u64::MAX)
    }

    /// Sets the size of the file to `len` bytes.
    ///
    /// # Errors
    /// The file was opened for reading, or cannot be opened; an error of the system.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.check_writable(FileOperation::SetSize, None)?;
        let storage = self.storage()?;
        let _quiet = without_size_signal();
        let failure = |cause| StorageFailure { operation: FileOperation::SetSize, offset: None, cause };
        self.with_context(guarded(FileOperation::SetSize, None, || calls::set_len(&*storage, len).map_err(failure)))
    }

    /// Checks that the file was not opened for reading only.
    ///
    /// # Errors
    /// The file was opened for reading only. The error names the `operation` and its `offset`.
    pub fn check_writable(&self, operation: FileOperation, offset: impl Into<Option<u64>>) -> Result<()> {
        if self.terms.mode != Mode::Read {
            return Ok(());
        }
        Err(Error::Io {
            rank: self.rank,
            operation,
            path: self.terms.path.display().to_string(),
            offset: offset.into(),
            class: IoClass::ReadOnly,
            cause: IoCause::from_text("the file was opened for reading only"),
        })
    }

    /// Records that all ranks have made a collective call, so that other hosts may have written bytes.
    pub fn note_others_bytes(&mut self) {
        self.is_stale = true;
    }

    /// Lets other hosts see the bytes that this rank has written in independent calls.
    ///
    /// # Errors
    /// The errors of [`publish_writes`].
    pub fn publish_own_bytes(&mut self) -> Result<()> {
        match std::mem::take(&mut self.is_ahead) {
            true => self.pass_on(),
            false => Ok(()),
        }
    }

    /// Lets other hosts see the bytes that this rank has written in a collective call. Puts an error into `outcome`.
    #[inline]
    pub fn publish_outcome(&self, direction: Direction, outcome: &mut Outcome) {
        let writes = self.terms.caches_incoherent && direction == Direction::Write;
        if writes && outcome.bytes > 0 && outcome.error.is_none() {
            outcome.error = self.pass_on().err();
        }
    }

    fn pass_on(&self) -> Result<()> {
        let Some(storage) = &self.storage else { return Ok(()) };
        self.with_context(publish_writes(&self.terms, &**storage))
    }

    /// Turns a failure into an error with this rank and the path.
    fn with_context<T>(&self, outcome: std::result::Result<T, StorageFailure>) -> Result<T> {
        outcome.map_err(|failure| failure.into_error(self.rank, &self.terms.path))
    }
}

/// Lets other hosts see the bytes that were written through this handle, if the hosts cache independently.
///
/// # Errors
/// An error of the file system that appears only now, such as a full disk or quota.
pub fn publish_writes(terms: &FileTerms, storage: &dyn Storage) -> std::result::Result<(), StorageFailure> {
    if !terms.caches_incoherent {
        return Ok(());
    }
    let failure = |cause| StorageFailure { operation: FileOperation::Close, offset: None, cause };
    guarded(FileOperation::Close, None, || calls::settle(storage).map_err(failure))
}

/// Returns the file that this rank has opened, if it is the same file as on rank 0. Local.
///
/// # Errors
/// The file is another one: hosts do not share the directory.
fn same_file(terms: &FileTerms, file: Box<dyn Storage>) -> std::result::Result<Box<dyn Storage>, StorageFailure> {
    let failure = |cause| StorageFailure { operation: FileOperation::Open, offset: None, cause };
    match terms.identity {
        Some(first) if calls::identity(&*file).map_err(failure)?.is_some_and(|own| own != first) => {
            Err(failure(std::io::Error::other(NOT_SHARED)))
        }
        _ => Ok(file),
    }
}
