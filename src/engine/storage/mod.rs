//! The shared file behind a narrow trait, so that tests can put a failing one in its place.

pub(in crate::engine) mod copy;
pub(in crate::engine) mod direct;
pub(in crate::engine) mod direct_read;
pub(in crate::engine) mod scratch;
pub(in crate::engine) mod sieve;
pub(in crate::engine) mod window_queue;
pub(in crate::engine) mod worker;

use std::any::Any;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use crate::engine::api::setup::Mode;
use crate::error::Error;
use crate::topology::Rank;

/// An open file. Calls may come from any thread.
pub trait Storage: Send + Sync {
    /// Writes some of `bytes` at `offset`, as pwrite(2) does; returns how many.
    ///
    /// # Errors
    /// The system's.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Reads some bytes at `offset`, as pread(2) does; 0 at the end of the file.
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The size of the file; `u64::MAX` of what has none (a device, a pipe).
    ///
    /// # Errors
    /// The system's.
    fn size(&self) -> io::Result<u64>;

    /// Makes the file `len` bytes long, as ftruncate(2) does: cut there, or zeros behind what there was.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Waits until what was written is stored.
    ///
    /// # Errors
    /// The system's.
    fn sync(&self) -> io::Result<()>;

    /// Reports what closing would: some file systems (NFS, quotas) find out only then that bytes have no place.
    ///
    /// # Errors
    /// The system's.
    fn settle(&self) -> io::Result<()>;
}

/// Opens files; each rank that does I/O calls it once a file.
pub trait OpenStorage: Send + Sync {
    /// Opens an existing file: for reading with [`Mode::Read`], or else for writing, and for reading as far as it permits.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>>;
}

/// Files of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl OpenStorage for SystemFiles {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
        if mode == Mode::Read {
            return Ok(Box::new(std::fs::File::open(path)?));
        }
        // A file that may be written but not read is still fit for writing; only filling holes then fails.
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.or_else(|_| OpenOptions::new().write(true).open(path))?;
        Ok(Box::new(file))
    }
}

impl Storage for std::fs::File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
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

    /// Closes a duplicate of the descriptor: close(2) reports per call, and this one's answer is not lost.
    fn settle(&self) -> io::Result<()> {
        match nix::unistd::close(self.try_clone()?) {
            // The descriptor is gone all the same; nothing is said of the bytes.
            Ok(()) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Keeps the signal of the file-size limit (SIGXFSZ, which ends the process by default) from this thread while it is
/// held: write(2) then fails with EFBIG, an error that can be agreed. The process's disposition stays as it is. For the time
/// of a call: where there is no limit now, the signal is not sent, and one call of the system does instead of three.
#[must_use]
pub fn without_size_signal() -> Option<SizeSignalBlocked> {
    let is_limited = getrlimit(Resource::RLIMIT_FSIZE).map_or(true, |(soft, _)| soft != RLIM_INFINITY);
    is_limited.then(block_size_signal)
}

/// The same for a thread's life, in which a limit may be set.
#[must_use]
pub fn block_size_signal() -> SizeSignalBlocked {
    let mut signal = SigSet::empty();
    signal.add(Signal::SIGXFSZ);
    let before = signal.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok().filter(|mask| !mask.contains(Signal::SIGXFSZ));
    SizeSignalBlocked { signal, before }
}

/// See [`block_size_signal`].
pub struct SizeSignalBlocked {
    signal: SigSet,
    /// The mask to go back to; none if the signal was blocked already.
    before: Option<SigSet>,
}

impl Drop for SizeSignalBlocked {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // One that came in the meantime is ours: it is taken, not passed on.
        // SAFETY: both pointers are to live values of the right type; a null siginfo is allowed.
        while unsafe { libc::sigtimedwait(self.signal.as_ref(), std::ptr::null_mut(), &now) } > 0 {}
        // A mask that cannot be set back leaves the signal blocked, which is what it was for.
        let _ = before.thread_set_mask();
    }
}

/// A call on the storage that did not do all it should.
#[derive(Debug)]
pub struct Failure {
    /// `write` or `read`.
    pub operation: &'static str,
    /// Where in the file it failed.
    pub offset: u64,
    /// Why.
    pub cause: io::Error,
}

impl Failure {
    /// As the error of a rank.
    pub fn of(self, rank: Rank, path: &Path) -> Error {
        Error::io(rank, self.operation, path, self.offset, &self.cause)
    }
}

/// Calls a storage that may panic; a panic is a failure like any other: the rank must go on, or all others wait for it.
pub fn guarded<T>(
    operation: &'static str,
    offset: u64,
    call: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    // What the call leaves behind is not looked at after a failure.
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(Failure { operation, offset, cause: io::Error::other(words(&*panic)) }))
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the storage panicked: {}", said.unwrap_or("it did not say why"))
}

/// Writes all of `bytes`; `written` counts those that got there, also when it fails.
pub fn write_all(storage: &dyn Storage, bytes: &[u8], offset: u64, written: &mut u64) -> Result<(), Failure> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        let failure = |cause| Failure { operation: "write", offset: at, cause };
        match storage.write_at(&bytes[done..], at) {
            Ok(0) => return Err(failure(io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                done += count;
                *written += count as u64;
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(failure(cause)),
        }
    }
    Ok(())
}

/// Reads all of `bytes` that the file has; what lies beyond its end stays as it is. Returns how many bytes the file had.
pub fn read_present(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<u64, Failure> {
    let mut done = 0;
    while done < bytes.len() {
        let at = offset + done as u64;
        match storage.read_at(&mut bytes[done..], at) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(Failure { operation: "read", offset: at, cause }),
        }
    }
    Ok(done as u64)
}

/// As [`read_present`], with zeros beyond the end of the file.
pub fn read_all(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<u64, Failure> {
    let present = read_present(storage, bytes, offset)?;
    bytes[present as usize..].fill(0);
    Ok(present)
}
