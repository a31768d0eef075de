//! An extent: a range of bytes of a file.

/// A range of bytes of a file. Every extent that the library returns ends below 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// Offset of the first byte, in bytes.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Extent {
    /// Returns the offset of the first byte behind the extent.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}
