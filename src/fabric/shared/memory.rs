//! Memory shared by the processes of one host: a file without a name that rank 0 makes and the others map.
//!
//! It never has a name in any file system (memfd_create; the others open it through rank 0's /proc entry), so a crash
//! leaves nothing behind. Its size is an upper bound: memory is taken by [`SharedMemory::reserve`], which fails where none
//! is to be had, so that no touch of it can end the process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

use memmap2::{MmapOptions, MmapRaw};

/// A mapping of the memory.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    map: MmapRaw,
}

impl SharedMemory {
    /// New memory of up to `size` bytes, none of it reserved.
    ///
    /// # Errors
    /// The system's.
    pub fn make(size: usize) -> io::Result<Self> {
        let file = nameless()?;
        file.set_len(size as u64)?;
        Self::of(file, size)
    }

    /// What [`SharedMemory::open`] of another process needs: (process, descriptor).
    pub fn address(&self) -> (u32, i32) {
        (std::process::id(), self.file.as_raw_fd())
    }

    /// The memory that another process of this host, or this one, has made and still holds.
    ///
    /// # Errors
    /// The system's; a size that is not what was made.
    pub fn open((process, descriptor): (u32, i32), size: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))?;
        if file.metadata()?.len() != size as u64 {
            return Err(io::Error::other("not the memory that was made"));
        }
        Self::of(file, size)
    }

    fn of(file: File, size: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(size).map_raw(&file)?;
        Ok(Self { file, map })
    }

    /// Takes memory for the bytes from `offset` on; what was taken before stays as it is. New bytes are 0.
    ///
    /// # Errors
    /// The system's: there is no memory left, or a limit is reached.
    pub fn reserve(&self, offset: usize, len: usize) -> io::Result<()> {
        let take = nix::fcntl::posix_fallocate(&self.file, offset as libc::off_t, len as libc::off_t);
        take.map_err(io::Error::from)
    }

    /// Gives memory back; the bytes must be reserved again before they are touched.
    pub fn release(&self, offset: usize, len: usize) {
        #[cfg(target_os = "linux")]
        {
            use nix::fcntl::FallocateFlags;
            let how = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            // Memory that cannot be given back stays taken until the end.
            let _ = nix::fcntl::fallocate(&self.file, how, offset as libc::off_t, len as libc::off_t);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (offset, len);
    }

    /// Bytes from the start to the end.
    pub fn size(&self) -> usize {
        self.map.len()
    }

    /// The place of a byte. `offset` is within the size.
    #[inline]
    pub fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.map.len());
        self.map.as_mut_ptr().wrapping_add(offset)
    }

    /// A word that all ranks change atomically. `offset` is a multiple of 4 within reserved bytes.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.size(), "a word outside of shared memory");
        // SAFETY: inside of the mapping, which lives as long as `self`; aligned; only ever used as an atomic.
        unsafe { AtomicU32::from_ptr(self.at(offset).cast()) }
    }

    /// As [`SharedMemory::word`], of 64 bits. `offset` is a multiple of 8 within reserved bytes.
    #[inline]
    pub fn long(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.size(), "a word outside of shared memory");
        // SAFETY: as for `word`.
        unsafe { AtomicU64::from_ptr(self.at(offset).cast()) }
    }
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    use nix::sys::memfd::{MFdFlags, memfd_create};
    let descriptor = memfd_create(c"tributary", MFdFlags::MFD_CLOEXEC)?;
    // SAFETY: a descriptor that was just made, and is handed over.
    Ok(unsafe { File::from_raw_fd(descriptor.into_raw_fd()) })
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_are_the_same_bytes() {
        let made = SharedMemory::make(1 << 20).unwrap();
        made.reserve(0, 8192).unwrap();
        let opened = SharedMemory::open(made.address(), 1 << 20).unwrap();
        made.word(4096).store(7, Ordering::Release);
        assert_eq!(opened.word(4096).load(Ordering::Acquire), 7);
        opened.release(4096, 4096);
        assert_eq!(made.word(4096).load(Ordering::Acquire), 0);
        assert!(SharedMemory::open(made.address(), 4096).is_err(), "another size");
        assert!(SharedMemory::open((made.address().0, 999_999), 4096).is_err());
    }
}
