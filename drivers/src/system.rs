//! The storage that programs use: files of the operating system.

use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
#[cfg(target_os = "linux")]
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{LazyLock, OnceLock};
#[cfg(target_os = "linux")]
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, PosixFadviseAdvice, fcntl, posix_fadvise};
use nix::sys::utsname::uname;
use nix::unistd::{Whence, lseek};

use crate::mounts::is_daos;
use crate::storage::{FileSystem, Identity, Mode, OpenStorage, Storage, StripeRequest};

/// Maximum size of an extended attribute on Linux, in bytes.
const LONGEST: usize = 1 << 16;

/// Type of a file system whose type nobody has told.
const UNTOLD: u32 = 0;

/// Permissions of a new file before the process's umask, as MPI libraries create files.
const PERMISSIONS: u32 = 0o666;

/// Flags that open a new file on Lustre without a layout yet (`O_LOV_DELAY_CREATE`): two flags without meaning for
/// other regular files.
const DELAY_CREATE: i32 = libc::O_NOCTTY | libc::O_ASYNC;

// LL_IOC_LOV_SETSTRIPE is declared with the size of a long, not of what it points to.
nix::ioctl_write_ptr_bad!(set_stripe, nix::request_code_write!(b'f', 154, size_of::<libc::c_long>()), u8);
// LL_IOC_GROUP_LOCK and LL_IOC_GROUP_UNLOCK take the number of the group in place of a pointer.
nix::ioctl_write_int_bad!(lock_group, nix::request_code_write!(b'f', 158, size_of::<libc::c_long>()));
nix::ioctl_write_int_bad!(unlock_group, nix::request_code_write!(b'f', 159, size_of::<libc::c_long>()));

/// Offset of the byte that stands for number 0 in [`Storage::hold`]: no file has data there.
#[cfg(target_os = "linux")]
const HELD: libc::off_t = 1 << 62;

/// Number of attempts to take a lock that another handle forbids, one a millisecond. A handle that waits forbids it for a
/// moment only; a program that has locked the whole file may forbid it for long.
#[cfg(target_os = "linux")]
const ATTEMPTS: usize = 20;

/// Takes a lock of type `kind` on the bytes that stand for `numbers`, or releases it (`F_UNLCK`). If `waits`, waits for
/// handles with a lock that forbids it. The lock belongs to the open file and not to the process (`F_OFD_SETLK`), so
/// ranks that are threads of one process have locks of their own.
#[cfg(target_os = "linux")]
fn lock(file: &File, kind: libc::c_int, numbers: Range<u64>, waits: bool) -> io::Result<()> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: HELD + numbers.start as libc::off_t,
        l_len: (numbers.end - numbers.start) as libc::off_t,
        l_pid: 0,
    };
    loop {
        match fcntl(file, if waits { FcntlArg::F_OFD_SETLKW(&lock) } else { FcntlArg::F_OFD_SETLK(&lock) }) {
            Err(Errno::EINTR) => {}
            outcome => return Ok(outcome.map(drop)?),
        }
    }
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

/// Creates and opens files of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl OpenStorage for SystemFiles {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        if mode == Mode::Read {
            return Ok(Box::new(File::open(path)?));
        }
        // A file that may be written but not read is still fit for writing; only filling holes then fails.
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.or_else(|_| OpenOptions::new().write(true).open(path))?;
        Ok(Box::new(file))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        let open =
            |read| OpenOptions::new().read(read).write(true).create(true).truncate(false).mode(PERMISSIONS).open(path);
        let file = open(true).or_else(|cause| match cause.kind() {
            io::ErrorKind::PermissionDenied => open(false),
            _ => Err(cause),
        })?;
        Ok(Box::new(file))
    }

    fn create_without_stripes(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(PERMISSIONS).custom_flags(DELAY_CREATE);
        Ok(Box::new(options.open(path)?))
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
        // A link to a file that does not exist yet: the file may be on another file system.
        if matches!(found, Err(Errno::ENOENT))
            && let Ok(target) = std::fs::read_link(path)
        {
            return self.file_system(&directory.join(target));
        }
        found.or_else(|_| file_system_of(directory)).ok()
    }
}

/// Returns the file system of an existing path.
fn file_system_of(path: &Path) -> nix::Result<FileSystem> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the name ends with a zero, and the call writes to `told` only.
    let found = told_system(|told| unsafe { libc::statfs(name.as_ptr(), told) })?;
    let may_be_daos = [FileSystem::FUSE, UNTOLD].contains(&found.magic);
    let is_daos = may_be_daos && std::fs::canonicalize(path).is_ok_and(|path| is_daos(&path));
    Ok(FileSystem { is_daos, ..found })
}

