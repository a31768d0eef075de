//! The bytes of a rank that collective writes have buffered. They stay in memory until a thread has written them to the file.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::engine::io::window_queue::PieceOfWindow;
use crate::engine::io::write_behind::call::CallOnFile;
use crate::engine::io::{MOST_PARTS, Moved, Storage, StorageFailure, guarded, write_all, write_all_pieces};
use crate::error::FileOperation;
use crate::fabric::pool::Block;

/// Maximum number of bytes that one write to the file has.
pub const MOST_AT_ONCE: u64 = 16 << 20;
/// Number of bytes to which [`LeftQueue::hull`] is rounded, so that it seldom changes.
const ROUND: u64 = 1 << 20;
/// Number of bytes of the budget that a piece takes besides its own bytes.
pub const PIECE: u64 = 128;

/// Bytes that follow one another in the file, and belong to one call.
pub struct LeftBytes {
    /// Offset of the bytes in the file.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// The collective write whose bytes they are, for errors.
    pub call: CallOnFile,
    /// The bytes, in pieces by their positions.
    pieces: Vec<PieceOfWindow>,
}

impl LeftBytes {
    fn end(&self) -> u64 {
        self.offset + self.len
    }

    fn cost(&self) -> u64 {
        self.len + PIECE * self.pieces.len() as u64
    }

    /// Returns true if `len` bytes of a call at `offset` can be one write with these.
    fn is_followed_by(&self, offset: u64, len: u64, call: CallOnFile) -> bool {
        self.end() == offset
            && self.call.number == call.number
            && self.len + len <= MOST_AT_ONCE
            && self.pieces.len() < MOST_PARTS
    }

    /// Writes the bytes to the file.
    ///
    /// # Errors
    /// The failure of the storage.
    pub fn write(&self, file: &dyn Storage) -> Result<(), StorageFailure> {
        let mut written = Moved::default();
        guarded(FileOperation::Write, self.offset, || match &self.pieces[..] {
            [all] => write_all(file, &all.bytes, self.offset, &mut written),
            pieces => write_all_pieces(file, pieces, self.offset, &mut written),
        })
    }

    /// Copies the bytes from `offset` on, which lies in them, into `bytes`. Returns their number.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> usize {
        let from = offset - self.offset;
        let first = self.pieces.partition_point(|piece| piece.position <= from).saturating_sub(1);
        let (mut skipped, mut copied) = ((from - self.pieces[first].position) as usize, 0);
        for piece in &self.pieces[first..] {
            let here = &piece.bytes[std::mem::take(&mut skipped)..];
            let len = here.len().min(bytes.len() - copied);
            bytes[copied..copied + len].copy_from_slice(&here[..len]);
            copied += len;
        }
        copied
    }
}

/// Part of the file with buffered bytes.
struct LeftRange {
    end: u64,
    /// The bytes; `None` while they are copied.
    bytes: Option<Arc<LeftBytes>>,
}

/// Where this rank finds the bytes from an offset on.
pub enum Found {
    /// In this rank's memory.
    Here(Arc<LeftBytes>),
    /// In the file, up to this offset.
    File(u64),
}

/// All buffered bytes of a rank on one file.
#[derive(Default)]
pub struct LeftQueue {
    /// Buffered parts of the file that are not written, by their start. No two of them overlap.
    ranges: BTreeMap<u64, LeftRange>,
    /// Starts of the parts that no thread writes yet, in the order of the writes.
    waiting: VecDeque<u64>,
    /// Number of bytes of the budget that all parts take.
    used: u64,
}

