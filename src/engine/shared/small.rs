//! Calls that fit the slots of a meeting: every rank brings its bytes, and the last to arrive writes them all.

use std::cell::RefCell;

use super::opening::{LANES, Opening, ROOM};
use crate::access::{BufferLayout, Extent, Extents, Source, Walk};
use crate::engine::storage::{Failure, Storage, write_all};
use crate::fabric::shared::Slots;

/// Where extents begin in a slot.
const EXTENTS: usize = 8 * LANES;
/// Bytes of an extent there.
const EXTENT: usize = 16;
/// A piece of somebody's slot.
type Part<'a> = (Extent, &'a [u8]);

/// Whether an access fits.
pub fn fits(file: &Extents) -> bool {
    file.count() <= (ROOM / EXTENT) as u64 && file.count() * EXTENT as u64 + file.bytes() <= ROOM as u64
}

/// Puts an access that fits into this rank's slot, behind the opening.
pub fn put(slot: &mut [u8], file: &Extents, layout: &BufferLayout, source: Source<'_>) {
    let (mut at, mut data) = (EXTENTS, EXTENTS + file.count() as usize * EXTENT);
    for extent in file.iter() {
        slot[at..at + 8].copy_from_slice(&extent.offset.to_le_bytes());
        slot[at + 8..at + EXTENT].copy_from_slice(&extent.len.to_le_bytes());
        at += EXTENT;
    }
    Walk::new(file, layout).until(u64::MAX, |piece| {
        let len = piece.len as usize;
        slot[data..data + len].copy_from_slice(source.piece(piece.memory, piece.len));
        data += len;
    });
}

thread_local! {
    /// Kept, so that a small call allocates nothing.
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { parts: Vec::new(), joined: Vec::new() }) };
}

struct Scratch {
    parts: Vec<Brought>,
    joined: Vec<u8>,
}

/// Writes what all ranks brought: in the order of the file and joined, or where pieces overlap, in the order of ranks, so
/// that the highest rank's bytes stay. `written` counts bytes.
pub fn write(storage: &dyn Storage, slots: Slots<'_>, written: &mut u64) -> Result<(), Failure> {
    SCRATCH.with_borrow_mut(|Scratch { parts, joined }| {
        parts.clear();
        for rank in 0..slots.ranks() {
            collect(rank, slots.of(rank), parts);
        }
        write_parts(storage, parts, joined, |rank| slots.of(rank), written)
    })
}

/// A piece that a rank brought: the rank, the piece, and where its bytes are in what the rank brought.
pub type Brought = (usize, Extent, usize);

/// As [`write()`], of pieces in the order of the ranks; or, if not all are, to be sorted so. `of` is what a rank brought.
pub fn write_parts<'a>(
    storage: &dyn Storage,
    parts: &mut [Brought],
    joined: &mut Vec<u8>,
    of: impl Fn(usize) -> &'a [u8],
    written: &mut u64,
) -> Result<(), Failure> {
    let part = |&(rank, extent, at): &Brought| (extent, &of(rank)[at..][..extent.len as usize]);
    let ascends = |parts: &[Brought]| parts.windows(2).all(|pair| pair[0].1.end() <= pair[1].1.offset);
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

fn collect(rank: usize, slot: &[u8], parts: &mut Vec<Brought>) {
    let opening = Opening::get(slot);
    // A rank that has written its own by itself left nothing.
    if opening.bytes == 0 || opening.inline == u64::MAX {
        return;
    }
    let count = opening.inline as usize;
    let mut data = EXTENTS + count * EXTENT;
    for place in slot[EXTENTS..].chunks_exact(EXTENT).take(count) {
        let (offset, len) = place.split_at(8);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let extent = Extent { offset: number(offset), len: number(len) };
        parts.push((rank, extent, data));
        data += extent.len as usize;
    }
}

/// Pieces that adjoin are one write.
fn write_joined<'a>(
    storage: &dyn Storage,
    parts: impl Iterator<Item = Part<'a>>,
    joined: &mut Vec<u8>,
    written: &mut u64,
) -> Result<(), Failure> {
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

/// How many bytes of the file the parts cover.
fn union(parts: &mut [Brought]) -> u64 {
    parts.sort_unstable_by_key(|part| part.1.offset);
    let (mut covered, mut until) = (0, 0);
    for (_, extent, _) in parts.iter() {
        covered += extent.end().saturating_sub(extent.offset.max(until));
        until = until.max(extent.end());
    }
    covered
}
