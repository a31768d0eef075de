//! One extent: the unit of every access.

/// `len` bytes at `offset` of the file. An extent that the library returns ends below 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Extent {
    /// One past the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}