impl LeftQueue {
    /// Returns the number of bytes of the budget that are used.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the number of parts that no thread writes yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if bytes of `range` are not written.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        self.ranges.range(..range.end).next_back().is_some_and(|(_, part)| part.end > range.start)
    }

    /// Returns the range from the first byte that is not written to the last, in round numbers.
    pub fn hull(&self) -> Range<u64> {
        match (self.ranges.first_key_value(), self.ranges.last_key_value()) {
            (Some((&start, _)), Some((_, last))) => {
                start / ROUND * ROUND..last.end.div_ceil(ROUND).saturating_mul(ROUND)
            }
            _ => 0..0,
        }
    }

    /// Reserves `range`, which has no buffered bytes; the caller copies the bytes afterwards.
    pub fn take_range(&mut self, range: &Range<u64>) {
        self.ranges.insert(range.start, LeftRange { end: range.end, bytes: None });
        self.used += range.end - range.start + PIECE;
    }

    /// Gives back the `len` bytes at `offset` that were reserved and not added.
    pub fn give_back(&mut self, offset: u64, len: u64) {
        self.ranges.remove(&offset);
        self.used -= len + PIECE;
    }

    /// Adds the bytes of a reserved range; joins them to the bytes added last, if they follow these. Returns false, and
    /// gives the range back, if there is no memory for the lists.
    pub fn add(&mut self, offset: u64, bytes: Bytes, call: CallOnFile) -> bool {
        let len = bytes.len() as u64;
        if let Some(part) = self.waiting.back().and_then(|start| self.ranges.get_mut(start))
            // Do not add to bytes that a rank is reading.
            && let Some(last) = part.bytes.as_mut().and_then(Arc::get_mut)
            && last.is_followed_by(offset, len, call)
            && last.pieces.try_reserve(1).is_ok()
        {
            last.pieces.push(PieceOfWindow { position: last.len, bytes });
            last.len += len;
            part.end = last.end();
            self.ranges.remove(&offset);
            return true;
        }
        let mut pieces = Vec::new();
        if pieces.try_reserve(1).and_then(|()| self.waiting.try_reserve(1)).is_err() {
            self.give_back(offset, len);
            return false;
        }
        pieces.push(PieceOfWindow { position: 0, bytes });
        let left = Arc::new(LeftBytes { offset, len, call, pieces });
        self.ranges.insert(offset, LeftRange { end: left.end(), bytes: Some(left) });
        self.waiting.push_back(offset);
        true
    }

    /// Returns the next bytes to write. They stay until [`LeftQueue::written`].
    pub fn next(&mut self) -> Option<Arc<LeftBytes>> {
        let offset = self.waiting.pop_front()?;
        self.ranges.get(&offset).and_then(|part| part.bytes.clone())
    }

    /// Removes bytes that are in the file, or failed.
    pub fn written(&mut self, left: &LeftBytes) {
        self.ranges.remove(&left.offset);
        self.used -= left.cost();
    }

    /// Returns where the bytes from `offset` on are; `None` while they are copied.
    pub fn find(&self, offset: u64) -> Option<Found> {
        if let Some((_, part)) = self.ranges.range(..=offset).next_back().filter(|(_, part)| part.end > offset) {
            return part.bytes.clone().map(Found::Here);
        }
        let next = self.ranges.range(offset..).next();
        Some(Found::File(next.map_or(u64::MAX, |(&start, _)| start)))
    }
}

/// Copies the first `len` bytes of `parts`.
///
/// # Errors
/// The system has no memory left.
pub fn copy(parts: &[IoSlice<'_>], len: usize) -> io::Result<Bytes> {
    let mut block = Block::take(len)?;
    block.set_len(len);
    let mut to = &mut block[..];
    for part in parts {
        let taken = part.len().min(to.len());
        to[..taken].copy_from_slice(&part[..taken]);
        to = &mut to[taken..];
    }
    Ok(block.into_message())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: CallOnFile = CallOnFile { name: "write", number: 1 };

    fn leave(queue: &mut LeftQueue, offset: u64, bytes: &[u8], call: CallOnFile) {
        queue.take_range(&(offset..offset + bytes.len() as u64));
        assert!(queue.add(offset, Bytes::copy_from_slice(bytes), call));
    }

    /// Returns the 12 first bytes of the file as a rank sees them, with a dot for each byte that only the file has.
    fn seen(queue: &LeftQueue) -> String {
        let (mut all, mut at) = (vec![b'.'; 12], 0);
        while at < all.len() {
            at += match queue.find(at as u64).unwrap() {
                Found::Here(left) => left.read(at as u64, &mut all[at..]),
                Found::File(until) => (until as usize).min(all.len()) - at,
            };
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn bytes_are_found_until_they_are_written() {
        let mut queue = LeftQueue::default();
        leave(&mut queue, 2, b"ab", CALL);
        leave(&mut queue, 4, b"cde", CALL);
        leave(&mut queue, 8, b"fg", CALL);
        assert_eq!((&*seen(&queue), queue.waiting(), queue.used()), ("..abcde.fg..", 2, 7 + 3 * PIECE));
        let first = queue.next().unwrap();
        assert_eq!((first.offset, first.len, first.pieces.len()), (2, 5, 2), "adjacent bytes are one write");
        assert_eq!(seen(&queue), "..abcde.fg..", "also while they are written");
        queue.written(&first);
        assert_eq!((&*seen(&queue), queue.used()), ("........fg..", 2 + PIECE));
        assert!(queue.overlaps(&(9..10)) && queue.overlaps(&(0..9)) && !queue.overlaps(&(0..8)));
        let last = queue.next().unwrap();
        queue.written(&last);
        assert_eq!((&*seen(&queue), queue.used(), queue.next().is_none()), ("............", 0, true));
    }

    /// Bytes of two calls are two writes: their errors have names of their own. Bytes that someone reads do not change.
    #[test]
    fn bytes_of_other_calls_are_written_apart() {
        let mut queue = LeftQueue::default();
        leave(&mut queue, 0, b"ab", CALL);
        leave(&mut queue, 2, b"cd", CallOnFile { number: 2, ..CALL });
        let Some(Found::Here(read)) = queue.find(3) else { panic!("not found") };
        leave(&mut queue, 4, b"ef", CallOnFile { number: 2, ..CALL });
        assert_eq!((&*seen(&queue), queue.waiting(), read.len), ("abcdef......", 3, 2));
    }

    #[test]
    fn a_range_that_is_copied_is_taken() {
        let mut queue = LeftQueue::default();
        queue.take_range(&(4..8));
        assert!(queue.find(5).is_none() && matches!(queue.find(0), Some(Found::File(4))));
        assert!(queue.overlaps(&(7..9)) && queue.next().is_none());
        queue.give_back(4, 4);
        assert!(matches!(queue.find(5), Some(Found::File(u64::MAX))) && queue.used() == 0);
    }
}
