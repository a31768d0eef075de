//! Memory of one window of an aggregator.

use std::io;

use bytes::Bytes;

use crate::drivers::Window;
use crate::engine::storage::present::Coverage;
use crate::engine::storage::sieve::{Segment, Sieve};
use crate::engine::storage::{Storage, StorageFailure, write_all_pieces};
use crate::fabric::pool::Block;

/// Bytes of a window that lie in a message or in the caller's memory.
#[derive(Debug)]
pub struct PieceOfWindow {
    /// Position of the bytes in the window.
    pub position: u64,
    /// The bytes, at least one.
    pub bytes: Bytes,
}

/// Memory of one window of an aggregator, and the marks of bytes with data.
#[derive(Debug, Default)]
pub struct WindowBuffer {
    /// Bytes of the window.
    pub bytes: Block,
    /// Marks of the bytes that have data.
    pub coverage: Coverage,
    /// If a full window is written without a copy: its pieces, ascending; `bytes` is then unused.
    pub pieces: Vec<PieceOfWindow>,
}

impl WindowBuffer {
    /// Makes room for `len` bytes, which have no defined value yet.
    ///
    /// # Errors
    /// The system has no memory left.
    pub fn reserve(&mut self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        if len > self.bytes.capacity() {
            self.bytes = Block::default();
            self.bytes = Block::take(len)?;
        }
        self.bytes.set_len(len.max(self.bytes.len()));
        Ok(())
    }

    /// Writes the bytes of a window that are present, like [`Segment::write`].
    pub fn write(
        &mut self,
        storage: &dyn Storage,
        window: Window,
        sieve: Sieve,
        written: &mut u64,
    ) -> Result<(), StorageFailure> {
        if !self.pieces.is_empty() {
            return self.write_pieces(storage, window, written);
        }
        self.for_each_segment(window, |mut segment| segment.write(storage, sieve, written))
    }

    /// Writes a window from its pieces, which fill it.
    fn write_pieces(&self, storage: &dyn Storage, window: Window, written: &mut u64) -> Result<(), StorageFailure> {
        let (mut pieces, mut end) = (&self.pieces[..], 0);
        for extent in window.segments() {
            end += extent.len;
            let (here, behind) = pieces.split_at(pieces.partition_point(|piece| piece.position < end));
            write_all_pieces(storage, here, extent.offset, written)?;
            pieces = behind;
        }
        Ok(())
    }

    /// Reads the bytes of a window that ranks want, like [`Segment::read`].
    pub fn read(&mut self, storage: &dyn Storage, window: Window, sieve: Sieve) -> Result<(), StorageFailure> {
        self.for_each_segment(window, |mut segment| segment.read(storage, sieve))
    }

    fn for_each_segment(
        &mut self,
        window: Window,
        mut act: impl FnMut(Segment<'_, Coverage>) -> Result<(), StorageFailure>,
    ) -> Result<(), StorageFailure> {
        let mut first = 0;
        for extent in window.segments() {
            let bytes = &mut self.bytes[first as usize..][..extent.len as usize];
            act(Segment { offset: extent.offset, bytes, present: &self.coverage, first })?;
            first += extent.len;
        }
        Ok(())
    }
}
