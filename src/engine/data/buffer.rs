//! The memory of one window.

use std::io;

use crate::engine::data::coverage::Coverage;
use crate::fabric::pool::Block;

/// The memory of one window, and which of its bytes have data.
#[derive(Debug, Default)]
pub struct WindowBuffer {
    /// The window's bytes.
    pub bytes: Block,
    /// Which of the bytes have data.
    pub coverage: Coverage,
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
