//! Memory of one window of an aggregator.

use std::io;

use bytes::Bytes;

use crate::engine::storage::coverage::Coverage;
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
}
