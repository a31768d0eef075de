//! Small data that ranks bring with the first agreement of a write: the rank that decides writes the data of all ranks.
//!
//! The data of a rank is a *block*: the rank, the number of extents, the extents and their bytes. It is the same in a
//! slot of shared memory and in a message.

use std::cell::RefCell;

use tributary_base::wire::frame::Encoder;
use tributary_base::wire::{Output, Wire};

use crate::access::{Access, BufferLayout, Extent, Extents, Source, Walk};
use crate::engine::choose::SMALL_OF_ONE;
use crate::engine::io::{Moved, Storage, StorageFailure, write_all};
use crate::topology::Rank;
use crate::world::process::per_thread;

/// Number of bytes of a block's head: rank, number of extents.
const HEAD: usize = 16;
/// Number of bytes of an encoded extent.
const EXTENT: usize = 16;

/// Returns the length of a rank's block in bytes; `None` if the access is too long to be brought.
pub fn block_len(file: &Extents) -> Option<usize> {
    let len = file.count().saturating_mul(EXTENT as u64).saturating_add(file.bytes());
    match file.count() {
        0 => Some(0),
        _ => (len <= SMALL_OF_ONE).then_some(HEAD + len as usize),
    }
}

/// The small data of one rank.
#[derive(Clone, Copy)]
pub struct OwnData<'a> {
    /// Rank that has the data.
    pub rank: Rank,
    /// Its extents in the file, and the memory with their bytes.
    pub access: Access<'a, Source<'a>>,
}

impl OwnData<'_> {
    /// Encodes the block of the rank; nothing if it has no bytes. Its length must not be above [`block_len`].
    pub fn encode(&self, out: &mut Encoder<'_>) {
        let Self { rank, access: Access { file, layout, memory: source } } = *self;
        if file.count() == 0 {
            return;
        }
        out.put(&(rank, file.count()));
        // A shortcut for one extent: starting two walks takes longer than the copy.
        if let (1, Some((start, end)), BufferLayout::Contiguous) = (file.count(), file.span(), layout) {
            out.put(&(start, end - start));
            return out.bytes(source.piece(0, end - start));
        }
        file.iter().for_each(|extent| out.put(&(extent.offset, extent.len)));
        Walk::new(file, layout).visit_before(u64::MAX, |piece| out.bytes(source.piece(piece.memory, piece.len)));
    }

    /// Adds the pieces of the rank, whose bytes are in its memory.
    fn add_pieces(&self, pieces: &mut Vec<SmallPiece>) {
        let Self { rank, access: Access { file, layout, .. } } = *self;
        let mut add = |extent, at| pieces.push(SmallPiece { rank, number: pieces.len(), extent, body: OWN, at });
        match (file.count(), file.span(), layout) {
            (0, ..) => {}
            (1, Some((start, end)), BufferLayout::Contiguous) => add(Extent { offset: start, len: end - start }, 0),
            _ => Walk::new(file, layout).visit_before(u64::MAX, |piece| {
                add(Extent { offset: piece.offset, len: piece.len }, piece.memory as usize);
            }),
        }
    }
}

/// A piece of small data: bytes of one rank that are contiguous in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallPiece {
    /// Rank that brought the piece.
    pub rank: Rank,
    /// Its number among all pieces; the pieces of a rank ascend.
    number: usize,
    /// Range of the file that the piece fills.
    pub extent: Extent,
    /// Index of the contribution that holds its bytes, or [`OWN`].
    body: usize,
    /// Offset of the piece's bytes in that contribution.
    at: usize,
}

/// Index of pieces whose bytes are in the memory of the rank that decides.
const OWN: usize = usize::MAX;

per_thread! {
    /// Reused by all calls of the thread, so that a small call allocates nothing.
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { pieces: Vec::new(), joined: Vec::new() }) };
}

#[derive(Default)]
struct Scratch {
    pieces: Vec<SmallPiece>,
    joined: Vec<u8>,
}

/// Writes the data of the rank that decides and the data in the contributions `others`, where it begins at the offsets
/// `starts`. Joins adjacent pieces and writes in file order; if pieces overlap, writes in rank order, so that the bytes
/// of the highest rank stay. Adds to `written`, in bytes.
///
/// # Errors
/// The first write that fails.
pub fn write(
    storage: &dyn Storage,
    own: Option<OwnData<'_>>,
    (others, starts): (&[&[u8]], &[u32]),
    written: &mut Moved,
) -> Result<(), StorageFailure> {
    // Take the memory instead of borrowing it: the write of the file may call this function on the same thread.
    let mut scratch = SCRATCH.take();
    let Scratch { pieces, joined } = &mut scratch;
    pieces.clear();
    if let Some(own) = &own {
        own.add_pieces(pieces);
    }
    for (index, (body, start)) in others.iter().zip(starts).enumerate() {
        add_pieces(index, body, *start as usize, pieces);
    }
    let bytes = |piece: &SmallPiece| match (&own, others.get(piece.body)) {
        (_, Some(body)) => piece.bytes(body),
        (Some(own), None) => own.access.memory.piece(piece.at as u64, piece.extent.len),
        (None, None) => &[],
    };
    let outcome = write_pieces(storage, pieces, joined, bytes, written);
    SCRATCH.set(scratch);
    outcome
}

