//! The traits of a shared file: [`Storage`] moves its bytes, [`FileControl`] does all else, [`OpenStorage`] opens it. Drivers
//! and engine reach files only through them, so that tests can replace the storage by one that fails.
//!
//! A limit of file size (`ulimit -f`) is an error of a call, instead of the end of the process, while a thread holds what
//! [`without_size_signal`] returns.

use std::ffi::CStr;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// The mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Creates the file, or truncates an existing one.
    Create,
    /// Opens an existing file and keeps its contents, or creates it.
    Update,
    /// Opens an existing file for reading only.
    Read,
}

/// Properties of a file system (statfs(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Type of the file system (`f_type`): a magic number.
    pub magic: u32,
    /// Block size in bytes (`f_bsize`); 0 if unknown.
    pub block: u64,
    /// True if DAOS serves the file system (dfuse). Its `magic` is then the value of every FUSE file system.
    pub is_daos: bool,
}

impl FileSystem {
    /// Value of `magic` for Lustre.
    pub(crate) const LUSTRE: u32 = 0x0BD0_0BD0;
    /// Value of `magic` for GPFS.
    pub(crate) const GPFS: u32 = 0x4750_4653;
    /// Value of `magic` for NFS.
    pub(crate) const NFS: u32 = 0x6969;
    /// Value of `magic` for every file system that a user-space program serves.
    pub(crate) const FUSE: u32 = 0x6573_5546;
    /// Types of file systems whose clients cache whole pages that the other clients' writes do not update (NFS, SMB,
    /// AFS), or may do so (FUSE, 9P).
    const CACHED_PER_HOST: [u32; 7] =
        [Self::NFS, Self::FUSE, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x0102_1997];

    /// Types of file systems of one machine: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs, ramfs, overlays.
    const OF_ONE_MACHINE: [u32; 8] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0x0102_1994, 0x8584_58F6, 0x794C_7630];

    /// Types of file systems of several machines whose locks make the size of a file exact on each of them: Lustre,
    /// GPFS. Others may have an old size for a while (OrangeFS), or until the file is closed (UnifyFS).
    const SIZE_BY_LOCKS: [u32; 2] = [Self::LUSTRE, Self::GPFS];

    /// Types of file systems that know exactly and at once which bytes of a file were ever written: ext2 to ext4, XFS,
    /// tmpfs. ZFS may write all bytes to the disk before it answers. F2FS overlooked compressed bytes. On a file system
    /// of several machines, the answer costs messages, and may take locks from other machines (Lustre), send cached
    /// bytes first (NFS), or forget them (FUSE).
    const KNOWS_DATA: [u32; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];

    /// Returns true if [`Storage::size`] includes all writes, of any machine, on this file system.
    pub fn knows_size(&self) -> bool {
        self.is_of_one_machine() || Self::SIZE_BY_LOCKS.contains(&self.magic)
    }

    /// Returns true if [`Storage::next_data`] is exact on this file system, and costs no more than a small read. Its
    /// size is then exact, too.
    pub fn knows_data(&self) -> bool {
        Self::KNOWS_DATA.contains(&self.magic)
    }

    /// Returns true if files of this file system are on one machine only; on another machine the path names another
    /// file.
    pub fn is_of_one_machine(&self) -> bool {
        Self::OF_ONE_MACHINE.contains(&self.magic)
    }

    /// Returns true if all hosts see the locks that a host takes on parts of a file ([`FileControl::hold`]): on file systems
    /// of one machine, Lustre (mounted with `flock`, its default) and GPFS. Elsewhere a lock may hold on one host only.
    pub fn shares_locks(&self) -> bool {
        self.is_of_one_machine() || Self::SIZE_BY_LOCKS.contains(&self.magic)
    }

    /// Returns true if two hosts may write different bytes of one page at the same time without losing any.
    pub fn is_coherent(&self) -> bool {
        !Self::CACHED_PER_HOST.contains(&self.magic)
    }

    /// Returns true if a host may write a whole page where a program has written a part of it, and may keep an old
    /// copy of a page that another host has changed meanwhile, even if the host opens the file anew: NFS. Only calls
    /// that go past the host's cache (`O_DIRECT`) are right there.
    pub fn writes_whole_pages(&self) -> bool {
        self.magic == Self::NFS
    }
}

/// Identity of a file: numbers that stand for a machine since its last boot, for a file system of this machine, and
/// for the file.
pub type Identity = [u64; 3];

/// The bytes with which Lustre's call sets a file's stripes. Only the driver for Lustre makes them, because the call
/// reads as many bytes as the first ones say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeRequest(pub(crate) Vec<u8>);

