//! The storage that programs use: files of the operating system.

#[cfg(target_os = "linux")]
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, PosixFadviseAdvice, fcntl, posix_fadvise};
use nix::sys::utsname::uname;
use nix::unistd::{Whence, lseek};
use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Deref;
#[cfg(target_os = "linux")]
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use crate::mounts::is_daos;
use crate::storage::{FileControl, FileSystem, Identity, Mode, OpenStorage, Storage, StripeRequest};

/// Maximum size of an extended attribute on Linux, in bytes.
const LONGEST: usize = 1 << 16;

/// Value of `f_type` that means that the type is unknown.
const UNKNOWN_TYPE: u32 = 0;

/// Permissions of a new file before the process's umask, as MPI libraries create files.
const PERMISSIONS: u32 = 0o666;

/// Flags that open a new file on Lustre without a layout yet (`O_LOV_DELAY_CREATE`): two flags without meaning for
/// other regular files.
const DELAY_CREATE: i32 = libc::O_NOCTTY | libc::O_ASYNC;

// LL_IOC_LOV_SETSTRIPE is declared with the size of a long, although it takes a structure.
nix::ioctl_write_ptr_bad!(set_stripe, nix::request_code_write!(b'f', 154, size_of::<libc::c_long>()), u8);
// LL_IOC_GROUP_LOCK and LL_IOC_GROUP_UNLOCK take the number of the group in place of a pointer.
nix::ioctl_write_int_bad!(lock_group, nix::request_code_write!(b'f', 158, size_of::<libc::c_long>()));
nix::ioctl_write_int_bad!(unlock_group, nix::request_code_write!(b'f', 159, size_of::<libc::c_long>()));

/// Offsets past all data, at which [`FileControl::hold`] takes its locks: a lock on `HELD.start + i` is about byte `i` of the file.
#[cfg(target_os = "linux")]
const HELD: Range<u64> = 1 << 62..NUMBERS.start;

/// Offsets past all data, at which [`FileControl::hold`] locks the numbers of handles.
#[cfg(target_os = "linux")]
const NUMBERS: Range<u64> = (1 << 63) - (1 << 31)..(1 << 63) - 1;

/// Takes a lock of type `kind` on a range of bytes, or releases it (`F_UNLCK`). It belongs to the open file and not to the
/// process (`F_OFD_SETLK`), so ranks that are threads of one process have locks of their own.
#[cfg(target_os = "linux")]
fn lock(file: &File, range: Range<u64>, kind: libc::c_int) -> io::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    let lock = lock_on(range, kind);
    loop {
        match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
            Err(Errno::EINTR) => {}
            outcome => return Ok(outcome.map(drop)?),
        }
    }
}

/// Returns true if another open file has a lock that forbids a lock of type `kind`. Takes no lock.
#[cfg(target_os = "linux")]
fn is_locked(file: &File, range: Range<u64>, kind: libc::c_int) -> io::Result<bool> {
    let mut lock = lock_on(range, kind);
    loop {
        match fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock)) {
            Err(Errno::EINTR) => {}
            outcome => return Ok(outcome.map(|_| lock.l_type != libc::F_UNLCK as libc::c_short)?),
        }
    }
}

#[cfg(target_os = "linux")]
fn lock_on(range: Range<u64>, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: range.start as libc::off_t,
        l_len: (range.end - range.start) as libc::off_t,
        l_pid: 0,
    }
}

/// Returns the range of [`HELD`] for a range of a file. All bytes of the file from 2^62 - 2^31 on share the last offset.
#[cfg(target_os = "linux")]
fn stand_for(range: Range<u64>) -> Range<u64> {
    let at = |offset: u64| HELD.start + offset.min(HELD.end - HELD.start);
    let (start, end) = (at(range.start).min(HELD.end - 1), at(range.end));
    if range.is_empty() { start..start } else { start..end }
}

/// Type of the function `gpfs_fcntl` of GPFS's library.
type GpfsControl = unsafe extern "C" fn(libc::c_int, *mut libc::c_void) -> libc::c_int;

/// Returns `gpfs_fcntl` of the program, or else of `libgpfs.so`; `None` on a machine without GPFS.
fn gpfs_control() -> Option<GpfsControl> {
    static FOUND: OnceLock<Option<GpfsControl>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let name = c"gpfs_fcntl".as_ptr();
        // SAFETY: names that end with a zero; the library stays loaded, as it is never closed.
        let found = unsafe {
            let linked = libc::dlsym(libc::RTLD_DEFAULT, name);
            let library = if linked.is_null() { libc::dlopen(c"libgpfs.so".as_ptr(), libc::RTLD_NOW) } else { linked };
            match (linked.is_null(), library.is_null()) {
                (true, false) => libc::dlsym(library, name),
                _ => linked,
            }
        };
        // SAFETY: the function has this signature (gpfs_fcntl.h).
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut libc::c_void, GpfsControl>(found) })
    })
}

