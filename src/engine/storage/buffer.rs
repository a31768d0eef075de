//! The memory of one window.

use std::io;

use bytes::Bytes;

use crate::engine::storage::coverage::Coverage;
use crate::fabric::pool::Block;

/// Bytes of a window that lie in a message, or in the caller's memory.
#[derive(Debug)]
pub struct PieceOfWindow {
    /// Their place in the window.
    pub position: u64,
    /// The bytes; at least one.
    pub bytes: Bytes,
}

/// The memory of one window, and which of its bytes have data.
#[derive(Debug, Default)]
pub struct WindowBuffer {
    /// The window's bytes.
    pub bytes: Block,
    /// Which of the bytes have data.
    pub coverage: Coverage,
    /// In place of the bytes of a window that is full: its pieces, ascending, when it is written.
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
