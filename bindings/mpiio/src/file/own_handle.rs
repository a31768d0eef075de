//! This library's own handle of a file, for independent reads and writes.
//!
//! One kind is for files whose calls ROMIO's driver for NFS runs. That driver locks the bytes of each call, and returns
//! `romio_visibility_immediate=false` in MPI_File_get_info: HDF5 1.14 then refuses independent writes. Calls through this
//! handle go past the host's cache, so a byte is on the server when the call that writes it returns, and a later read on
//! any host gets it. They take no locks.
//!
//! So do writes that do not block and have several pieces: ROMIO's driver for NFS would write them by data sieving, whatever the hint
//! says (MPICH 4.0.2). It would read and write back the bytes between the pieces, under a lock that calls through this handle do
//! not wait for ([`crate::file::sieving`]).
//!
//! MPI still runs other calls on the file: reads that do not block, writes of one piece, calls at the shared file pointer, calls with
//! views that this library does not know, calls in atomic mode. ROMIO locks and writes exactly the bytes of one piece, and its lock
//! drops what the host has cached.
//!
//! The other kind writes the pieces of strided writes that MPI must not write by data sieving, on any file system.

use std::ffi::c_int;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tributary::Error;
use tributary::access::{Access, Memory};
use tributary::drivers::{Mode, OpenStorage, Storage, SystemFiles};
use tributary::engine::may_have_device_memory;
use tributary::error::FileOperation;
use tributary::hints::{DriverName, FileHints, Switch};
use tributary::memo::Memo;
use tributary::storage::{StorageFailure, guarded, read_independent, write_independent, write_locked};
use tributary_abi::{MPI_Info_free, constants, function_name, handles};
use tributary_bindings::info::entries;

use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::word::Word;
use crate::mpi::error_handler::returning;
use crate::mpi::next::InterposedFunction;

/// Key and beginning of the value with which ROMIO's driver for NFS names itself in MPI_File_get_info.
const NFS_DRIVER: (&str, &str) = ("romio_filesystem_type", "NFS:");

/// This rank's own handle of a file. It is opened in the first call that uses it.
pub struct OwnHandle {
    path: Arc<Path>,
    /// Rank of this process in the file's communicator.
    rank: usize,
    /// Identity of the file that MPI has opened; None if the file was not found.
    identity: Option<FileIdentity>,
    /// True if calls go past the host's cache.
    is_past_cache: bool,
    /// The open handle; None if it cannot be opened.
    storage: OnceLock<Option<Box<dyn Storage>>>,
    /// True while the program has set atomic mode on the file.
    is_atomic: AtomicBool,
}

/// Returns true if independent calls on a file should use an own handle: the file may be written, is on NFS, and the hints
/// `asked` choose no other driver and no data sieving. Local; the same on all ranks if all hosts mount the file in the same way.
pub fn is_wanted(path: &Path, amode: c_int, asked: &FileHints) -> bool {
    let all = constants();
    let is_written = amode & (all.mode_rdwr | all.mode_wronly) != 0 && amode & all.mode_sequential == 0;
    let hints = asked.hints();
    let is_ours = [DriverName::Auto, DriverName::Nfs].contains(&hints.driver) && hints.ds_write != Switch::Enable;
    is_written && is_ours && is_on_nfs(path)
}

/// Returns true if a file, or the folder of a new file, is on NFS. Keeps the answers for the last 64 folders, and asks the
/// system for any other.
fn is_on_nfs(path: &Path) -> bool {
    static KNOWN: Memo<PathBuf, bool> = Memo::new(64);
    let folder = path.parent().unwrap_or(path).to_path_buf();
    KNOWN.get(&folder, || DriverName::Auto.resolved(&SystemFiles, path) == DriverName::Nfs)
}

/// Returns true if ROMIO's driver for NFS runs the calls of an open file: by its hint, the same on all ranks. Local.
pub fn is_of_nfs_driver(handle: Word) -> bool {
    static GET_INFO: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_get_info"));
    let mut info = handles().info_null;
    if returning(handle, || GET_INFO.call(&[handle, (&raw mut info) as Word])) as c_int != SUCCESS {
        return false;
    }
    let (key, start) = NFS_DRIVER;
    // SAFETY: a new info of MPI's.
    let is_it = unsafe { entries(info) }.iter().any(|(known, value)| known == key && value.starts_with(start));
    // SAFETY: the new info, which is freed once.
    unsafe { MPI_Info_free(&mut info) };
    is_it
}

/// Device and inode of a file, which identify it on its host.
pub type FileIdentity = (u64, u64);

