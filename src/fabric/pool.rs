//! A pool of memory blocks for messages and windows. Blocks are reused by later calls and files, which saves page
//! faults.
//!
//! The size of a block is a power of two. Up to 96 MiB of unused blocks are kept per process. When a file is closed,
//! the system may reclaim the pages of unused blocks ([`advise_unused`]).

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use memmap2::MmapMut;

use super::Message;
use crate::world;
use crate::world::process::per_process;
#[cfg(test)]
use crate::world::process::per_thread;

/// Minimum number of bytes of a pooled block. Smaller blocks come from the allocator, which reuses them itself.
const MIN_BLOCK: usize = 64 << 10;
/// An unused block may be reused if it is at most this many times as large as needed. (Untouched pages take no memory.)
const MAX_EXCESS: usize = 4;
/// Size of a huge page on most processors, in bytes.
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;
/// Maximum number of bytes of unused blocks that are kept.
const MAX_UNUSED: usize = 96 << 20;

per_process! {
    static UNUSED: Mutex<Vec<Unused>> = Mutex::new(Vec::new());
}

/// A block that nobody uses.
struct Unused {
    map: MmapMut,
    /// True if the system may reclaim its pages.
    is_advised: bool,
}

#[cfg(test)]
per_thread! {
    /// Number of bytes from which on [`Block::message`] fails on this thread: for tests of ranks that have no memory.
    pub static REFUSED_FROM: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) };
}

/// A block of memory. Its bytes are initialised, but have no defined value. Dropping a block returns it to the pool.
#[derive(Debug, Default)]
pub struct Block {
    memory: BlockMemory,
    /// Number of used bytes, from the start of the block.
    len: usize,
}

#[derive(Debug)]
enum BlockMemory {
    Small(Vec<u8>),
    Mapped(MmapMut),
}

impl Default for BlockMemory {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Block {
    /// Returns a block of at least `capacity` bytes, none of them used. O(unused blocks); new pages are allocated on
    /// first access.
    ///
    /// # Errors
    /// The system has no memory left.
    pub fn take(capacity: usize) -> io::Result<Self> {
        world::ask_for_memory(capacity)?;
        if capacity < MIN_BLOCK {
            let mut small = Vec::new();
            small.try_reserve_exact(capacity).map_err(io::Error::other)?;
            small.resize(capacity, 0);
            return Ok(Self { memory: BlockMemory::Small(small), len: 0 });
        }
        let size = size_of_block(capacity).ok_or_else(|| io::Error::other("no such memory"))?;
        let kept = {
            let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |block: &Unused| (size..=size.saturating_mul(MAX_EXCESS)).contains(&block.map.len());
            let smallest =
                unused.iter().enumerate().filter(|(_, block)| fits(block)).min_by_key(|(_, block)| block.map.len());
            smallest.map(|(at, _)| at).map(|at| unused.swap_remove(at).map)
        };
        let memory = BlockMemory::Mapped(kept.map_or_else(|| map(size), Ok)?);
        Ok(Self { memory, len: 0 })
    }

    /// Returns the number of bytes that can be used.
    pub fn capacity(&self) -> usize {
        self.whole().len()
    }

    /// Returns all of the memory, used or not.
    fn whole(&self) -> &[u8] {
        match &self.memory {
            BlockMemory::Small(small) => small,
            BlockMemory::Mapped(map) => map,
        }
    }

    /// Returns all of the memory, used or not.
    pub fn whole_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            BlockMemory::Small(small) => small,
            BlockMemory::Mapped(map) => map,
        }
    }

    /// Sets the number of used bytes, at most the capacity. Bytes that become used have no defined value.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(self.capacity());
    }

    /// Returns a message of `len` bytes, all of which `write` sets. O(unused blocks), besides what `write` does.
    ///
    /// # Errors
    /// The system has no memory left; `write` is not called.
    pub fn message(len: u64, write: impl FnOnce(&mut [u8])) -> io::Result<Message> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        #[cfg(test)]
        if len >= REFUSED_FROM.get() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let mut block = Self::take(len)?;
        block.set_len(len);
        write(&mut block);
        Ok(block.into_message())
    }

    /// Returns the used bytes as a message, without a copy. The memory returns to the pool when the last part of the
    /// message is dropped.
    pub fn into_message(mut self) -> Message {
        match &mut self.memory {
            BlockMemory::Small(small) => {
                small.truncate(self.len);
                std::mem::take(small).into()
            }
            BlockMemory::Mapped(_) => Message::from_owner(self),
        }
    }
}

/// Returns the number of bytes that a block of `capacity` bytes takes; `None` if it does not fit in a `usize`.
pub fn size_of_block(capacity: usize) -> Option<usize> {
    if capacity < MIN_BLOCK { Some(capacity) } else { capacity.checked_next_power_of_two() }
}

/// Returns new memory, in huge pages if it is large enough, so that the first use causes few page faults.
fn map(size: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(size)?;
    #[cfg(target_os = "linux")]
    if size >= HUGE_PAGE {
        // A system without huge pages uses small ones.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    Ok(map)
}

impl Deref for Block {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.whole()[..self.len]
    }
}

impl DerefMut for Block {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        &mut self.whole_mut()[..len]
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let BlockMemory::Mapped(map) = std::mem::take(&mut self.memory) else { return };
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = unused.iter().map(|block| block.map.len()).sum();
        if kept + map.len() <= MAX_UNUSED {
            unused.push(Unused { map, is_advised: false });
        }
    }
}

/// Lets the system reclaim the pages of unused blocks if it needs memory before the blocks are reused. One system call for each
/// block that was used since the last time.
pub fn advise_unused() {
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    for block in unused.iter_mut().filter(|block| !block.is_advised) {
        block.is_advised = true;
        #[cfg(target_os = "linux")]
        // SAFETY: no reference into an unused block exists, and its contents are not needed. If the advice fails, the pages stay.
        let _ = unsafe { block.map.unchecked_advise(memmap2::UncheckedAdvice::Free) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_hold_their_bytes_and_blocks_are_reused() {
        for len in [0, 1, MIN_BLOCK - 1, MIN_BLOCK, MIN_BLOCK + 1, 3 << 20] {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 253) as u8).collect();
            // A block that is reused may be larger.
            assert!(Block::take(len).unwrap().capacity() >= size_of_block(len).unwrap());
            let message = Block::message(len as u64, |to| to.copy_from_slice(&bytes)).unwrap();
            assert_eq!(message[..], bytes[..]);
            let part = message.slice(len / 2..);
            drop(message);
            assert_eq!(part[..], bytes[len / 2..]);
            drop(part);
            advise_unused();
        }
    }

    #[test]
    fn unused_blocks_are_bounded() {
        let blocks: Vec<_> = (0..MAX_UNUSED / MIN_BLOCK + 10).map(|_| Block::take(MIN_BLOCK).unwrap()).collect();
        drop(blocks);
        let kept: usize = UNUSED.lock().unwrap().iter().map(|block| block.map.len()).sum();
        assert!(kept <= MAX_UNUSED);
    }
}
