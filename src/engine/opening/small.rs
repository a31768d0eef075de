//! Data that is small enough to travel with the opening: rank 0 writes what all have brought.

use crate::access::{BufferLayout, Extent, Extents, Source, Walk};
use crate::engine::shared::small;
use crate::engine::storage::{Failure, Storage};
use crate::topology::Rank;

/// Bytes of a rank's block, and of all blocks together.
const OF_ONE: u64 = 12 << 10;
const OF_ALL: usize = 56 << 10;
/// Bytes before a block: rank, extents.
const HEAD: usize = 16;
const EXTENT: usize = 16;

/// Blocks of ranks, one after the other: rank, number of extents, extents, their bytes. Or a note that they were too large.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocks {
    bytes: Vec<u8>,
    too_large: bool,
}

impl Blocks {
    /// A note that data stays where it is.
    pub fn too_large() -> Self {
        Self { bytes: Vec::new(), too_large: true }
    }

    /// A rank's data, if it is small.
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
        Walk::new(file, layout).until(u64::MAX, |piece| bytes.extend_from_slice(source.piece(piece.memory, piece.len)));
        Self { bytes, too_large: false }
    }

    /// Whether all data is here.
    pub fn are_all(&self) -> bool {
        !self.too_large
    }

    /// Those of others too.
    pub fn merge(&mut self, other: Self) {
        if self.too_large || other.too_large || self.bytes.len() + other.bytes.len() > OF_ALL {
            *self = Self::too_large();
            return;
        }
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// How many bytes follow, for [`Blocks::from`].
    pub fn len(&self) -> u64 {
        if self.too_large { u64::MAX } else { self.bytes.len() as u64 }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What others have sent.
    pub fn from(bytes: &[u8], len: u64) -> Self {
        match usize::try_from(len).ok().and_then(|len| bytes.get(..len)) {
            Some(bytes) => Self { bytes: bytes.to_vec(), too_large: false },
            None => Self::too_large(),
        }
    }

    /// Writes all of it: in the order of the file and joined, or where pieces overlap, in the order of ranks, so that the
    /// highest rank's bytes stay. `written` counts bytes.
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
