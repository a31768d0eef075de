//! Memory shared by the processes of one host: an anonymous file that one process makes and the others map; and the types of the
//! control integers in it.
//!
//! The file has no name in a file system (memfd_create; other processes open it through the maker's /proc entry), so a
//! crash leaves no file. Its size is an upper bound. [`SharedMemory::reserve`] allocates memory and fails if
//! there is none, so that no access can end the process.
//!
//! Control integers are atomic integers, in structs ([`Shareable`]). Ranks on different cores change the integers at any time, so
//! all other types are forbidden there.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::{MmapOptions, MmapRaw};

use crate::drivers::without_size_signal;
use crate::world;
use crate::world::process::per_process;

/// Number of the layout of all shared memory. Processes with different numbers share no memory, and open no file
/// together. Raise it with each change of a struct or an offset in shared memory.
pub const MEMORY_LAYOUT: u64 = 2;

/// Number of bytes of a cache line.
pub const LINE: usize = 64;

/// A type that may be laid over shared memory ([`SharedMemory::get`]).
///
/// # Safety
/// The type is an atomic integer, or has only such fields, in the order of C. All bytes are a value of the type.
pub unsafe trait Shareable: Sync {}

// SAFETY: an atomic integer.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: only elements that may be laid over shared memory.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// A value on cache lines of its own, so that changes of it slow down no rank that uses another value.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line<T>(T);

const _: () = assert!(align_of::<Line<u8>>() == LINE);

// SAFETY: only a value that may be laid over shared memory; nobody accesses the bytes after it.
unsafe impl<T: Shareable> Shareable for Line<T> {}

impl<T> Deref for Line<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Defines a struct that may be laid over shared memory. It does not compile if a field has a type that may not.
macro_rules! shareable {
    ($(#[$about:meta])* $seen:vis struct $name:ident { $($(#[$of_field:meta])* $field_seen:vis $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[repr(C)]
        $seen struct $name {
            $($(#[$of_field])* $field_seen $field: $type,)+
        }

        const _: () = {
            const fn may_be_shared<T: $crate::fabric::shared::Shareable>() {}
            $(may_be_shared::<$type>();)+
        };

        // SAFETY: in the order of C, and each field may be laid over shared memory.
        unsafe impl $crate::fabric::shared::Shareable for $name {}
    };
}

pub(crate) use shareable;

/// A mapping of memory that processes of one host share.
#[derive(Debug)]
pub struct SharedMemory(Arc<Mapping>);

#[derive(Debug)]
struct Mapping {
    file: File,
    map: MmapRaw,
}

per_process! {
    /// The mappings that simulated processes share ([`world::shares_mappings`]), by file descriptor.
    static SHARED: Mutex<BTreeMap<i32, Weak<Mapping>>> = Mutex::new(BTreeMap::new());
}

impl SharedMemory {
    /// Makes new memory of up to `size` bytes, none of them reserved.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn make(size: usize) -> io::Result<Self> {
        let file = nameless()?;
        // A limit on file size (RLIMIT_FSIZE) also limits this memory. If the limit is below `size`, the ranks share no
        // memory.
        let _quiet = without_size_signal();
        file.set_len(size as u64)?;
        let made = Self::from_file(file, size)?;
        if world::shares_mappings() {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            shared.insert(made.0.file.as_raw_fd(), Arc::downgrade(&made.0));
        }
        Ok(made)
    }

    /// Returns the address for [`SharedMemory::open`] in another process: (process, file descriptor).
    pub fn address(&self) -> (u32, i32) {
        (std::process::id(), self.0.file.as_raw_fd())
    }

    /// Maps the memory that another process of this host, or this one, has made and still has.
    ///
    /// # Errors
    /// Errors of the operating system; a size that differs from the one made.
    pub fn open((process, descriptor): (u32, i32), size: usize) -> io::Result<Self> {
        if world::shares_mappings() {
            let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = shared.get(&descriptor).and_then(Weak::upgrade).filter(|known| known.map.len() == size)
            {
                return Ok(Self(known));
            }
        }
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))?;
        if file.metadata()?.len() != size as u64 {
            return Err(io::Error::other("not the memory that was made"));
        }
        Self::from_file(file, size)
    }

    fn from_file(file: File, size: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(size).map_raw(&file)?;
        Ok(Self(Arc::new(Mapping { file, map })))
    }

    /// Allocates memory for the `len` bytes from `offset` on. Bytes that had memory keep their values; new bytes are 0.
    ///
    /// # Errors
    /// The system has no memory left, or a limit is reached.
    pub fn reserve(&self, offset: usize, len: usize) -> io::Result<()> {
        world::ask_for_memory(len)?;
        let _quiet = without_size_signal();
        let take = nix::fcntl::posix_fallocate(&self.0.file, offset as libc::off_t, len as libc::off_t);
        take.map_err(io::Error::from)
    }

    /// Frees the memory of the `len` bytes from `offset` on; they must be reserved anew before they are accessed.
    pub fn release(&self, offset: usize, len: usize) {
        #[cfg(target_os = "linux")]
        {
            use nix::fcntl::FallocateFlags;
            let how = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            // Memory that cannot be freed stays allocated until the end.
            let _ = nix::fcntl::fallocate(&self.0.file, how, offset as libc::off_t, len as libc::off_t);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (offset, len);
    }

    /// Returns the size in bytes, reserved or not.
    pub fn size(&self) -> usize {
        self.0.map.len()
    }

    /// Returns the address of the byte at `offset`, which must be within the size.
    #[inline]
    pub fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.0.map.len());
        self.0.map.as_mut_ptr().wrapping_add(offset)
    }

    /// Returns the value at `offset`, whose integers all ranks change atomically. Its bytes are reserved.
    #[inline(always)]
    pub fn get<T: Shareable>(&self, offset: usize) -> &T {
        let fits = offset.is_multiple_of(align_of::<T>()) && offset + size_of::<T>() <= self.size();
        assert!(fits, "control integers outside of shared memory");
        // SAFETY: inside of the mapping, which lives as long as `self`; aligned, because the mapping begins on a page; all
        // bytes are a value of the type, and are only ever used as atomics.
        unsafe { &*self.at(offset).cast() }
    }

    /// Returns `count` values like [`SharedMemory::get`] from `offset` on.
    #[inline]
    pub fn list<T: Shareable>(&self, offset: usize, count: usize) -> &[T] {
        let fits = offset.is_multiple_of(align_of::<T>()) && offset + count * size_of::<T>() <= self.size();
        assert!(fits, "control integers outside of shared memory");
        // SAFETY: inside of the mapping, and aligned; all bytes are values of the type, and are only ever used as atomics.
        unsafe { std::slice::from_raw_parts(self.at(offset).cast(), count) }
    }
}

/// Makes an anonymous file in memory (memfd_create). Makes the system call itself: the packages must run with glibc 2.17, and
/// glibc has a function for it only from 2.27 on.
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
    use std::sync::atomic::Ordering;

    use super::*;

    shareable! {
        struct Pair {
            first: AtomicU32,
            second: AtomicU64,
        }
    }

    #[test]
    fn values_on_lines_share_no_cache_line() {
        let lines = [const { Line(Pair { first: AtomicU32::new(1), second: AtomicU64::new(2) }) }; 3];
        assert_eq!(size_of_val(&lines), 3 * LINE);
        assert_eq!((lines[2].first.as_ptr().addr() - lines[0].first.as_ptr().addr()) % LINE, 0);
        assert_eq!(lines[1].second.as_ptr().addr() - lines[1].first.as_ptr().addr(), 8);
    }

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
