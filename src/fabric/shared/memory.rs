//! Memory shared by the processes of one host: an anonymous file that one process makes and the others map.
//!
//! The file has no name in a file system (memfd_create; other processes open it through the maker's /proc entry), so a
//! crash leaves nothing behind. Its size is an upper bound. [`SharedMemory::reserve`] allocates memory and fails if
//! there is none, so that no access can end the process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

use memmap2::{MmapOptions, MmapRaw};

use super::layout::Shareable;
use crate::drivers::size_limit::without_size_signal;

/// A mapping of memory that processes of one host share.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    map: MmapRaw,
}

impl SharedMemory {
    /// Makes new memory of up to `size` bytes, none of them reserved.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn make(size: usize) -> io::Result<Self> {
        let file = nameless()?;
        // A limit of file size also limits memory: if it is lower, the ranks share none.
        let _quiet = without_size_signal();
        file.set_len(size as u64)?;
        Self::from_file(file, size)
    }

    /// Returns the address for [`SharedMemory::open`] in another process: (process, file descriptor).
    pub fn address(&self) -> (u32, i32) {
        (std::process::id(), self.file.as_raw_fd())
    }

    /// Maps the memory that another process of this host, or this one, has made and still has.
    ///
    /// # Errors
    /// Errors of the operating system; a size that differs from the one made.
    pub fn open((process, descriptor): (u32, i32), size: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))?;
        if file.metadata()?.len() != size as u64 {
            return Err(io::Error::other("not the memory that was made"));
        }
        Self::from_file(file, size)
    }

    fn from_file(file: File, size: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(size).map_raw(&file)?;
        Ok(Self { file, map })
    }

    /// Allocates memory for the `len` bytes from `offset` on. Bytes that had memory keep their values; new bytes are 0.
    ///
    /// # Errors
    /// The system has no memory left, or a limit is reached.
    pub fn reserve(&self, offset: usize, len: usize) -> io::Result<()> {
        let _quiet = without_size_signal();
        let take = nix::fcntl::posix_fallocate(&self.file, offset as libc::off_t, len as libc::off_t);
        take.map_err(io::Error::from)
    }

    /// Frees the memory of the `len` bytes from `offset` on; they must be reserved again before they are accessed.
    pub fn release(&self, offset: usize, len: usize) {
        #[cfg(target_os = "linux")]
        {
            use nix::fcntl::FallocateFlags;
            let how = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            // Memory that cannot be freed stays allocated until the end.
            let _ = nix::fcntl::fallocate(&self.file, how, offset as libc::off_t, len as libc::off_t);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (offset, len);
    }

    /// Returns the size in bytes, reserved or not.
    pub fn size(&self) -> usize {
        self.map.len()
    }

    /// Returns the address of the byte at `offset`, which must be within the size.
    #[inline]
    pub fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.map.len());
        self.map.as_mut_ptr().wrapping_add(offset)
    }

    /// Returns the value at `offset`, whose integers all ranks change atomically. Its bytes are reserved.
    #[inline(always)]
    pub fn get<T: Shareable>(&self, offset: usize) -> &T {
        let fits = offset.is_multiple_of(align_of::<T>()) && offset + size_of::<T>() <= self.size();
        assert!(fits, "control words outside of shared memory");
        // SAFETY: inside of the mapping, which lives as long as `self`; aligned, because the mapping begins on a page; all
        // bytes are a value of the type, and are only ever used as atomics.
        unsafe { &*self.at(offset).cast() }
    }

    /// Returns `count` values like [`SharedMemory::get`] from `offset` on.
    #[inline]
    pub fn list<T: Shareable>(&self, offset: usize, count: usize) -> &[T] {
        let fits = offset.is_multiple_of(align_of::<T>()) && offset + count * size_of::<T>() <= self.size();
        assert!(fits, "control words outside of shared memory");
        // SAFETY: as in `get`.
        unsafe { std::slice::from_raw_parts(self.at(offset).cast(), count) }
    }
}

/// Makes an anonymous file in memory. Calls the system directly: the C library has a function for it only from glibc
/// 2.27 on, and the packages are for 2.17.
#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    // SAFETY: a name that ends with 0 and flags, which is what the call takes.
    let descriptor = unsafe { libc::syscall(libc::SYS_memfd_create, c"tributary".as_ptr(), libc::MFD_CLOEXEC) };
    let descriptor = i32::try_from(nix::errno::Errno::result(descriptor)?).map_err(io::Error::other)?;
    // SAFETY: a new descriptor, whose ownership moves to the file.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn two_mappings_are_the_same_bytes() {
        let made = SharedMemory::make(1 << 20).unwrap();
        made.reserve(0, 8192).unwrap();
        let opened = SharedMemory::open(made.address(), 1 << 20).unwrap();
        made.get::<AtomicU32>(4096).store(7, Ordering::Release);
        assert_eq!(opened.get::<AtomicU32>(4096).load(Ordering::Acquire), 7);
        opened.release(4096, 4096);
        assert_eq!(made.get::<AtomicU32>(4096).load(Ordering::Acquire), 0);
        assert!(SharedMemory::open(made.address(), 4096).is_err(), "another size");
        assert!(SharedMemory::open((made.address().0, 999_999), 4096).is_err());
    }
}