/// An open file of the operating system.
#[derive(Debug)]
pub(crate) struct SystemFile {
    file: File,
    /// True if the file is on NFS. Kept, because a call of statfs(2) may ask the server.
    is_on_nfs: OnceLock<bool>,
    /// Properties of the file when they were asked for first.
    facts: OnceLock<Facts>,
}

impl From<File> for SystemFile {
    fn from(file: File) -> Self {
        Self { file, is_on_nfs: OnceLock::new(), facts: OnceLock::new() }
    }
}

impl Deref for SystemFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl SystemFile {
    /// Returns the properties of the file's file system. The call may ask the file system's server.
    fn file_system(&self) -> io::Result<FileSystem> {
        // SAFETY: the descriptor is open, and the call writes to `found` only.
        Ok(queried_system(|found| unsafe { libc::fstatfs(self.as_raw_fd(), found) })?)
    }

    fn facts(&self) -> io::Result<Facts> {
        if let Some(facts) = self.facts.get() {
            return Ok(*facts);
        }
        let found = self.metadata()?;
        Ok(*self.facts.get_or_init(|| Facts {
            device: found.dev(),
            inode: found.ino(),
            preferred_size: found.blksize(),
        }))
    }
}

/// Properties of an open file that do not change while the engine uses them.
#[derive(Debug, Clone, Copy)]
struct Facts {
    device: u64,
    inode: u64,
    /// Preferred size of a call in bytes (`st_blksize`).
    preferred_size: u64,
}

/// Creates and opens files of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl OpenStorage for SystemFiles {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        if mode == Mode::Read {
            return Ok(Box::new(SystemFile::from(File::open(path)?)));
        }
        // A file that may be written but not read is still fit for writing; only filling holes then fails.
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.or_else(|_| OpenOptions::new().write(true).open(path))?;
        Ok(Box::new(SystemFile::from(file)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        let open =
            |read| OpenOptions::new().read(read).write(true).create(true).truncate(false).mode(PERMISSIONS).open(path);
        let file = open(true).or_else(|cause| match cause.kind() {
            io::ErrorKind::PermissionDenied => open(false),
            _ => Err(cause),
        })?;
        Ok(Box::new(SystemFile::from(file)))
    }

    fn create_without_stripes(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(PERMISSIONS).custom_flags(DELAY_CREATE);
        Ok(Box::new(SystemFile::from(options.open(path)?)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn file_system(&self, path: &Path) -> Option<FileSystem> {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let found = file_system_of(path);
        // The path is a link to a file that does not exist yet and may be on another file system.
        if matches!(found, Err(Errno::ENOENT))
            && let Ok(target) = std::fs::read_link(path)
        {
            return self.file_system(&directory.join(target));
        }
        found.or_else(|_| file_system_of(directory)).ok()
    }
}

/// Returns the properties of the file system of an existing path.
fn file_system_of(path: &Path) -> nix::Result<FileSystem> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the name ends with a zero, and the call writes to `system` only.
    let found = queried_system(|system| unsafe { libc::statfs(name.as_ptr(), system) })?;
    let may_be_daos = [FileSystem::FUSE, UNKNOWN_TYPE].contains(&found.magic);
    let is_daos = may_be_daos && std::fs::canonicalize(path).is_ok_and(|path| is_daos(&path));
    Ok(FileSystem { is_daos, ..found })
}

/// Returns the properties that `call`, a call like statfs(2), writes. The structure begins as zeros, because DAOS's library
/// libpil4dfs, which interposes the call, writes no type: the type is then [`UNKNOWN_TYPE`].
fn queried_system(call: impl FnOnce(*mut libc::statfs) -> libc::c_int) -> nix::Result<FileSystem> {
    // SAFETY: a structure of numbers.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    Errno::result(call(&raw mut found))?;
    Ok(FileSystem { magic: found.f_type as u32, block: u64::try_from(found.f_bsize).unwrap_or(0), is_daos: false })
}

/// Returns true if `SEEK_DATA` finds all data on a system with this release of Linux. Before 4.18, ext4 and XFS overlooked
/// data in preallocated parts of a file if blocks were smaller than pages, and ext4 in files without extents.
fn finds_all_data(release: &str) -> bool {
    let mut numbers = release.split(|other: char| !other.is_ascii_digit()).map(|number| number.parse::<u64>());
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (4, 18))
}

/// Makes the file system ask its server for the file's size. Uses the system call directly: C libraries before glibc
/// 2.28 do not have the function.
fn ask_for_size(file: &File) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_FORCE_SYNC;
    let mut found = std::mem::MaybeUninit::<libc::statx>::uninit();
    // SAFETY: the descriptor is open, the name is empty and ends with a zero, and the call writes to `found` only.
    let outcome = unsafe {
        libc::syscall(libc::SYS_statx, file.as_raw_fd(), c"".as_ptr(), flags, libc::STATX_SIZE, found.as_mut_ptr())
    };
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Storage for SystemFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(&self.file, bytes, offset)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let offset = offset.try_into().map_err(io::Error::other)?;
        Ok(nix::sys::uio::pwritev(&self.file, parts, offset)?)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.file, bytes, offset)
    }

    /// Moves the offset of the descriptor, which no other call uses.
    fn next_data(&self, offset: u64) -> u64 {
        static FINDS_ALL: LazyLock<bool> =
            LazyLock::new(|| uname().is_ok_and(|system| finds_all_data(&system.release().to_string_lossy())));
        let from = offset.try_into().ok().filter(|_| *FINDS_ALL);
        let Some(from) = from else { return offset };
        match lseek(&self.file, from, Whence::SeekData) {
            Ok(found) => offset.max(found as u64),
            Err(Errno::ENXIO) => u64::MAX,
            Err(_) => offset,
        }
    }

    fn size(&self) -> io::Result<u64> {
        let metadata = self.metadata()?;
        Ok(if metadata.is_file() { metadata.len() } else { u64::MAX })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn control(&self) -> &dyn FileControl {
        self
    }
}

