//! An extent: a range of bytes of a file.

/// `len` bytes at `offset` of the file. Every extent that the library returns ends below 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Extent {
    /// Returns the offset after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}
