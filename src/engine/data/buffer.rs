//! The memory of one window.

use std::io;

use crate::engine::data::coverage::Coverage;
use crate::fabric::pool::Block;

/// The memory of one window, and what of it is there.
#[derive(Debug, Default)]
pub struct WindowBuffer {
    /// The window's bytes.
    pub bytes: Block,
    /// Which of them have data.
    pub coverage: Coverage,
}

impl WindowBuffer {
    /// Makes room for `len` bytes; what they hold is of no meaning until placed.
    ///
    /// # Errors
    /// Memory that is not to be had.
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
