//! Each rank's memory in a replay, with gaps between the data that must not change.

use tributary::access::walk::pieces;
use tributary::access::{BufferLayout, Extent, Extents, Piece};
use tributary_benchmarks::{Pattern, PatternError, RankAccess};

use crate::cli::replay::MemoryLayout;

/// Value of the bytes in the gaps of a rank's memory.
pub const CANARY: u8 = 0xc5;
/// Number of bytes of each gap before, between and after extents with `--buffer noncontiguous`, as in MPICH's issue
/// 6985.
const GAP: u64 = 16;

/// A rank's access in one call, and its memory.
pub struct PreparedAccess {
    /// Extents in the file and in `buffer`.
    pub access: RankAccess,
    /// Memory of the rank: the data at its offsets, and [`CANARY`] in all gaps.
    pub buffer: Vec<u8>,
}

/// Kind of contents of a rank's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferContents {
    /// Bytes that the rank writes.
    Written,
    /// Bytes that a read returns after all ranks have written.
    Read,
}

/// Makes the rank's memory for one call.
///
/// # Errors
/// Errors of the pattern.
pub fn prepare(
    pattern: &dyn Pattern,
    rank: usize,
    step: usize,
    asked: Option<MemoryLayout>,
    bytes: BufferContents,
) -> Result<PreparedAccess, PatternError> {
    let access = laid_out(pattern.rank_access(rank, step)?, asked)?;
    let mut data = vec![0; access.file.bytes() as usize];
    match bytes {
        BufferContents::Written => pattern.fill(rank, step, &mut data)?,
        BufferContents::Read => pattern.fill_as_read(rank, step, &mut data)?,
    }
    let buffer = match access.layout {
        BufferLayout::Contiguous => data,
        BufferLayout::Extents(_) => {
            let mut buffer = access.scatter(&data, CANARY)?;
            buffer.resize(buffer.len() + GAP as usize, CANARY);
            buffer
        }
    };
    Ok(PreparedAccess { access, buffer })
}

impl PreparedAccess {
    /// Returns the memory before a read: every byte of the data is wrong, and the gaps are right.
    pub fn inverted(&self) -> Vec<u8> {
        let mut buffer = self.buffer.clone();
        for piece in pieces(&self.access.file, &self.access.layout) {
            buffer[piece.memory as usize..][..piece.len as usize].iter_mut().for_each(|byte| *byte = !*byte);
        }
        buffer
    }

    /// Returns a description of the first wrong byte of `got`; none if all are right.
    pub fn difference(&self, got: &[u8]) -> Option<String> {
        if got == self.buffer {
            return None;
        }
        let at = (0..got.len()).find(|&at| got[at] != self.buffer[at])?;
        let there = |piece: &Piece| (piece.memory..piece.memory + piece.len).contains(&(at as u64));
        let place = match pieces(&self.access.file, &self.access.layout).find(there) {
            Some(piece) => format!("at file offset {}", piece.offset + (at as u64 - piece.memory)),
            None => "in a gap".to_string(),
        };
        Some(format!("byte {at} of the buffer, {place}, is {}, but must be {}", got[at], self.buffer[at]))
    }
}

/// Returns the access with the memory layout that `asked` names. `noncontiguous` takes O(extents) time, and memory for
/// the irregular parts.
///
/// # Errors
/// A buffer beyond 2^63 - 1 bytes.
pub fn laid_out(access: RankAccess, asked: Option<MemoryLayout>) -> Result<RankAccess, PatternError> {
    let layout = match asked {
        None => return Ok(access),
        Some(MemoryLayout::Contiguous) => BufferLayout::Contiguous,
        Some(MemoryLayout::Noncontiguous) => {
            let apart = access.file.iter().scan(GAP, |at, extent| {
                let offset = *at;
                *at += extent.len + GAP;
                Some(Extent { offset, len: extent.len })
            });
            BufferLayout::Extents(Extents::from_list(apart)?)
        }
    };
    Ok(RankAccess { layout, ..access })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary_benchmarks::E3smF;

    #[test]
    fn gaps_are_before_between_and_behind_the_extents() {
        let case = E3smF::shipped().unwrap();
        let plain = prepare(&case, 3, 0, Some(MemoryLayout::Contiguous), BufferContents::Written).unwrap();
        let apart = prepare(&case, 3, 0, Some(MemoryLayout::Noncontiguous), BufferContents::Written).unwrap();
        let extents = plain.access.file.count() as usize;
        assert_eq!(apart.buffer.len(), plain.buffer.len() + (extents + 1) * GAP as usize);
        let (mut at, mut from) = (0, 0);
        for extent in plain.access.file.iter() {
            assert!(apart.buffer[at..at + 16].iter().all(|&byte| byte == CANARY));
            let len = extent.len as usize;
            assert_eq!(apart.buffer[at + 16..][..len], plain.buffer[from..][..len]);
            (at, from) = (at + 16 + len, from + len);
        }
        assert!(apart.buffer[at..].iter().all(|&byte| byte == CANARY));
    }

    #[test]
    fn every_wrong_byte_is_found_and_named() {
        let case = E3smF::shipped().unwrap();
        let expected = prepare(&case, 5, 0, Some(MemoryLayout::Noncontiguous), BufferContents::Written).unwrap();
        assert_eq!(expected.difference(&expected.buffer), None);
        let first = expected.access.file.iter().next().unwrap();
        let unread = expected.difference(&expected.inverted()).unwrap();
        assert!(unread.starts_with(&format!("byte 16 of the buffer, at file offset {},", first.offset)), "{unread}");
        for at in [0, 15, 16 + first.len as usize, expected.buffer.len() - 1] {
            let mut touched = expected.buffer.clone();
            touched[at] = 0;
            let found = expected.difference(&touched).unwrap();
            assert_eq!(found, format!("byte {at} of the buffer, in a gap, is 0, but must be {CANARY}"));
        }
    }
}