impl FileControl for SystemFile {
    /// Syncs a file on NFS, which has the effect of a close there: the bytes go to the server, which stores them. Otherwise
    /// closes a duplicate of the descriptor: close(2) reports errors of every descriptor, and this result is not lost.
    /// But the close drops all locks that fcntl(2) has given this process on the file, also to ROMIO in another thread. If the
    /// process has no descriptor left, syncs the file, which reports the same errors.
    fn settle(&self) -> io::Result<()> {
        let is_on_nfs = || self.file_system().is_ok_and(|found| found.magic == FileSystem::NFS);
        if *self.is_on_nfs.get_or_init(is_on_nfs) {
            return self.sync();
        }
        let duplicate = match self.try_clone() {
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => return self.sync(),
            duplicate => duplicate?,
        };
        match nix::unistd::close(duplicate) {
            // The descriptor is closed all the same; the error says nothing about the bytes.
            Ok(()) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn see_other_hosts(&self) -> io::Result<()> {
        let flags = OFlag::from_bits_retain(fcntl(&self.file, FcntlArg::F_GETFL)?);
        let system = self.file_system()?;
        let is_written = flags & OFlag::O_ACCMODE != OFlag::O_RDONLY;
        if is_written && system.writes_whole_pages() {
            fcntl(&self.file, FcntlArg::F_SETFL(flags | OFlag::O_DIRECT))?;
        }
        // An old kernel (4.10) or a security filter may not know this call; reads then see what the host's cache has.
        let _ = ask_for_size(self);
        // Drops this host's cache of the file. (An error would mean that there is nothing to drop.)
        let _ = posix_fadvise(&self.file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        Ok(())
    }

    fn identity(&self) -> io::Result<Option<Identity>> {
        static MACHINE: OnceLock<Option<u64>> = OnceLock::new();
        let machine = *MACHINE.get_or_init(|| {
            let started = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            u64::from_str_radix(started.replace('-', "").get(..16)?, 16).ok()
        });
        let facts = self.facts()?;
        Ok(machine.map(|machine| [machine, facts.device, facts.inode]))
    }

    fn preferred_size(&self) -> io::Result<u64> {
        Ok(self.facts()?.preferred_size)
    }

    fn attribute(&self, name: &CStr) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0u8; LONGEST];
        // SAFETY: the descriptor is open, the name ends with a zero, and at most `bytes.len()` bytes are written to `bytes`.
        let len = unsafe { libc::fgetxattr(self.as_raw_fd(), name.as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
        bytes.truncate(usize::try_from(len).map_err(|_| io::Error::last_os_error())?);
        Ok(bytes)
    }

    fn set_stripes(&self, request: &StripeRequest) -> io::Result<()> {
        // SAFETY: the descriptor is open; the call reads the bytes of the request, whose number follows from its first
        // ones (`lov::request`), and keeps nothing.
        unsafe { set_stripe(self.as_raw_fd(), request.0.as_ptr()) }?;
        Ok(())
    }

    /// Opens the file by its descriptor, because another file may have the name by now.
    fn open_direct(&self) -> io::Result<Box<dyn Storage>> {
        let same = format!("/proc/self/fd/{}", self.as_raw_fd());
        let file = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(same)?;
        Ok(Box::new(SystemFile::from(file)))
    }

    fn lock_for_group(&self, group: u32, taken: bool) -> io::Result<()> {
        let (file, group) = (self.as_raw_fd(), group as libc::c_int);
        // SAFETY: the descriptor is open, and the calls take a number.
        unsafe { if taken { lock_group(file, group) } else { unlock_group(file, group) } }?;
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn lock_range(&self, range: Range<u64>, taken: bool) -> io::Result<()> {
        let kind = if taken { libc::F_WRLCK } else { libc::F_UNLCK };
        if range.end > HELD.start {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let lock = lock_on(range, kind);
        loop {
            // Does not wait for a lock of this process, such as a lock that the program holds during its call: the wait would
            // never end.
            let mut found = lock;
            fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut found))?;
            if taken
                && found.l_type != libc::F_UNLCK as libc::c_short
                && found.l_pid == std::process::id() as libc::pid_t
            {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match fcntl(&self.file, FcntlArg::F_OFD_SETLKW(&lock)) {
                Err(Errno::EINTR) => {}
                outcome => return Ok(outcome.map(drop)?),
            }
        }
    }

    /// Takes a write lock at the number, which fails if another program has locked the whole file; then read locks for the
    /// bytes, which several handles may have.
    #[cfg(target_os = "linux")]
    fn hold(&self, number: u64, range: Range<u64>) -> io::Result<()> {
        let (number, held) = (NUMBERS.start + number..NUMBERS.start + number + 1, stand_for(range));
        if held.is_empty() {
            lock(self, HELD, libc::F_UNLCK)?;
            return lock(self, number, libc::F_UNLCK);
        }
        lock(self, number, libc::F_WRLCK)?;
        lock(self, held.clone(), libc::F_RDLCK)?;
        lock(self, HELD.start..held.start, libc::F_UNLCK)?;
        lock(self, held.end..HELD.end, libc::F_UNLCK)
    }

    /// Also looks for the write lock at a number, because another program's read lock on the whole file looks like a
    /// handle's lock for the bytes.
    #[cfg(target_os = "linux")]
    fn is_held(&self, range: Range<u64>) -> io::Result<bool> {
        let range = stand_for(range);
        Ok(!range.is_empty() && is_locked(self, range, libc::F_WRLCK)? && is_locked(self, NUMBERS, libc::F_RDLCK)?)
    }

    fn advise_gpfs(&self, advice: &mut [u8]) -> io::Result<()> {
        let call = gpfs_control().ok_or(io::ErrorKind::Unsupported)?;
        // SAFETY: the descriptor is open; the advice begins with its own length, and the call reads and writes no more than that.
        match unsafe { call(self.as_raw_fd(), advice.as_mut_ptr().cast()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_releases_that_find_all_data_are_asked() {
        let found = ["3.10.0-1160.el7.x86_64", "4.17.19", "5", "", "x.y"].map(finds_all_data);
        assert_eq!(found, [false; 5]);
        let found = ["4.18.0-553.el8.x86_64", "5.0.0", "6.1-rc3", "10.0.1"].map(finds_all_data);
        assert_eq!(found, [true; 4]);
    }

    /// A handle sees which bytes others hold. While a program has locked the whole file, no handle can hold bytes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_handle_sees_what_others_hold() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let [one, other, reads_only] =
            [Mode::Update, Mode::Update, Mode::Read].map(|mode| SystemFiles.open(file.path(), mode).unwrap());
        one.control().hold(0, 100..200).unwrap();
        assert!(!one.control().is_held(0..u64::MAX).unwrap(), "its own");
        for (range, held) in
            [(0..100, false), (0..101, true), (199..u64::MAX, true), (200..300, false), (150..150, false)]
        {
            assert_eq!(other.control().is_held(range.clone()).unwrap(), held, "{range:?}");
        }
        other.control().hold(1, 150..u64::MAX).unwrap();
        assert!(
            one.control().is_held(u64::MAX - 1..u64::MAX).unwrap() && reads_only.control().is_held(120..130).unwrap()
        );
        one.control().hold(0, 150..160).unwrap();
        assert!(!reads_only.control().is_held(0..150).unwrap(), "it holds less");
        other.control().hold(1, 0..0).unwrap();
        assert!(!one.control().is_held(0..u64::MAX).unwrap() && !other.control().is_held(160..u64::MAX).unwrap());
        assert!(reads_only.control().hold(2, 1..2).is_err(), "a handle that does not write");
        drop(one);
        assert!(!other.control().is_held(0..u64::MAX).unwrap(), "it is closed");
        let (whole, all) = (File::open(file.path()).unwrap(), 0..(1 << 63) - 1);
        lock(&whole, all, libc::F_RDLCK).unwrap();
        assert_eq!(other.control().hold(1, 0..1).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(!other.control().is_held(0..u64::MAX).unwrap(), "nobody holds bytes");
    }
}
