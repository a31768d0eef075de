//! Times an aggregator's work on access lists and bytes, on one rank.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tributary::Extent;
use tributary::access::{Packed, PackedCursor};

/// Number of bytes that are copied at once: more than caches hold for one core.
pub const COPIED: usize = 16 << 20;
/// Number of extents in all lists. An extent has `PIECE` bytes; `STRIDE` bytes lie from one to the next.
pub const EXTENTS: u64 = 50_000;
const PIECE: u64 = 16;
const STRIDE: u64 = 48;
/// Number of lists that are merged.
pub const LISTS: u64 = 16;

/// Bytes and lists of the benchmark, allocated once.
pub struct MergedLists {
    from: Vec<u8>,
    window: Vec<u8>,
    lists: Vec<Packed>,
}

impl Default for MergedLists {
    fn default() -> Self {
        let list = |first: u64| {
            let extents = (0..EXTENTS / LISTS).map(|at| Extent { offset: (at * LISTS + first) * STRIDE, len: PIECE });
            extents.collect::<Packed>()
        };
        Self { from: vec![1; COPIED], window: vec![2; COPIED], lists: (0..LISTS).map(list).collect() }
    }
}

impl MergedLists {
    /// Copies [`COPIED`] bytes and returns the time.
    pub fn copy(&mut self) -> Duration {
        let begin = Instant::now();
        self.window.copy_from_slice(black_box(&self.from));
        black_box(&mut self.window);
        begin.elapsed()
    }

    /// Copies [`EXTENTS`] small pieces to their offsets in a window and returns the time.
    pub fn visit(&mut self) -> Duration {
        let mut cursors: Vec<_> = self.lists.iter().cloned().map(PackedCursor::new).collect();
        let begin = Instant::now();
        for cursor in &mut cursors {
            let mut at = 0;
            while let Some(Extent { offset, len }) = cursor.take_before(u64::MAX) {
                let (to, len) = (offset as usize, len as usize);
                self.window[to..to + len].copy_from_slice(&self.from[at..at + len]);
                at += len;
            }
        }
        black_box(&mut self.window);
        begin.elapsed()
    }

    /// Merges [`LISTS`] lists of [`EXTENTS`] extents in all and returns the time.
    pub fn merge(&mut self) -> Duration {
        let mut cursors: Vec<_> = self.lists.iter().cloned().map(PackedCursor::new).collect();
        let begin = Instant::now();
        let mut all = Vec::new();
        for (cursor, member) in cursors.iter_mut().zip(0u64..) {
            while let Some(extent) = cursor.take_before(u64::MAX) {
                all.push((extent, member));
            }
        }
        all.sort_unstable();
        black_box(&mut all);
        begin.elapsed()
    }
}
