//! Writes a trace as a file, whose layout the comment of [`super`] describes: the inverse of [`super::parse`].

use crate::error::PatternError;

use super::trace::{PeerBytes, Trace};

impl Trace {
    /// Returns the bytes of a file that [`Trace::from_bytes`] reads as this trace, not compressed. O(ranks * rounds +
    /// messages).
    ///
    /// # Errors
    /// A number does not fit the file's 32 bits, for example more than 2^31 - 1 bytes in a message.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PatternError> {
        let mut header = vec![self.number(self.ranks() as u64)?, self.number(self.rounds() as u64)?];
        let mut blocks = Vec::new();
        for rank in 0..self.ranks() {
            let before = blocks.len();
            self.half(&mut blocks, |round| self.sends(round, rank))?;
            self.half(&mut blocks, |round| self.receives(round, rank))?;
            header.push(self.number((blocks.len() - before) as u64)?);
        }
        Ok(header.into_iter().chain(blocks).flat_map(i32::to_le_bytes).collect())
    }

    /// Appends the sends or the receives of a rank to its block.
    fn half<'a>(&self, block: &mut Vec<i32>, of: impl Fn(usize) -> &'a [PeerBytes]) -> Result<(), PatternError> {
        for round in 0..self.rounds() {
            block.push(self.number(of(round).len() as u64)?);
        }
        for transfers in (0..self.rounds()).map(of) {
            for transfer in transfers {
                block.push(self.number(transfer.peer as u64)?);
            }
            for transfer in transfers {
                block.push(self.number(transfer.bytes)?);
            }
        }
        Ok(())
    }

    fn number(&self, value: u64) -> Result<i32, PatternError> {
        let wrong =
            |_| PatternError::input(self.name(), "file", format!("would hold {value}; allowed: 0 to {}", i32::MAX));
        i32::try_from(value).map_err(wrong)
    }
}