/// Returns what a call like statfs(2) writes. DAOS's library libpil4dfs, which takes the calls of a program, writes sizes and
/// no type: so the call finds zeros ([`UNTOLD`]), and not what happened to be in memory.
fn told_system(call: impl FnOnce(*mut libc::statfs) -> libc::c_int) -> nix::Result<FileSystem> {
    // SAFETY: a structure of numbers.
    let mut told: libc::statfs = unsafe { std::mem::zeroed() };
    Errno::result(call(&raw mut told))?;
    Ok(FileSystem { magic: told.f_type as u32, block: u64::try_from(told.f_bsize).unwrap_or(0), is_daos: false })
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
    let mut told = std::mem::MaybeUninit::<libc::statx>::uninit();
    // SAFETY: the descriptor is open, the name is empty and ends with a zero, and the call writes to `told` only.
    let outcome = unsafe {
        libc::syscall(libc::SYS_statx, file.as_raw_fd(), c"".as_ptr(), flags, libc::STATX_SIZE, told.as_mut_ptr())
    };
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Storage for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let offset = offset.try_into().map_err(io::Error::other)?;
        Ok(nix::sys::uio::pwritev(self, parts, offset)?)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    /// Moves the offset of the descriptor, which no other call uses.
    fn next_data(&self, offset: u64) -> u64 {
        static FINDS_ALL: LazyLock<bool> =
            LazyLock::new(|| uname().is_ok_and(|told| finds_all_data(&told.release().to_string_lossy())));
        let from = offset.try_into().ok().filter(|_| *FINDS_ALL);
        let Some(from) = from else { return offset };
        match lseek(self, from, Whence::SeekData) {
            Ok(found) => offset.max(found as u64),
            Err(Errno::ENXIO) => u64::MAX,
            Err(_) => offset,
        }
    }

    fn size(&self) -> io::Result<u64> {
        let told = self.metadata()?;
        Ok(if told.is_file() { told.len() } else { u64::MAX })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    /// Closes a duplicate of the descriptor: close(2) reports errors of every descriptor, and this result is not
    /// lost. If the process has no descriptor left, syncs the file, which reports the same errors.
    fn settle(&self) -> io::Result<()> {
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
        let flags = OFlag::from_bits_retain(fcntl(self, FcntlArg::F_GETFL)?);
        // SAFETY: the descriptor is open, and the call writes to `told` only.
        let system = told_system(|told| unsafe { libc::fstatfs(self.as_raw_fd(), told) })?;
        let is_written = flags & OFlag::O_ACCMODE != OFlag::O_RDONLY;
        if is_written && system.writes_whole_pages() {
            fcntl(self, FcntlArg::F_SETFL(flags | OFlag::O_DIRECT))?;
        }
        // An old kernel (4.10) or a security filter may not know this call; reads then see what the host's cache has.
        let _ = ask_for_size(self);
        // Drops this host's cache of the file. (An error would mean that there is nothing to drop.)
        let _ = posix_fadvise(self, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        Ok(())
    }

    fn identity(&self) -> io::Result<Option<Identity>> {
        static MACHINE: OnceLock<Option<u64>> = OnceLock::new();
        let machine = *MACHINE.get_or_init(|| {
            let started = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            u64::from_str_radix(started.replace('-', "").get(..16)?, 16).ok()
        });
        let told = self.metadata()?;
        Ok(machine.map(|machine| [machine, told.dev(), told.ino()]))
    }

    fn preferred_size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.blksize())
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
        Ok(Box::new(OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(same)?))
    }

    fn lock_for_group(&self, group: u32, taken: bool) -> io::Result<()> {
        let (file, group) = (self.as_raw_fd(), group as libc::c_int);
        // SAFETY: the descriptor is open, and the calls take a number.
        unsafe { if taken { lock_group(file, group) } else { unlock_group(file, group) } }?;
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn hold(&self, number: u64, taken: bool) -> io::Result<()> {
        let kind = if taken { libc::F_WRLCK } else { libc::F_UNLCK };
        let mut tried = lock(self, kind, number..number + 1, false);
        for _ in 1..ATTEMPTS {
            if !tried.as_ref().is_err_and(|cause| cause.kind() == io::ErrorKind::WouldBlock) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            tried = lock(self, kind, number..number + 1, false);
        }
        tried
    }

    #[cfg(target_os = "linux")]
    fn wait_for_holders(&self, numbers: Range<u64>) -> io::Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        // A handle that may not read can take the other kind of lock only.
        let access = OFlag::from_bits_retain(fcntl(self, FcntlArg::F_GETFL)?) & OFlag::O_ACCMODE;
        let kind = if access == OFlag::O_WRONLY { libc::F_WRLCK } else { libc::F_RDLCK };
        lock(self, kind, numbers.clone(), true)?;
        lock(self, libc::F_UNLCK, numbers, false)
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

    /// A handle waits for handles that hold a number. A program that has locked the whole file lets
    /// nobody hold one.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_handle_waits_for_holders() {
        use std::sync::mpsc::{RecvTimeoutError, channel};
        let file = tempfile::NamedTempFile::new().unwrap();
        let [holder, waits, reads_only] =
            [Mode::Update, Mode::Update, Mode::Read].map(|mode| SystemFiles.open(file.path(), mode).unwrap());
        holder.hold(1, true).unwrap();
        holder.wait_for_holders(2..4).unwrap();
        waits.wait_for_holders(2..4).unwrap();
        waits.hold(2, true).unwrap();
        std::thread::scope(|scope| {
            let (sender, waited) = channel();
            scope.spawn(move || sender.send(waits.wait_for_holders(0..2)).unwrap());
            assert_eq!(waited.recv_timeout(Duration::from_millis(100)).err(), Some(RecvTimeoutError::Timeout));
            holder.hold(1, false).unwrap();
            waited.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
        });
        assert!(reads_only.hold(1, true).is_err(), "a handle that does not write");
        // The thread has closed its handle, which held 2.
        holder.wait_for_holders(0..4).unwrap();
        let whole = File::open(file.path()).unwrap();
        lock(&whole, libc::F_RDLCK, 0..1, true).unwrap();
        assert_eq!(holder.hold(0, true).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
