//! The memory of the windows: a ring of them, a bit for every byte, and how far every rank has come.
//!
//! Window k of a call is the bytes of the file from `base + k * window` on; it lies in place `k mod ring` of the ring. A
//! rank may touch window k when window `k - ring` is done with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::tiling::Tiling;
use crate::access::Extent;
use crate::fabric::shared::{Shared, SharedMemory, Signal};
use crate::topology::Rank;

/// The most memory of the ring, in bytes.
const MOST: usize = 64 << 20;
/// Bytes of a window, but for a file system that locks other units.
pub const WINDOW: u64 = 1 << 20;
/// Bytes of a ring, at most: what caches hold, so that a window is written, and its place taken again, before it leaves them.
const CACHED: u64 = 4 << 20;
/// Windows of a ring that are wanted even so.
const AHEAD: u64 = 4;
/// The most windows in the ring.
const PLACES: usize = 256;
const LINE: usize = 64;
/// The most ranks that have a place for how far they are.
const RANKS: usize = 1024;
const PAGE: usize = 4096;
/// What is reserved before the first call.
pub const CONTROL: usize = ((2 + RANKS + PLACES) * LINE).next_multiple_of(PAGE);
/// All that the windows may take of the shared memory.
pub const AREA: usize = CONTROL + MOST / 8 + MOST;
/// Bytes of the file system's page cache that one first touch maps.
const AROUND: usize = 64 << 10;

/// The signal that counts what was written, read or passed.
pub const PROGRESS: usize = 0;
/// The signal that counts turns.
pub const TURN: usize = 1;

/// What a call's windows are. Equal on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Where the first begins.
    pub base: u64,
    /// The first byte of data.
    pub start: u64,
    /// The end of the last.
    pub end: u64,
    /// Bytes of one.
    pub window: u64,
    /// How many the ring holds.
    pub ring: u64,
}

impl Windows {
    /// Windows over `start..end`, in a ring of up to `memory` bytes; `unit` is what the file system locks.
    pub fn over(start: u64, end: u64, memory: u64, unit: u64) -> Self {
        let window = if unit > 1 && unit <= MOST as u64 / 2 { unit } else { WINDOW.min(memory.max(1)) };
        let base = start - start % window;
        let wanted = (end - base).div_ceil(window);
        let memory = memory.min(MOST as u64).min(CACHED.max(AHEAD * window));
        let ring = (memory / window).clamp(1, PLACES as u64).min(wanted.max(1));
        Self { base, start, end, window, ring }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.end - self.base).div_ceil(self.window)
    }

    /// The window of a byte.
    #[inline]
    pub fn of(&self, offset: u64) -> u64 {
        (offset - self.base) / self.window
    }

    /// The bytes of window `number` that the call is about.
    pub fn extent(&self, number: u64) -> Extent {
        let from = self.base + number * self.window;
        let (start, end) = (from.max(self.start), (from + self.window).min(self.end));
        Extent { offset: start, len: end.saturating_sub(start) }
    }

    /// Bytes of the ring.
    pub fn bytes(&self) -> u64 {
        self.ring * self.window
    }
}

/// The memory, as one rank sees it.
pub struct Arena {
    shared: Arc<Shared>,
    /// How much of the ring this rank has touched.
    touched: AtomicUsize,
}