/// Returns the identity of the file at `path`; None if it is not there. Local: one call of the system.
pub fn identity(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Opens the file at `path`; None if this fails, or if the file has another identity. If `is_past_cache`, calls
/// go past the host's cache. Local.
pub fn open_same(
    path: &Path,
    mode: Mode,
    identity: Option<FileIdentity>,
    is_past_cache: bool,
) -> Option<Box<dyn Storage>> {
    let open = || {
        let failure = |cause| StorageFailure { operation: FileOperation::Open, offset: None, cause };
        let storage = SystemFiles.open(path, mode).map_err(failure)?;
        if is_past_cache {
            storage.control().see_other_hosts().map_err(failure)?;
        }
        Ok(storage)
    };
    let storage = guarded(FileOperation::Open, None, open).ok()?;
    let [_, device, inode] = storage.control().identity().ok()??;
    (Some((device, inode)) == identity).then_some(storage)
}

/// Moves the bytes of an access, and returns their number; a read counts only bytes before the end of the file. If
/// `is_locked`, a write holds a lock that MPI's data sieving respects. `place` is this rank and the path, for errors. Local.
///
/// # Errors
/// An error of the system. Some of the bytes may then be moved.
pub fn transfer(
    storage: &dyn Storage,
    Access { file, layout, memory }: Access<'_>,
    is_locked: bool,
    place: (usize, &Path),
) -> Result<u64, Error> {
    match memory {
        Memory::Source(source) if is_locked => write_locked(storage, file, layout, source, place),
        Memory::Source(source) => write_independent(storage, file, layout, source, place),
        Memory::Sink(sink) => read_independent(storage, file, layout, sink, place),
    }
}

/// Returns an error of earlier writes that the file system reports only when a handle is closed, such as an exceeded quota.
/// `place` is this rank and the path, for the error. Local.
///
/// # Errors
/// That error.
pub fn settle(storage: &dyn Storage, (rank, path): (usize, &Path)) -> Result<(), Error> {
    storage.control().settle().map_err(|cause| Error::io(rank, FileOperation::Close, path, None, &cause))
}

impl OwnHandle {
    /// Describes the file at `path`, which MPI has just opened, with its identity if it was found. Local.
    pub fn new(path: Arc<Path>, rank: usize, identity: Option<FileIdentity>) -> Self {
        let (storage, is_atomic) = Default::default();
        Self { path, rank, identity, is_past_cache: false, storage, is_atomic }
    }

    /// Returns this handle with calls that go past the host's cache.
    pub fn past_cache(self) -> Self {
        Self { is_past_cache: true, ..self }
    }

    /// Returns the file's name, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file that MPI has opened still has its name. Local: one call of the system.
    pub fn is_there(&self) -> bool {
        self.identity.is_some() && identity(&self.path) == self.identity
    }

    /// Returns true if independent calls may use this handle now: not in atomic mode, and not where memory may be a GPU's.
    pub fn is_used(&self) -> bool {
        !self.is_atomic.load(Ordering::Relaxed) && !may_have_device_memory()
    }

    /// Returns true if a byte that an independent call writes is visible to all ranks when the call returns. Opens the
    /// handle, to find out whether this library can use it.
    pub fn is_visible_at_once(&self) -> bool {
        self.is_used() && self.storage().is_some()
    }

    fn storage(&self) -> Option<&dyn Storage> {
        self.storage.get_or_init(|| self.opened()).as_deref()
    }

    /// Records whether the program is in atomic mode, in which MPI runs all calls.
    pub fn set_atomic(&self, is_atomic: bool) {
        self.is_atomic.store(is_atomic, Ordering::Relaxed);
    }

    /// Moves the bytes of an independent call ([`transfer`]). Returns None if MPI must run the call. Local.
    ///
    /// # Errors
    /// An error of the system. Some of the bytes may then be moved.
    pub fn transfer(&self, access: Access<'_>, is_locked: bool) -> Option<Result<u64, Error>> {
        Some(transfer(self.storage()?, access, is_locked, (self.rank, &self.path)))
    }

    /// Takes a lock on a range of the file, or releases it (`FileControl::lock_range`). Returns true if that was possible.
    pub fn lock(&self, range: Range<u64>, taken: bool) -> bool {
        self.storage().is_some_and(|storage| storage.control().lock_range(range, taken).is_ok())
    }

    /// Returns an error of earlier writes that the file system reports only when a handle is closed.
    ///
    /// # Errors
    /// That error.
    pub fn settle(&self) -> Result<(), Error> {
        let Some(Some(storage)) = self.storage.get() else { return Ok(()) };
        settle(&**storage, (self.rank, &self.path))
    }

    /// Opens the handle; None if this fails, if another file has the name now, or on DAOS, for which MPI may have a driver.
    fn opened(&self) -> Option<Box<dyn Storage>> {
        let is_on_daos = SystemFiles.file_system(&self.path).is_some_and(|found| found.is_daos);
        if is_on_daos { None } else { open_same(&self.path, Mode::Update, self.identity, self.is_past_cache) }
    }
}
