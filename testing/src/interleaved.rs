//! A small write of many rounds, in which the pieces of all ranks interleave, and the resulting file.

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tributary::{BufferLayout, CallReport, Extents, File, Result};

/// A pattern in which every rank writes `count` elements of `len` bytes; the elements of neighbouring ranks are
/// `pitch` bytes apart.
#[derive(Debug, Clone, Copy)]
pub struct Interleaved {
    pub ranks: usize,
    pub len: u64,
    pub pitch: u64,
    pub count: u64,
}

impl Interleaved {
    /// Creates a pattern without holes.
    pub fn full(ranks: usize, len: u64, count: u64) -> Self {
        Self { ranks, len, pitch: len, count }
    }

    /// Creates a pattern in which holes follow all elements, half of the bytes.
    pub fn with_holes(ranks: usize, len: u64, count: u64) -> Self {
        Self { ranks, len, pitch: 2 * len, count }
    }

    pub fn extents(&self, rank: usize) -> Extents {
        let stride = self.pitch * self.ranks as u64;
        Extents::strided(rank as u64 * self.pitch, self.len, stride as i64, self.count).unwrap()
    }

    /// Returns the offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.pitch * self.ranks as u64 * self.count - (self.pitch - self.len)
    }

    pub fn bytes(&self) -> u64 {
        self.len * self.ranks as u64 * self.count
    }

    /// Writes this rank's part; the bytes depend on `seed`. Collective.
    pub fn write(&self, file: &mut File, seed: u64) -> Result<CallReport> {
        let (extents, buffer) = self.part(file.endpoint().rank(), seed);
        file.write_all(&extents, &BufferLayout::Contiguous, &buffer)
    }

    /// Returns a rank's extents and buffer; the bytes depend on `seed`.
    pub fn part(&self, rank: usize, seed: u64) -> (Extents, Vec<u8>) {
        let extents = self.extents(rank);
        let buffer = extents.iter().flat_map(|e| e.offset..e.end()).map(|offset| value(offset, seed)).collect();
        (extents, buffer)
    }

    /// Asserts that `ranges` of the file have the bytes that a write with `seed` makes, and zeros in holes.
    pub fn check(&self, path: &Path, ranges: &[Range<u64>], seed: u64, what: &str) {
        let file = std::fs::File::open(path).unwrap();
        for range in ranges {
            let mut got = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut got, range.start).unwrap();
            for (offset, got) in (range.start..).zip(got) {
                let expected = if offset % self.pitch < self.len { value(offset, seed) } else { 0 };
                assert_eq!(got, expected, "{what}: byte {offset}");
            }
        }
    }

    /// Asserts that the whole file has the bytes that a write with `seed` makes.
    pub fn check_whole(&self, path: &Path, seed: u64, what: &str) {
        assert_eq!(std::fs::metadata(path).unwrap().len(), self.end(), "{what}: the file's length");
        self.check(path, std::slice::from_ref(&(0..self.end())), seed, what);
    }
}

/// Returns the byte at `offset` in a write with `seed`; never 0, which stands for a hole.
fn value(offset: u64, seed: u64) -> u8 {
    ((offset + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1
}