impl Arena {
    /// Over the memory of an endpoint.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, touched: AtomicUsize::new(0) }
    }

    fn memory(&self) -> &SharedMemory {
        self.shared.memory()
    }

    fn line(&self, number: usize) -> usize {
        self.shared.area() + number * LINE
    }

    /// See [`PROGRESS`] and [`TURN`].
    pub fn signal(&self, number: usize) -> Signal<'_> {
        self.shared.signal(number)
    }

    /// The hash that all ranks use: the first that comes throws the key.
    pub fn tiling(&self) -> Tiling {
        let key = self.memory().long(self.line(0));
        if key.load(Ordering::Acquire) == 0 {
            let thrown = Tiling::random().key() | 1;
            let _ = key.compare_exchange(0, thrown, Ordering::AcqRel, Ordering::Acquire);
        }
        Tiling::of(key.load(Ordering::Acquire))
    }

    /// Held by the rank that writes windows.
    pub fn writer(&self) -> &AtomicU32 {
        self.memory().word(self.line(0) + 8)
    }

    /// Set where a call has to be done again, rank after rank.
    pub fn again(&self) -> &AtomicU32 {
        self.memory().word(self.line(0) + 12)
    }

    /// The first window that is not written.
    pub fn unwritten(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + 16)
    }

    /// Bytes that were written.
    pub fn written(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + 24)
    }

    /// One more than the rank whose write failed first; later windows are dropped.
    pub fn failed(&self) -> &AtomicU32 {
        self.memory().word(self.line(0) + 32)
    }

    /// Microseconds in the file system.
    pub fn busy(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + 40)
    }

    /// Of a call that is done again: the first window of the part that is being done.
    pub fn part(&self) -> &AtomicU64 {
        self.memory().long(self.line(1 + RANKS + PLACES))
    }

    /// The first window behind it that a rank has data for.
    pub fn upcoming(&self) -> &AtomicU64 {
        self.memory().long(self.line(1 + RANKS + PLACES) + 8)
    }

    /// The first window that a rank may still touch.
    pub fn position(&self, rank: Rank) -> &AtomicU64 {
        self.memory().long(self.line(1 + rank))
    }

    /// What pieces in a window add up to, by its place.
    pub fn sum(&self, windows: &Windows, number: u64) -> &AtomicU64 {
        self.memory().long(self.line(1 + RANKS + (number % windows.ring) as usize))
    }

    /// Bytes that were placed in a window; of a read, whose place it is: see [`super::taking`].
    pub fn held(&self, windows: &Windows, number: u64) -> &AtomicU64 {
        self.memory().long(self.line(1 + RANKS + (number % windows.ring) as usize) + 8)
    }

    /// The window that all ranks have come to.
    pub fn passed(&self, ranks: usize) -> u64 {
        (0..ranks).map(|rank| self.position(rank).load(Ordering::SeqCst)).min().unwrap_or(0)
    }

    /// Takes memory for a ring and its bits, and gets everything ready for a call. By the last rank to arrive at a meeting.
    ///
    /// # Errors
    /// The system's: there is no memory.
    pub fn prepare(&self, windows: &Windows, ranks: usize) -> std::io::Result<()> {
        let reserved = self.memory().long(self.line(0) + 48);
        let (have, bytes) = (reserved.load(Ordering::Acquire), windows.bytes());
        if bytes > have {
            let bits = self.shared.area() + CONTROL;
            // Whole words, with all of the one that the last byte is in.
            let (from, to) = (have / 64 * 8, bytes.div_ceil(64) * 8);
            self.memory().reserve(bits + from as usize, (to - from) as usize)?;
            self.memory().reserve(bits + MOST / 8 + have as usize, (bytes - have) as usize)?;
            reserved.store(bytes, Ordering::Release);
        }
        self.part().store(0, Ordering::Relaxed);
        self.upcoming().store(u64::MAX, Ordering::Relaxed);
        (0..ranks).for_each(|rank| self.position(rank).store(0, Ordering::Relaxed));
        for number in 0..windows.ring {
            self.sum(windows, number).store(0, Ordering::Relaxed);
            self.held(windows, number).store(0, Ordering::Relaxed);
        }
        self.writer().store(0, Ordering::Relaxed);
        self.again().store(0, Ordering::Relaxed);
        self.failed().store(0, Ordering::Relaxed);
        self.unwritten().store(0, Ordering::Relaxed);
        self.written().store(0, Ordering::Relaxed);
        self.busy().store(0, Ordering::Release);
        Ok(())
    }

    /// Maps the memory of a window in few steps before its bytes are touched one by one: reading a byte maps what lies
    /// around it.
    pub fn touch(&self, windows: &Windows, number: u64) {
        let end = ((number % windows.ring + 1) * windows.window) as usize;
        let mut at = self.touched.load(Ordering::Relaxed);
        while at < end {
            // SAFETY: reserved memory of the ring; the value is of no meaning.
            unsafe { self.ring().add(at).read_volatile() };
            at += AROUND;
        }
        self.touched.store(at, Ordering::Relaxed);
    }

    fn ring(&self) -> *mut u8 {
        self.memory().at(self.shared.area() + CONTROL + MOST / 8)
    }

    /// Where a byte of the file lies. The rank may touch its window, and the byte is before its end.
    #[inline]
    pub fn place(&self, windows: &Windows, offset: u64) -> *mut u8 {
        let place = windows.of(offset) % windows.ring * windows.window + (offset - windows.base) % windows.window;
        self.ring().wrapping_add(place as usize)
    }

    /// The bytes of an extent, which lies in windows whose places follow one another.
    ///
    /// # Safety
    /// Nobody changes them meanwhile.
    pub unsafe fn bytes(&self, windows: &Windows, extent: Extent) -> &[u8] {
        // SAFETY: within the ring, which is mapped and reserved; the caller's promise.
        unsafe { std::slice::from_raw_parts(self.place(windows, extent.offset), extent.len as usize) }
    }

    /// As [`Arena::bytes`], to be written.
    ///
    /// # Safety
    /// Nobody else uses them meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, windows: &Windows, extent: Extent) -> &mut [u8] {
        // SAFETY: within the ring, which is mapped and reserved; the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.place(windows, extent.offset), extent.len as usize) }
    }

    /// The word of bits that holds the byte at `offset`, and its number there.
    #[inline]
    fn bit(&self, windows: &Windows, offset: u64) -> (&AtomicU64, u64) {
        let place = windows.of(offset) % windows.ring * windows.window + (offset - windows.base) % windows.window;
        (self.memory().long(self.shared.area() + CONTROL + (place / 64 * 8) as usize), place % 64)
    }

    /// Marks bytes of one window as placed; returns whether some were already.
    #[inline]
    pub fn mark(&self, windows: &Windows, extent: Extent) -> bool {
        let (mut offset, mut left, mut twice) = (extent.offset, extent.len, false);
        while left > 0 {
            let (word, bit) = self.bit(windows, offset);
            let count = (64 - bit).min(left);
            let mask = (u64::MAX >> (64 - count)) << bit;
            twice |= word.fetch_or(mask, Ordering::AcqRel) & mask != 0;
            offset += count;
            left -= count;
        }
        twice
    }

    /// The runs of marked bytes of a window, which are marked no more then. By whoever writes it.
    pub fn take_runs(&self, windows: &Windows, extent: Extent, runs: &mut Vec<Extent>) {
        runs.clear();
        let (mut offset, mut left) = (extent.offset, extent.len);
        while left > 0 {
            let (word, bit) = self.bit(windows, offset);
            let count = (64 - bit).min(left);
            let mask = (u64::MAX >> (64 - count)) << bit;
            // Atomic, since a window of an odd size shares its last word with the next.
            let mut own = (word.fetch_and(!mask, Ordering::AcqRel) & mask) >> bit;
            let mut at = offset;
            while own != 0 {
                let skip = own.trailing_zeros() as u64;
                at += skip;
                own >>= skip;
                let len = own.trailing_ones() as u64;
                match runs.last_mut() {
                    Some(last) if last.end() == at => last.len += len,
                    _ => runs.push(Extent { offset: at, len }),
                }
                at += len;
                own = if len == 64 { 0 } else { own >> len };
            }
            offset += count;
            left -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_the_range() {
        let all = Windows::over(10, 3 * WINDOW + 5, 2 * WINDOW, 1);
        assert_eq!((all.base, all.window, all.ring, all.count()), (0, WINDOW, 2, 4));
        assert_eq!(all.extent(0), Extent { offset: 10, len: WINDOW - 10 });
        assert_eq!(all.extent(3), Extent { offset: 3 * WINDOW, len: 5 });
        assert_eq!(Windows::over(10, 20, 1 << 40, 1).ring, 1);
        assert_eq!(
            Windows::over(4096, 8192, 1 << 20, 4096),
            Windows { base: 4096, start: 4096, end: 8192, window: 4096, ring: 1 }
        );
    }
}
