//! Small data, which ranks contribute to the first agreement: rank 0 writes the data of all.

use crate::access::{BufferLayout, Extent, Extents, Source, Walk};
use crate::engine::shared::small;
use crate::engine::storage::{Failure, Storage};
use crate::topology::Rank;

/// Most bytes of a rank's block, and of all blocks together.
const OF_ONE: u64 = 12 << 10;
const OF_ALL: usize = 56 << 10;
/// Bytes before a block: rank, number of extents.
const HEAD: usize = 16;
const EXTENT: usize = 16;

/// The blocks of ranks, one after the other: rank, number of extents, extents, their bytes; or a mark that they are too large.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmallData {
    bytes: Vec<u8>,
    too_large: bool,
}

impl SmallData {
    /// The mark that the data is too large.
    pub fn too_large() -> Self {
        Self { bytes: Vec::new(), too_large: true }
    }

    /// The block of a rank, if its data is small.
    pub fn of(rank: Rank, file: &Extents, layout: &BufferLayout, source: Source<'_>) -> Self {
        let extents = file.count().saturating_mul(EXTENT as u64);
        if file.count() == 0 {
            return Self::default();
        }
        if extents.saturating_add(file.bytes()) > OF_ONE {
            return Self::too_large();
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
        Self { bytes, too_large: false }
    }

    /// Whether the blocks have all data.
    pub fn are_all(&self) -> bool {
        !self.too_large
    }

    /// Appends the blocks of other ranks.
    pub fn merge(&mut self, other: Self) {
        if self.too_large || other.too_large || self.bytes.len() + other.bytes.len() > OF_ALL {
            *self = Self::too_large();
            return;
        }
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// The length of the encoding, for [`SmallData::from`].
    pub fn len(&self) -> u64 {
        if self.too_large { u64::MAX } else { self.bytes.len() as u64 }
    }

    /// The encoding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The blocks from their encoding and its length.
    pub fn from(bytes: &[u8], len: u64) -> Self {
        match usize::try_from(len).ok().and_then(|len| bytes.get(..len)) {
            Some(bytes) => Self { bytes: bytes.to_vec(), too_large: false },
            None => Self::too_large(),
        }
    }

    /// Writes all blocks: in the order of the file, with adjacent pieces joined; or, if pieces overlap, in the order of ranks,
    /// so that the highest rank's bytes stay. `written` counts bytes.
    ///
    /// # Errors
    /// The first write that fails.
    pub fn write(&self, storage: &dyn Storage, written: &mut u64) -> Result<(), Failure> {
        let mut parts = Vec::new();
        let mut at = 0;
        let number = |at: usize| {
            self.bytes.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
        };
        while at + HEAD <= self.bytes.len() {
            let (rank, count) = (number(at) as Rank, number(at + 8) as usize);
            let (extents, mut data) = (at + HEAD, at + HEAD + count * EXTENT);
            for extent in (0..count).map(|index| extents + index * EXTENT) {
                let extent = Extent { offset: number(extent), len: number(extent + 8) };
                parts.push((rank, extent, data));
                data += extent.len as usize;
            }
            at = data;
        }
        small::write_parts(storage, &mut parts, &mut Vec::new(), |_| &self.bytes[..], written)
    }
}
