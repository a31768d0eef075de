//! Memory for messages and windows that stays between calls and files, so that its pages are not made anew each time.
//!
//! Blocks have sizes that are powers of two. What is not used is kept, up to 96 MiB a process; when a file is closed,
//! the system may take the pages of unused blocks if it needs them ([`rest`]).

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use memmap2::MmapMut;

use super::Message;

/// Smaller memory is the allocator's, which keeps it well.
const LEAST: usize = 64 << 10;
/// A block may be so many times as large as what is asked for. (Pages that nobody touches are no memory.)
const LARGER: usize = 4;
/// A huge page of most processors.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;
/// Unused blocks have no more bytes than these together.
const KEPT: usize = 96 << 20;

static UNUSED: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

/// Memory of a size. What is in it is of no meaning, but initialised. Goes back to the pool when dropped.
#[derive(Debug, Default)]
pub struct Block {
    memory: Memory,
    /// Of which so many bytes are used.
    len: usize,
}

#[derive(Debug)]
enum Memory {
    Small(Vec<u8>),
    Mapped(MmapMut),
}

impl Default for Memory {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Block {
    /// At least `capacity` bytes, none of them used. O(1); pages that were not used before are made when they are touched.
    ///
    /// # Errors
    /// The system's: there is no memory left.
    pub fn take(capacity: usize) -> io::Result<Self> {
        if capacity < LEAST {
            let mut small = Vec::new();
            small.try_reserve_exact(capacity).map_err(io::Error::other)?;
            small.resize(capacity, 0);
            return Ok(Self { memory: Memory::Small(small), len: 0 });
        }
        let size = capacity.checked_next_power_of_two().ok_or_else(|| io::Error::other("no such memory"))?;
        let kept = {
            let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |block: &MmapMut| (size..=size.saturating_mul(LARGER)).contains(&block.len());
            let smallest =
                unused.iter().enumerate().filter(|(_, block)| fits(block)).min_by_key(|(_, block)| block.len());
            smallest.map(|(at, _)| at).map(|at| unused.swap_remove(at))
        };
        let memory = Memory::Mapped(kept.map_or_else(|| map(size), Ok)?);
        Ok(Self { memory, len: 0 })
    }

    /// How many bytes can be used.
    pub fn capacity(&self) -> usize {
        self.whole().len()
    }

    /// All of the memory, used or not.
    fn whole(&self) -> &[u8] {
        match &self.memory {
            Memory::Small(small) => small,
            Memory::Mapped(map) => map,
        }
    }

    /// All of the memory, used or not.
    pub fn whole_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Small(small) => small,
            Memory::Mapped(map) => map,
        }
    }

    /// Uses so many bytes, no more than there are; what the further ones hold is of no meaning.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(self.capacity());
    }

    /// Uses so many bytes more and gives them, to be written; what they hold is of no meaning. Where they do not fit, all
    /// moves to a block that is twice as large, or more.
    ///
    /// # Panics
    /// There is no memory left, as where a vector grows.
    #[inline]
    pub fn extend(&mut self, len: usize) -> &mut [u8] {
        let (from, end) = (self.len, self.len + len);
        if end > self.capacity() {
            self.grow(end);
        }
        self.len = end;
        &mut self.whole_mut()[from..end]
    }

    #[cold]
    fn grow(&mut self, capacity: usize) {
        let larger = Self::take(capacity.max(2 * self.capacity())).expect("memory for a message");
        let mut smaller = std::mem::replace(self, larger);
        let len = smaller.len;
        self.whole_mut()[..len].copy_from_slice(&smaller);
        self.len = std::mem::take(&mut smaller.len);
    }

    /// The used bytes as a message, without a copy; the memory goes back when the last part of it is dropped.
    pub fn into_message(mut self) -> Message {
        match &mut self.memory {
            Memory::Small(small) => {
                small.truncate(self.len);
                std::mem::take(small).into()
            }
            Memory::Mapped(_) => Message::from_owner(self),
        }
    }
}

/// New memory, in huge pages if it has any, so that a first use makes few of them.
fn map(size: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(size)?;
    #[cfg(target_os = "linux")]
    if size >= HUGE {
        // A system without huge pages has small ones.
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
        let Memory::Mapped(map) = std::mem::take(&mut self.memory) else { return };
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = unused.iter().map(|block| block.len()).sum();
        if kept + map.len() <= KEPT {
            unused.push(map);
        }
    }
}

/// Lets the system take the pages of unused blocks, if it needs them before they are used again.
pub fn rest() {
    #[cfg(target_os = "linux")]
    for block in UNUSED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // SAFETY: nobody holds a reference into an unused block, and what is in it is of no meaning.
        let advised = unsafe { block.unchecked_advise(memmap2::UncheckedAdvice::Free) };
        // Pages that the system does not want stay.
        let _ = advised;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_what_was_appended_and_come_back() {
        for len in [0, 1, LEAST - 1, LEAST, LEAST + 1, 3 << 20] {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 253) as u8).collect();
            let mut block = Block::take(len / 3).unwrap();
            bytes.chunks(1000).for_each(|part| block.extend(part.len()).copy_from_slice(part));
            assert_eq!(block[..], bytes[..]);
            let message = block.into_message();
            let part = message.slice(len / 2..);
            drop(message);
            assert_eq!(part[..], bytes[len / 2..]);
            drop(part);
            rest();
        }
    }

    #[test]
    fn unused_blocks_are_bounded() {
        let blocks: Vec<_> = (0..KEPT / LEAST + 10).map(|_| Block::take(LEAST).unwrap()).collect();
        drop(blocks);
        let kept: usize = UNUSED.lock().unwrap().iter().map(|block| block.len()).sum();
        assert!(kept <= KEPT);
    }
}
