//! Small data that ranks send with the first agreement of a write over hosts: rank 0 writes the data of all ranks.

use super::slots;
use crate::access::{BufferLayout, Extent, Extents, Source, Walk};
use crate::engine::policy::SMALL_OF_ONE;
use crate::engine::storage::{Storage, StorageFailure};
use crate::topology::Rank;

/// Maximum number of bytes of a rank's block, with its head.
pub const OF_ONE_RANK: usize = SMALL_OF_ONE as usize + HEAD;
/// Number of bytes of a block's head: rank, number of extents.
const HEAD: usize = 16;
const EXTENT: usize = 16;

/// The encoded data of ranks, one block after the other. A block is the rank, the number of extents, the extents and
/// their data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmallData {
    bytes: Vec<u8>,
}

impl SmallData {
    /// Returns the block of a rank; `None` if its data is too long.
    pub fn from_access(rank: Rank, file: &Extents, layout: &BufferLayout, source: Source<'_>) -> Option<Self> {
        let extents = file.count().saturating_mul(EXTENT as u64);
        if file.count() == 0 {
            return Some(Self::default());
        }
        if extents.saturating_add(file.bytes()) > SMALL_OF_ONE {
            return None;
        }
        let mut bytes = Vec::with_capacity(HEAD + (extents + file.bytes()) as usize);
        let mut put = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
        put(rank as u64);
        put(file.count());
        for extent in file.iter() {
            put(extent.offset);
            put(extent.len);
        }
        Walk::new(file, layout)
            .visit_before(u64::MAX, |piece| bytes.extend_from_slice(source.piece(piece.memory, piece.len)));
        Some(Self { bytes })
    }

    /// Appends the blocks of other ranks.
    pub fn append(&mut self, other: Self) {
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Returns the encoded blocks.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Decodes blocks from other ranks; `None` unless they are whole blocks with `left` bytes of data.
    pub fn from(bytes: &[u8], left: u64) -> Option<Self> {
        (data_of_blocks(bytes) == Some(left)).then(|| Self { bytes: bytes.to_vec() })
    }

    /// Returns the pieces of all blocks as (rank, extent of the file, offset of the piece's data in the encoding).
    pub fn pieces(&self) -> Vec<(Rank, Extent, usize)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some((rank, count)) = head(&self.bytes[at..]) {
            let mut data = at + HEAD + count * EXTENT;
            for place in self.bytes[at + HEAD..data].chunks_exact(EXTENT) {
                let extent = Extent { offset: number(place), len: number(&place[8..]) };
                pieces.push((rank, extent, data));
                data += extent.len as usize;
            }
            at = data;
        }
        pieces
    }

    /// Writes the data of all blocks to the file. Joins adjacent pieces and writes in file order; if pieces overlap,
    /// writes in rank order, so that the bytes of the highest rank stay. Adds to `written`, in bytes.
    ///
    /// # Errors
    /// The first write that fails.
    pub fn write(&self, storage: &dyn Storage, written: &mut u64) -> Result<(), StorageFailure> {
        slots::write_parts(storage, &mut self.pieces(), &mut Vec::new(), |_| &self.bytes[..], written)
    }
}

/// Returns the integer in the first 8 bytes; 0 if there are fewer.
fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Returns the rank and the number of extents of the first block; `None` at the end.
fn head(bytes: &[u8]) -> Option<(Rank, usize)> {
    let head = bytes.get(..HEAD)?;
    Some((number(head) as Rank, number(&head[8..]) as usize))
}

/// Returns the number of bytes of data in blocks; `None` if a block is damaged or an extent ends beyond 2^63 - 1.
fn data_of_blocks(mut bytes: &[u8]) -> Option<u64> {
    let mut all = 0u64;
    while !bytes.is_empty() {
        let (_, count) = head(bytes)?;
        let (places, data) = bytes[HEAD..].split_at_checked(count.checked_mul(EXTENT)?)?;
        let mut own = 0u64;
        for place in places.chunks_exact(EXTENT) {
            let (offset, len) = (number(place), number(&place[8..]));
            offset.checked_add(len).filter(|end| *end <= i64::MAX as u64)?;
            own = own.checked_add(len)?;
        }
        bytes = data.get(usize::try_from(own).ok()?..)?;
        all += own;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in a message are checked before they are used: a number of extents that overflows or is far too large,
    /// an extent behind the last byte of any file, data that is cut.
    #[test]
    fn damaged_blocks_are_data_that_did_not_come() {
        let file = Extents::strided(5, 3, 10, 4).unwrap();
        let source = [7u8; 12];
        let good = SmallData::from_access(2, &file, &BufferLayout::Contiguous, Source::from(&source[..])).unwrap();
        assert_eq!(SmallData::from(good.bytes(), 12).as_ref(), Some(&good));
        assert_eq!(good.pieces().len(), 4);
        let damaged = |at: usize, number: u64| {
            let mut bytes = good.bytes().to_vec();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            SmallData::from(&bytes, 12)
        };
        for count in [0, 3, 5, 1 << 60, u64::MAX / 16 + 2, u64::MAX] {
            assert!(damaged(8, count).is_none(), "{count} extents");
        }
        for (at, number) in [(HEAD, u64::MAX), (HEAD, i64::MAX as u64), (HEAD + 8, u64::MAX), (HEAD + 8, 4)] {
            assert!(damaged(at, number).is_none(), "{number} at {at}");
        }
        for len in [0, 1, HEAD, good.bytes().len() - 1] {
            assert!(SmallData::from(&good.bytes()[..len], 12).is_none(), "{len} bytes");
        }
        assert!(SmallData::from(good.bytes(), 13).is_none() && SmallData::from(&[], 0).is_some());
    }
}