/// An open file: moves its bytes. Any thread may call it.
///
/// [`FileControl`] has the operations that only some file systems have.
pub trait Storage: Send + Sync {
    /// Writes some of `bytes` at `offset`, like pwrite(2), and returns their number.
    ///
    /// # Errors
    /// The system's error.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Writes some of the bytes of `parts`, one part after the other, at `offset`, like pwritev(2), and returns their number.
    /// Default: writes only from the first part.
    ///
    /// # Errors
    /// The system's error.
    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        parts.first().map_or(Ok(0), |first| self.write_at(first, offset))
    }

    /// Reads some bytes at `offset`, like pread(2), and returns their number; 0 at the end of the file.
    ///
    /// # Errors
    /// The system's error.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the first offset from `offset` on that may have data, like lseek(2) with `SEEK_DATA`; `u64::MAX` if there is
    /// none. Bytes before it are zeros, or lie past the end of the file. Returns `offset` if the storage does not know this; so
    /// does the default.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }

    /// Returns the size of the file; `u64::MAX` for a device or a pipe, which have no size.
    ///
    /// # Errors
    /// The system's error.
    fn size(&self) -> io::Result<u64>;

    /// Sets the size of the file to `len` bytes, like ftruncate(2): truncates it, or extends it with zeros.
    ///
    /// # Errors
    /// The system's error.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Writes all bytes to stable storage, and returns when this is done (fdatasync).
    ///
    /// # Errors
    /// The system's error.
    fn sync(&self) -> io::Result<()>;

    /// Returns the file's other operations. Default: a control whose functions all have their defaults.
    fn control(&self) -> &dyn FileControl {
        &NoControl
    }
}

