//! The memory of one window.

use std::collections::TryReserveError;

use super::coverage::Coverage;

/// The memory of one window, and what of it is there.
#[derive(Debug, Default)]
pub struct WindowBuffer {
    /// The window's bytes.
    pub bytes: Vec<u8>,
    /// Which of them have data.
    pub coverage: Coverage,
}

impl WindowBuffer {
    /// Makes room for `len` bytes; what they hold is of no meaning until placed.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub fn reserve(&mut self, len: u64) -> Result<(), TryReserveError> {
        let missing = (len as usize).saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(missing)?;
        self.bytes.resize(self.bytes.len() + missing, 0);
        Ok(())
    }
}
