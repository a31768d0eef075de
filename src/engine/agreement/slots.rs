//! Small writes of ranks that share memory: each rank puts its data into its slot, and the last rank to arrive writes
//! the data of all ranks.

use std::cell::RefCell;

use super::on_host::BEHIND_FACTS;
use crate::access::{BufferLayout, Extent, Extents, Source, Walk};
use crate::engine::facts::Facts;
use crate::engine::facts::words::get;
use crate::engine::storage::{Storage, StorageFailure, write_all};
use crate::fabric::shared::{SLOT, Slots};

/// Offset of the extents in a slot, in bytes.
const EXTENTS: usize = BEHIND_FACTS;
/// Number of bytes of a slot for extents and data.
const ROOM: usize = SLOT - EXTENTS;
/// Number of bytes of an encoded extent in a slot.
const EXTENT: usize = 16;
/// An extent of the file, and its data in a slot.
type SlotPart<'a> = (Extent, &'a [u8]);

/// Returns true if the extents and the data of an access fit in a slot.
pub fn fits(file: &Extents) -> bool {
    file.count() <= (ROOM / EXTENT) as u64 && file.count() * EXTENT as u64 + file.bytes() <= ROOM as u64
}

/// Puts the extents and data of an access into this rank's slot, behind the facts. The access must fit ([`fits`]).
pub fn put(slot: &mut [u8], file: &Extents, layout: &BufferLayout, source: Source<'_>) {
    let (mut at, mut data) = (EXTENTS, EXTENTS + file.count() as usize * EXTENT);
    let mut extent = |slot: &mut [u8], offset: u64, len: u64| {
        slot[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        slot[at + 8..at + EXTENT].copy_from_slice(&len.to_le_bytes());
        at += EXTENT;
    };
    let mut bytes = |slot: &mut [u8], offset: u64, len: u64| {
        slot[data..data + len as usize].copy_from_slice(source.piece(offset, len));
        data += len as usize;
    };
    // A shortcut for one extent: starting two walks takes longer than the copy.
    if let (1, Some((start, end)), BufferLayout::Contiguous) = (file.count(), file.span(), layout) {
        extent(slot, start, end - start);
        return bytes(slot, 0, end - start);
    }
    file.iter().for_each(|one| extent(slot, one.offset, one.len));
    Walk::new(file, layout).visit_before(u64::MAX, |piece| bytes(slot, piece.memory, piece.len));
}

thread_local! {
    /// Reused by all calls of the thread, so that a small call allocates nothing.
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { parts: Vec::new(), joined: Vec::new() }) };
}

struct Scratch {
    parts: Vec<SlotPiece>,
    joined: Vec<u8>,
}

/// Writes the data in the slots of all ranks to the file. Joins adjacent pieces and writes in file order; if pieces
/// overlap, writes in rank order, so that the bytes of the highest rank stay. Adds to `written`, in bytes.
pub fn write(storage: &dyn Storage, slots: Slots<'_>, written: &mut u64) -> Result<(), StorageFailure> {
    SCRATCH.with_borrow_mut(|Scratch { parts, joined }| {
        parts.clear();
        for rank in 0..slots.ranks() {
            collect(rank, slots.slot(rank), parts);
        }
        write_parts(storage, parts, joined, |rank| slots.slot(rank), written)
    })
}

/// A piece of a rank's data: the rank, the extent of the file, and the offset of the piece in the rank's data, in
/// bytes.
pub type SlotPiece = (usize, Extent, usize);

/// Writes pieces like [`write()`]. Pieces are given in rank order, or in any order, in which case they are sorted. `of`
/// returns the data of a rank.
pub fn write_parts<'a>(
    storage: &dyn Storage,
    parts: &mut [SlotPiece],
    joined: &mut Vec<u8>,
    of: impl Fn(usize) -> &'a [u8],
    written: &mut u64,
) -> Result<(), StorageFailure> {
    let part = |&(rank, extent, at): &SlotPiece| (extent, &of(rank)[at..][..extent.len as usize]);
    let ascends = |parts: &[SlotPiece]| parts.windows(2).all(|pair| pair[0].1.end() <= pair[1].1.offset);
    if !ascends(parts) {
        parts.sort_unstable_by_key(|part| part.1.offset);
    }
    if ascends(parts) {
        return write_joined(storage, parts.iter().map(part), joined, written);
    }
    parts.sort_unstable_by_key(|&(rank, _, at)| (rank, at));
    let mut all = 0;
    for (extent, bytes) in parts.iter().map(part) {
        write_all(storage, bytes, extent.offset, &mut all)?;
    }
    *written += union(parts);
    Ok(())
}

fn collect(rank: usize, slot: &[u8], parts: &mut Vec<SlotPiece>) {
    // A rank that wrote its bytes before the agreement has no data in its slot.
    let count = get::<Facts>(slot).left.requests as usize;
    let mut data = EXTENTS + count * EXTENT;
    for place in slot[EXTENTS..].chunks_exact(EXTENT).take(count) {
        let (offset, len) = place.split_at(8);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let extent = Extent { offset: number(offset), len: number(len) };
        parts.push((rank, extent, data));
        data += extent.len as usize;
    }
}

/// Writes pieces; joins adjacent pieces into one write.
fn write_joined<'a>(
    storage: &dyn Storage,
    parts: impl Iterator<Item = SlotPart<'a>>,
    joined: &mut Vec<u8>,
    written: &mut u64,
) -> Result<(), StorageFailure> {
    let mut parts = parts.peekable();
    while let Some((extent, bytes)) = parts.next() {
        let mut end = extent.end();
        if parts.peek().is_none_or(|next| next.0.offset != end) {
            write_all(storage, bytes, extent.offset, written)?;
            continue;
        }
        joined.clear();
        joined.extend_from_slice(bytes);
        while let Some((next, bytes)) = parts.next_if(|next| next.0.offset == end) {
            joined.extend_from_slice(bytes);
            end = next.end();
        }
        write_all(storage, joined, extent.offset, written)?;
    }
    Ok(())
}

/// Returns the number of bytes of the file in at least one of the parts.
fn union(parts: &mut [SlotPiece]) -> u64 {
    parts.sort_unstable_by_key(|part| part.1.offset);
    let (mut covered, mut until) = (0, 0);
    for (_, extent, _) in parts.iter() {
        covered += extent.end().saturating_sub(extent.offset.max(until));
        until = until.max(extent.end());
    }
    covered
}
