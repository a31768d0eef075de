//! A small write of many rounds, in which all ranks interleave, and the resulting file.

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tributary::{BufferLayout, CallReport, Extents, File, Result};

/// What every rank writes: `count` elements of `len` bytes, `pitch` apart for each rank.
#[derive(Debug, Clone, Copy)]
pub struct Interleaved {
    pub ranks: usize,
    pub len: u64,
    pub pitch: u64,
    pub count: u64,
}

impl Interleaved {
    /// No byte is left out.
    pub fn full(ranks: usize, len: u64, count: u64) -> Self {
        Self { ranks, len, pitch: len, count }
    }

    /// Half of the bytes are left out.
    pub fn with_holes(ranks: usize, len: u64, count: u64) -> Self {
        Self { ranks, len, pitch: 2 * len, count }
    }

    pub fn extents(&self, rank: usize) -> Extents {
        let stride = self.pitch * self.ranks as u64;
        Extents::strided(rank as u64 * self.pitch, self.len, stride as i64, self.count).unwrap()
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.pitch * self.ranks as u64 * self.count - (self.pitch - self.len)
    }

    pub fn bytes(&self) -> u64 {
        self.len * self.ranks as u64 * self.count
    }

    /// Writes this rank's part of generation `seed`. Collective.
    pub fn write(&self, file: &mut File, seed: u64) -> Result<CallReport> {
        let (extents, buffer) = self.part(file.endpoint().rank(), seed);
        file.write_all(&extents, &BufferLayout::Contiguous, &buffer)
    }

    /// Returns a rank's extents and buffer.
    pub fn part(&self, rank: usize, seed: u64) -> (Extents, Vec<u8>) {
        let extents = self.extents(rank);
        let buffer = extents.iter().flat_map(|e| e.offset..e.end()).map(|offset| value(offset, seed)).collect();
        (extents, buffer)
    }

    /// Asserts that `ranges` of the file hold what generation `seed` writes there, and nothing in its holes.
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

    /// Asserts that the file is just what generation `seed` makes.
    pub fn check_whole(&self, path: &Path, seed: u64, what: &str) {
        assert_eq!(std::fs::metadata(path).unwrap().len(), self.end(), "{what}: the file's length");
        self.check(path, std::slice::from_ref(&(0..self.end())), seed, what);
    }
}

/// Returns the byte at `offset` of generation `seed`; never 0, which stands for nothing.
fn value(offset: u64, seed: u64) -> u8 {
    ((offset + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1
}