/// Adds the pieces of the blocks in `body` from offset `at` on.
pub fn add_pieces(index: usize, body: &[u8], mut at: usize, pieces: &mut Vec<SmallPiece>) {
    while let Some((rank, count)) = body.get(at..).and_then(head) {
        let mut data = at + HEAD + count * EXTENT;
        for extent in extents(&body[at + HEAD..data]) {
            pieces.push(SmallPiece { rank, number: pieces.len(), extent, body: index, at: data });
            data += extent.len as usize;
        }
        at = data;
    }
}

impl SmallPiece {
    /// Returns the bytes of the piece in its contribution.
    pub fn bytes<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        &body[self.at..][..self.extent.len as usize]
    }
}

/// Writes pieces like [`write()`]. `bytes` returns the bytes of a piece.
fn write_pieces<'a>(
    storage: &dyn Storage,
    pieces: &mut [SmallPiece],
    joined: &mut Vec<u8>,
    bytes: impl Fn(&SmallPiece) -> &'a [u8],
    written: &mut Moved,
) -> Result<(), StorageFailure> {
    if let [piece] = pieces {
        return write_all(storage, bytes(piece), piece.extent.offset, written);
    }
    let ascend = |pieces: &[SmallPiece]| pieces.windows(2).all(|two| two[0].extent.end() <= two[1].extent.offset);
    if !ascend(pieces) {
        pieces.sort_unstable_by_key(|piece| piece.extent.offset);
    }
    if ascend(pieces) {
        return write_joined(storage, pieces, joined, bytes, written);
    }
    let all = union(pieces);
    pieces.sort_unstable_by_key(|piece| (piece.rank, piece.number));
    let mut each = Moved::default();
    for piece in pieces.iter() {
        write_all(storage, bytes(piece), piece.extent.offset, &mut each)?;
    }
    *written = Moved { bytes: written.bytes + all, calls: written.calls + each.calls };
    Ok(())
}

/// Writes ascending pieces; joins adjacent pieces into one write.
fn write_joined<'a>(
    storage: &dyn Storage,
    pieces: &[SmallPiece],
    joined: &mut Vec<u8>,
    bytes: impl Fn(&SmallPiece) -> &'a [u8],
    written: &mut Moved,
) -> Result<(), StorageFailure> {
    for run in pieces.chunk_by(|piece, next| piece.extent.end() == next.extent.offset) {
        let offset = run[0].extent.offset;
        if let [piece] = run {
            write_all(storage, bytes(piece), offset, written)?;
            continue;
        }
        joined.clear();
        run.iter().for_each(|piece| joined.extend_from_slice(bytes(piece)));
        write_all(storage, joined, offset, written)?;
    }
    Ok(())
}

/// Returns the number of bytes of the file in at least one of the pieces, which are sorted by offset.
fn union(pieces: &[SmallPiece]) -> u64 {
    let (mut covered, mut until) = (0, 0);
    for SmallPiece { extent, .. } in pieces {
        covered += extent.end().saturating_sub(extent.offset.max(until));
        until = until.max(extent.end());
    }
    covered
}

/// Decodes extents until the end of `places`.
fn extents(mut places: &[u8]) -> impl Iterator<Item = Extent> {
    std::iter::from_fn(move || <(u64, u64)>::decode(&mut places)).map(|(offset, len)| Extent { offset, len })
}

/// Returns the rank and the number of extents of the first block; `None` at the end.
fn head(mut bytes: &[u8]) -> Option<(Rank, usize)> {
    Wire::decode(&mut bytes)
}

/// Returns the number of bytes of data in blocks; `None` if a block is damaged or an extent ends beyond 2^63 - 1.
pub fn data_of_blocks(mut bytes: &[u8]) -> Option<u64> {
    let mut all = 0u64;
    while !bytes.is_empty() {
        let (_, count) = head(bytes)?;
        let (places, data) = bytes[HEAD..].split_at_checked(count.checked_mul(EXTENT)?)?;
        let mut own = 0u64;
        for Extent { offset, len } in extents(places) {
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
    use tributary_base::wire::frame;

    use super::*;
    use crate::access::Source;

    fn block(rank: Rank, file: &Extents, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 14];
        let access = Access { file, layout: &BufferLayout::Contiguous, memory: Source::from(data) };
        frame::put(&mut bytes, |out| OwnData { rank, access }.encode(out));
        frame::get(&bytes).to_vec()
    }

    /// Numbers in a message are checked before they are used: a number of extents that overflows or is far too large,
    /// an extent past the last byte of any file, data that is cut.
    #[test]
    fn damaged_blocks_are_data_that_did_not_come() {
        let file = Extents::strided(5, 3, 10, 4).unwrap();
        let good = block(2, &file, &[7; 12]);
        assert_eq!((data_of_blocks(&good), block_len(&file)), (Some(12), Some(good.len())));
        let mut pieces = Vec::new();
        add_pieces(0, &good, 0, &mut pieces);
        assert_eq!(pieces.len(), 4);
        let damaged = |at: usize, number: u64| {
            let mut bytes = good.clone();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            data_of_blocks(&bytes)
        };
        for count in [0, 3, 5, 1 << 60, u64::MAX / 16 + 2, u64::MAX] {
            assert_ne!(damaged(8, count), Some(12), "{count} extents");
        }
        for (at, number) in [(HEAD, u64::MAX), (HEAD, i64::MAX as u64), (HEAD + 8, u64::MAX), (HEAD + 8, 4)] {
            assert_ne!(damaged(at, number), Some(12), "{number} at {at}");
        }
        for len in [0, 1, HEAD, good.len() - 1] {
            assert_ne!(data_of_blocks(&good[..len]), Some(12), "{len} bytes");
        }
        assert_eq!(data_of_blocks(&[]), Some(0));
    }
}
