//! Splits an access into pieces that are contiguous both in the file and in memory.

use super::extent::Extent;
use super::extents::Extents;
use crate::error::{Error, Result};

/// The layout of the caller's buffer: which of its bytes belong to the access.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BufferLayout {
    /// The bytes lie one after the other from the start of the buffer.
    #[default]
    Contiguous,
    /// The bytes lie at these extents of the buffer, in sequence; offsets count from the start of the buffer.
    Extents(Extents),
}

impl BufferLayout {
    /// Checks that the layout has exactly `bytes` bytes and fits in a buffer of `buffer` bytes. O(1).
    ///
    /// # Errors
    /// [`Error::Argument`] if it does not.
    pub fn check(&self, bytes: u64, buffer: usize) -> Result<()> {
        let (laid_out, end) = match self {
            Self::Contiguous => (bytes, bytes),
            Self::Extents(extents) => (extents.bytes(), extents.span().map_or(0, |(_, end)| end)),
        };
        if laid_out != bytes {
            return Err(Error::argument("buffer layout", format!("{laid_out} bytes"), format!("{bytes}, as the view")));
        }
        if end > buffer as u64 {
            return Err(Error::argument("buffer", format!("{buffer} bytes"), format!("{end} or more")));
        }
        Ok(())
    }
}

/// A part of an access that is contiguous in the file and in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Offset of the first byte in the file, in bytes.
    pub offset: u64,
    /// Offset of the first byte in the caller's buffer, in bytes.
    pub memory: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Piece {
    /// Returns the piece without its first `len` bytes.
    #[inline]
    pub fn behind(self, len: u64) -> Self {
        Self { offset: self.offset + len, memory: self.memory + len, len: self.len - len }
    }
}

/// Iterates over the pieces of an access, in the order of `file`. O(1) time each, O(1) memory.
pub fn pieces<'a>(file: &'a Extents, layout: &'a BufferLayout) -> impl Iterator<Item = Piece> + 'a {
    pieces_of_extents(file, layout).map(|(_, piece)| piece)
}

/// Iterates over the pieces of an access as [`pieces`] does, each with the offset of the file extent that the piece
/// is a part of.
pub fn pieces_of_extents<'a>(file: &'a Extents, layout: &'a BufferLayout) -> impl Iterator<Item = (u64, Piece)> + 'a {
    let mut memory: Box<dyn Iterator<Item = Extent> + 'a> = match layout {
        BufferLayout::Contiguous => Box::new(std::iter::once(Extent { offset: 0, len: file.bytes() })),
        BufferLayout::Extents(extents) => Box::new(extents.iter()),
    };
    let mut source = Extent { offset: 0, len: 0 };
    let mut files = file.iter();
    let (mut target, mut extent) = (Extent { offset: 0, len: 0 }, 0);
    std::iter::from_fn(move || {
        if target.len == 0 {
            target = files.next()?;
            extent = target.offset;
        }
        if source.len == 0 {
            source = memory.next()?;
        }
        let len = target.len.min(source.len);
        let piece = Piece { offset: target.offset, memory: source.offset, len };
        for side in [&mut target, &mut source] {
            *side = Extent { offset: side.offset + len, len: side.len - len };
        }
        Some((extent, piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_cut_each_other() {
        let file = Extents::strided(100, 4, 10, 3).unwrap();
        let layout = BufferLayout::Extents(Extents::strided(1, 6, 7, 2).unwrap());
        let got: Vec<_> = pieces(&file, &layout).map(|p| (p.offset, p.memory, p.len)).collect();
        assert_eq!(got, [(100, 1, 4), (110, 5, 2), (112, 8, 2), (120, 10, 4)]);
        assert!(layout.check(12, 14).is_ok());
        assert!(layout.check(12, 13).is_err());
        assert!(layout.check(11, 99).is_err());
    }
}
