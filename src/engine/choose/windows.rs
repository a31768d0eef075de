//! The windows into which a call divides the file: those in shared memory, with their places there, and those of
//! aggregators in an exchange by messages.

use tributary_base::wire;

use crate::access::{AccessStats, Direction, Extent};
use crate::engine::choose::learned::{Paces, best_windows};
use crate::engine::choose::{
    CACHED_RING, COPIED, LEAST_EXCHANGED, LEAST_LEARNED, MESSAGE_IN_WINDOW, MOST_WRITERS, WINDOW, WINDOWS_AHEAD,
    WINDOWS_IN_CALL,
};

/// Maximum number of bytes of the ring of windows in shared memory.
pub const LARGEST_RING: usize = 64 << 20;
/// Maximum number of windows in the ring in shared memory.
pub const PLACES: usize = 256;

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

wire::fields!(struct CallWindows { base, start, end, window, ring });

impl CallWindows {
    /// Returns windows over `start..end` of the file, in a ring of up to `memory` bytes. `unit` is the number of bytes
    /// that the file system locks together.
    ///
    /// If the file is slow, ranks fill windows while others are written, so there are more windows at a time. `slow_call` is then
    /// the time of a call on the file in nanoseconds; 0 leaves the size of windows as it is.
    pub fn over((start, end): (u64, u64), memory: u64, unit: u64, slow_call: Option<u64>) -> Self {
        let (most, writers) = (memory.min(LARGEST_RING as u64), u64::from(MOST_WRITERS));
        let (window, aligned) = match slow_call {
            _ if unit > 1 && unit <= LARGEST_RING as u64 / 2 => (unit, unit),
            Some(call) if call > 0 && most >= writers * WINDOW => {
                let len = end - (start - start % PAGE);
                let window = len.div_ceil(rounds_if_slow(len, call) * writers).next_multiple_of(PAGE);
                (window.clamp(WINDOW, most / writers / PAGE * PAGE), PAGE)
            }
            _ => (WINDOW.min(memory.max(1)), WINDOW.min(memory.max(1))),
        };
        let base = start - start % aligned;
        let wanted = (end - base).div_ceil(window);
        let cached = if slow_call.is_some() { u64::MAX } else { CACHED_RING.max(WINDOWS_AHEAD * window) };
        let memory = most.min(cached);
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

/// Returns the number of windows of each writer for which a write of `bytes` bytes to a file whose calls take `call` nanoseconds
/// takes least time. With n windows it takes n of these times, and the first windows are filled while nothing is written: so the
/// best n is the root of the time to fill all by the time of a call.
fn rounds_if_slow(bytes: u64, call: u64) -> u64 {
    (bytes / COPIED.saturating_mul(call).max(1)).isqrt().max(1)
}

/// Plans the windows of calls through shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowPlanner {
    /// Number of bytes of shared memory for windows.
    pub memory: u64,
    /// Number of bytes of shared memory for windows of a slow file.
    pub memory_if_slow: u64,
    /// Number of bytes that the file system locks together.
    pub lock_unit: u64,
    /// Minimum number of bytes of a write that bypasses the page cache (direct I/O); `None` if no write does.
    pub direct_from: Option<u64>,
}

impl WindowPlanner {
    /// Returns the windows of a call whose ranks still have the bytes of `left` to write or read, in a file that may be slow: see
    /// [`CallWindows::over`].
    pub fn over(&self, left: &AccessStats, direction: Direction, slow_call: Option<u64>) -> CallWindows {
        let is_long = left.bytes >= self.unit().saturating_mul(WINDOWS_AHEAD);
        let unit = if is_long { self.unit() } else { self.lock_unit };
        // Many ranks read at a time: short windows serve.
        let slow_call = slow_call.map(|call| if direction == Direction::Write { call } else { 0 });
        let memory = if slow_call.is_some() { self.memory_if_slow } else { self.memory };
        CallWindows::over((left.start.min(left.end), left.end), memory, unit, slow_call)
    }

    /// Returns the number of bytes that should lie in one window: those that the file system locks together, and for
    /// direct I/O at least `direct_from`.
    pub fn unit(&self) -> u64 {
        self.direct_from.map_or(self.lock_unit, |from| from.next_multiple_of(self.lock_unit))
    }
}

/// Maximum number of windows of an aggregator that are in memory at a time, if no hint sets the number.
const MOST_OPEN: u64 = 8;

/// Maximum number of windows of the largest size that an aggregator has in memory. With two, the file often waits for a
/// window, because all aggregators and their messages share links.
pub const LARGEST_OPEN: u64 = 4;

/// Size of a page in the cache of a file system, in bytes: windows that no hint sets are whole pages.
const PAGE: u64 = 4 << 10;

/// The windows of aggregators in one call, equal on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeWindows {
    /// Maximum number of bytes of a window.
    pub window: u64,
    /// Number of windows of an aggregator that are in memory at a time: one is filled, others are written, or were read
    /// ahead.
    pub open: usize,
}

