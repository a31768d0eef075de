//! The geometry of windows in shared memory: their size, their number and their places in memory.

use super::{CACHED_RING, WINDOW, WINDOWS_AHEAD};
use crate::access::Extent;
use crate::engine::facts::words::words;

/// Maximum number of bytes of the ring.
pub const LARGEST_RING: usize = 64 << 20;
/// Maximum number of windows in the ring.
pub const PLACES: usize = 256;

words! {
    /// The windows of a call through shared memory, equal on all ranks. Window k begins in the file at
    /// `base + k * window`; in memory it has index `k mod ring`.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct CallWindows {
        /// Offset of the first window in the file.
        pub base: u64,
        /// Offset of the first byte of data in the file.
        pub start: u64,
        /// End of the data in the file.
        pub end: u64,
        /// Number of bytes of a window.
        pub window: u64,
        /// Number of windows in the ring.
        pub ring: u64,
    }
}

impl CallWindows {
    /// Returns windows over `start..end` of the file, in a ring of up to `memory` bytes. `unit` is the number of bytes
    /// that the file system locks together.
    pub fn over(start: u64, end: u64, memory: u64, unit: u64) -> Self {
        let window = if unit > 1 && unit <= LARGEST_RING as u64 / 2 { unit } else { WINDOW.min(memory.max(1)) };
        let base = start - start % window;
        let wanted = (end - base).div_ceil(window);
        let memory = memory.min(LARGEST_RING as u64).min(CACHED_RING.max(WINDOWS_AHEAD * window));
        let ring = (memory / window).clamp(1, PLACES as u64).min(wanted.max(1));
        Self { base, start, end, window, ring }
    }

    /// Returns the number of windows of the call.
    pub fn count(&self) -> u64 {
        (self.end - self.base).div_ceil(self.window)
    }

    /// Returns the number of the window that holds a byte of the file.
    #[inline]
    pub fn number_at(&self, offset: u64) -> u64 {
        (offset - self.base) / self.window
    }

    /// Returns the position in the ring of the first byte of window `number`.
    #[inline]
    pub fn first_place(&self, number: u64) -> u64 {
        number % self.ring * self.window
    }

    /// Returns the position in the ring of the byte at `offset` of the file.
    #[inline]
    pub fn place(&self, offset: u64) -> u64 {
        self.first_place(self.number_at(offset)) + (offset - self.base) % self.window
    }

    /// Returns the bytes of window `number` that lie between start and end of the data.
    pub fn extent(&self, number: u64) -> Extent {
        let from = self.base + number * self.window;
        let (start, end) = (from.max(self.start), (from + self.window).min(self.end));
        Extent { offset: start, len: end.saturating_sub(start) }
    }

    /// Returns the number of bytes of the ring.
    pub fn bytes(&self) -> u64 {
        self.ring * self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_the_range() {
        let all = CallWindows::over(10, 3 * WINDOW + 5, 2 * WINDOW, 1);
        assert_eq!((all.base, all.window, all.ring, all.count()), (0, WINDOW, 2, 4));
        assert_eq!(all.extent(0), Extent { offset: 10, len: WINDOW - 10 });
        assert_eq!(all.extent(3), Extent { offset: 3 * WINDOW, len: 5 });
        assert_eq!(CallWindows::over(10, 20, 1 << 40, 1).ring, 1);
        assert_eq!(
            CallWindows::over(4096, 8192, 1 << 20, 4096),
            CallWindows { base: 4096, start: 4096, end: 8192, window: 4096, ring: 1 }
        );
    }
}