/// The operations on a file other than moving bytes ([`Storage::control`]). Any thread may call them.
///
/// Every function has a default, because most file systems have only some of the operations. An implementation provides
/// only the operations that it can do.
pub trait FileControl {
    /// Returns errors that the file system reports only at close, such as a full disk or an exceeded quota (NFS, Lustre).
    /// Does nothing by default.
    ///
    /// # Errors
    /// The system's error.
    fn settle(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes this handle see what other hosts have written, on a file system where opening the file does not suffice:
    /// updates the file's size, of which a host may keep an old value for a second, and drops cached bytes. Does
    /// nothing by default.
    ///
    /// # Errors
    /// The system's error.
    fn see_other_hosts(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the storage for a write of `range` that must be in the file when the write returns, because another rank may
    /// write a part of the range right after it. Default: `None`, which means this storage.
    ///
    /// # Errors
    /// Earlier writes of the range cannot be waited for.
    fn at_once(&self, _range: Range<u64>) -> io::Result<Option<&dyn Storage>> {
        Ok(None)
    }

    /// Returns true if a write of `len` bytes would return before they are in the file, without waiting. Default: false.
    fn writes_later(&self, _len: u64) -> bool {
        false
    }

    /// Returns the size that the file has when all bytes are in it that were written through this handle, or by other ranks
    /// in collective calls, if this handle may write some of them later. Default: `None`, which means [`Storage::size`].
    ///
    /// # Errors
    /// The system's error.
    fn end(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// Shows to all other handles of the file, on any host, that bytes of this handle that are not in the file yet lie only in
    /// `range`, or that there are none (`range` is empty). `number`, below 2^31, is of this handle only. Takes locks at offsets
    /// far past all data (`F_OFD_SETLK`), which do not prevent any write or read.
    ///
    /// # Errors
    /// The system's error, for example if another program has locked the whole file, or if this handle may not read;
    /// [`io::ErrorKind::Unsupported`] by default.
    fn hold(&self, _number: u64, _range: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns true if another handle of the file may have bytes of `range` that are not in the file yet
    /// ([`FileControl::hold`]).
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::Unsupported`] by default.
    fn is_held(&self, _range: Range<u64>) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes a lock on a range of bytes that excludes other locks, such as those of ROMIO's data sieving, or releases it
    /// (`F_OFD_SETLKW`). Waits until no other process has a lock there.
    ///
    /// # Errors
    /// The system's error, as not every file system has locks; [`io::ErrorKind::WouldBlock`] if this process has a lock there
    /// by fcntl(2) or lockf(3); [`io::ErrorKind::Unsupported`] by default.
    fn lock_range(&self, _range: Range<u64>, _taken: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes Lustre's group lock on the whole file (`LL_IOC_GROUP_LOCK`), or releases it. Handles with the lock of
    /// the same group read and write at the same time, and none of them asks for another lock; all other handles
    /// wait.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::Unsupported`] by default.
    fn lock_for_group(&self, _group: u32, _taken: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns numbers that identify the file among all files on file systems of one machine, on all machines. `None` if they
    /// are not known, and by default.
    ///
    /// # Errors
    /// The system's error.
    fn identity(&self) -> io::Result<Option<Identity>> {
        Ok(None)
    }

    /// Returns the preferred size of requests in bytes (`st_blksize`); 0 if unknown.
    ///
    /// # Errors
    /// The system's error.
    fn preferred_size(&self) -> io::Result<u64> {
        Ok(0)
    }

    /// Opens the same file for writes that bypass the page cache (`O_DIRECT`): whole pages of the file, from whole pages of memory.
    ///
    /// # Errors
    /// The system's error, as not every file system has such writes; [`io::ErrorKind::Unsupported`] by default.
    fn open_direct(&self) -> io::Result<Box<dyn Storage>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the value of an extended attribute of the file.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::Unsupported`] by default.
    fn attribute(&self, _name: &CStr) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a file its stripes on Lustre (`LL_IOC_LOV_SETSTRIPE`). It must have none yet:
    /// [`OpenStorage::create_without_stripes`] makes such a file.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::Unsupported`] by default.
    fn set_stripes(&self, _request: &StripeRequest) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Passes GPFS one of its hints on a file (`gpfs_fcntl`).
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::Unsupported`] by default, and if there is no GPFS library.
    fn advise_gpfs(&self, _advice: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The control of a storage that provides no operation: every function has its default.
struct NoControl;

impl FileControl for NoControl {}

/// Creates and opens files. One rank creates a file; then each rank that does I/O opens it once.
pub trait OpenStorage: Send + Sync {
    /// Opens an existing file: with [`Mode::Read`] for reading, otherwise for writing, and for reading if permitted.
    ///
    /// # Errors
    /// The system's error.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>>;

    /// Opens a file for writing, and for reading if permitted. Creates it if necessary, and keeps its contents.
    ///
    /// # Errors
    /// The system's error.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>>;

    /// Creates a file on Lustre without stripes; [`FileControl::set_stripes`] sets them.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the file exists; the system's error; [`io::ErrorKind::Unsupported`] by default.
    fn create_without_stripes(&self, _path: &Path) -> io::Result<Box<dyn Storage>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::Unsupported`] by default.
    fn remove(&self, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the file system of `path`, or else of its directory; `None` if neither exists, and by default.
    fn file_system(&self, _path: &Path) -> Option<FileSystem> {
        None
    }
}

/// Blocks the signal of the file-size limit (SIGXFSZ, which ends the process by default) in this thread while the
/// result is held: write(2) then fails with EFBIG, an error on which ranks can agree. The process's signal handlers
/// stay as they are. For the duration of one call: if there is no limit now, the signal is not sent, so this returns
/// `None` and saves two of three system calls.
#[must_use]
pub fn without_size_signal() -> Option<SizeSignalBlocked> {
    let is_limited = getrlimit(Resource::RLIMIT_FSIZE).map_or(true, |(soft, _)| soft != RLIM_INFINITY);
    is_limited.then(block_size_signal)
}

/// Returns the process's limit of file size, in bytes; None if there is none.
pub fn size_limit() -> Option<u64> {
    getrlimit(Resource::RLIMIT_FSIZE).ok().map(|(soft, _)| soft).filter(|&soft| soft != RLIM_INFINITY)
}

/// Blocks the signal of the file-size limit in this thread while the result is held, also if there is no limit yet:
/// for a thread's whole life, in which a limit may be set.
#[must_use]
pub fn block_size_signal() -> SizeSignalBlocked {
    let mut signal = SigSet::empty();
    signal.add(Signal::SIGXFSZ);
    let before = signal.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok().filter(|mask| !mask.contains(Signal::SIGXFSZ));
    SizeSignalBlocked { signal, before }
}

/// Guard that blocks the signal of the file-size limit in a thread: see [`block_size_signal`].
pub struct SizeSignalBlocked {
    signal: SigSet,
    /// Signal mask that is restored at the end; None if the signal was blocked already.
    before: Option<SigSet>,
}

impl Drop for SizeSignalBlocked {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // A signal since then was caused by this thread's write: it is consumed, not passed on.
        // SAFETY: both pointers point to live values of the right type; a null siginfo is allowed.
        while unsafe { libc::sigtimedwait(self.signal.as_ref(), std::ptr::null_mut(), &now) } > 0 {}
        // If the mask cannot be restored, the signal stays blocked, as during the call.
        let _ = before.thread_set_mask();
    }
}