impl ExchangeWindows {
    /// Returns the windows of a call in which `senders` ranks send `amount` to `aggregators` aggregators. An aggregator
    /// has up to four windows of `largest` bytes in memory, or smaller ones that take no more. `unit` bytes lie in one
    /// window if they fit.
    ///
    /// Each aggregator gets several windows, so that it fills one while it writes others. More windows cost more messages: a
    /// rank sends one for each window in which it has bytes. If `learned` has the paces of an earlier call, and the cost of a
    /// window in nanoseconds, the number of windows follows from them.
    pub fn of(
        amount: &AccessStats,
        (senders, aggregators): (usize, usize),
        (largest, unit): (u64, u64),
        learned: Option<(Paces, u64)>,
    ) -> Self {
        let AccessStats { bytes, .. } = *amount;
        let (range, bytes, aggregators) = (amount.span().max(1), bytes.max(1), aggregators as u64);
        // Windows include the holes between data: a window with `least` bytes of data is longer.
        let with_holes = |least: u64| {
            let least = u128::from(least) * u128::from(range.max(bytes)) / u128::from(bytes);
            u64::try_from(least).unwrap_or(u64::MAX)
        };
        let (wanted, least) = match learned {
            None => (WINDOWS_IN_CALL, MESSAGE_IN_WINDOW.saturating_mul(senders as u64).max(LEAST_EXCHANGED)),
            Some((paces, cost)) => (best_windows(paces.nanos(bytes / aggregators), cost), LEAST_LEARNED),
        };
        let window = range.div_ceil(aggregators.saturating_mul(wanted)).max(with_holes(least));
        // Otherwise two windows would have bytes in one page, and the second one would read what the first has written.
        let window = window.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX).max(unit).min(largest);
        Self { window, open: (LARGEST_OPEN * largest / window).clamp(2, MOST_OPEN) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn windows_cover_the_range() {
        let all = CallWindows::over((10, 3 * WINDOW + 5), 2 * WINDOW, 1, None);
        assert_eq!((all.base, all.window, all.ring, all.count()), (0, WINDOW, 2, 4));
        assert_eq!(all.extent(0), Extent { offset: 10, len: WINDOW - 10 });
        assert_eq!(all.extent(3), Extent { offset: 3 * WINDOW, len: 5 });
        assert_eq!(CallWindows::over((10, 20), 1 << 40, 1, None).ring, 1);
        let [cached, ahead] =
            [None, Some(0)].map(|slow| CallWindows::over((0, 64 * WINDOW), 16 * WINDOW, 1, slow).ring);
        assert_eq!((cached, ahead), (CACHED_RING / WINDOW, 16));
        let slow = |len, call| {
            let all = CallWindows::over((5, 5 + len), 16 * MIB, 1, Some(call));
            (all.window, all.count())
        };
        assert_eq!(slow(10 * MIB, 20_000_000), ((10 * MIB / 4) + PAGE, 4), "each writer has one");
        assert_eq!(slow(10 * MIB, 2_000_000), ((10 * MIB / 8) + PAGE, 8), "ranks fill one while another is written");
        assert_eq!(slow(2 * MIB, 20_000_000), (MIB, 3), "no shorter than usual");
        assert_eq!(slow(1 << 40, 1 << 40), (4 * MIB, (1 << 18) + 1), "memory for one of each writer");
        assert_eq!(
            CallWindows::over((4096, 8192), 1 << 20, 4096, None),
            CallWindows { base: 4096, start: 4096, end: 8192, window: 4096, ring: 1 }
        );
    }

    #[test]
    fn windows_follow_from_the_data() {
        let of = |span, bytes, senders, unit| {
            let amount = AccessStats { start: 0, end: span, bytes, ..AccessStats::NONE };
            let ExchangeWindows { window, open } = ExchangeWindows::of(&amount, (senders, 4), (16 * MIB, unit), None);
            (window, open)
        };
        assert_eq!(of(128 * MIB, 128 * MIB, 16, 1), (MIB, 8), "32 for each aggregator");
        assert_eq!(of(2 * MIB, 2 * MIB, 4, 1), (LEAST_EXCHANGED, 8), "no smaller than a call on the file is worth");
        assert_eq!(of(32 * MIB, 32 * MIB, 128, 1), (4 * MIB, 8), "no smaller than messages are worth");
        assert_eq!(of(32 * MIB, 8 * MIB, 64, 1), (8 * MIB, 8), "holes make windows longer, not messages larger");
        assert_eq!(of(4096 * MIB, 4096 * MIB, 16, 1), (16 * MIB, 4), "no larger than the largest");
        assert_eq!(of(32 * MIB, 32 * MIB, 16, 8 * MIB), (8 * MIB, 8), "what is locked together");
        assert_eq!(of(0, 0, 1, u64::MAX), (16 * MIB, 4), "a unit beyond all windows");
    }
    #[test]
    fn windows_follow_from_what_was_measured() {
        let amount = AccessStats { start: 0, end: 32 * MIB, bytes: 32 * MIB, ..AccessStats::NONE };
        // 8 MiB of an aggregator take 82 ms in messages.
        let of = |file| {
            let paces = Paces { exchange: 10_000, file };
            ExchangeWindows::of(&amount, (16, 4), (16 * MIB, 1), Some((paces, 500_000))).window
        };
        assert_eq!(of(10_000), (8 * MIB / 12).next_multiple_of(PAGE), "both take as long");
        assert_eq!(of(0), 8 * MIB, "there is nothing to overlap");
        assert_eq!(of(1 << 40), (8 * MIB / 12).next_multiple_of(PAGE), "the shorter time decides");
    }
}
