//! The lists of extents that a rank has for each aggregator, and the cursors over them.
//!
//! A [`Flow`] moves, window by window, over the packed list of extents that one rank has for one aggregator. Sender and aggregator
//! have the same list, so both know the size of every message. A flow moves forward only: all rounds together cost O(extents).
//!
//! **Zero-copy sends.** A rank's data for an aggregator in one round is often contiguous in the caller's memory, because the
//! program, or a library such as PnetCDF, packs data before it writes. Such a message lies in the caller's memory: it needs no copy
//! and no new pages ([`ZeroCopySends`]). The same holds for an aggregator's own pieces, if it writes a window directly from pieces.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use bytes::Bytes;

use crate::access::memory::copy_to;
use crate::access::packed::Summary;
use crate::access::{Extent, Packed, PackedCursor, Sink, Source};
use crate::drivers::{Domains, Window};
use crate::engine::choose::WORTH_ZERO_COPY;
use crate::engine::io::window_queue::PieceOfWindow;
use crate::fabric::Message;
use crate::fabric::pool::Block;
use crate::topology::Rank;
use crate::world::{self, Work};

/// The extents of a flow in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    /// Number of bytes of these extents.
    pub bytes: u64,
    /// Highest end of the extents in the file; the window's start if there are none.
    pub end: u64,
    /// Number of extents.
    pub extents: u64,
}

/// A cursor over the packed list of one rank for one aggregator. It moves window by window.
#[derive(Debug, Clone)]
pub struct Flow {
    aggregator: usize,
    cursor: PackedCursor,
}

impl Flow {
    /// Returns the flow over the list for `aggregator`, at the first extent.
    pub fn new(aggregator: usize, packed: Packed) -> Self {
        Self { aggregator, cursor: PackedCursor::new(packed) }
    }

    /// Returns the index of the aggregator.
    pub fn aggregator(&self) -> usize {
        self.aggregator
    }

    /// Returns the next window in which this flow has bytes.
    pub fn window(&self, domains: &Domains) -> Option<Window> {
        self.cursor.peek().map(|extent| domains.window(self.aggregator, extent.offset))
    }

    /// Moves past all extents in `window`. Returns their number, their bytes and their highest end.
    pub fn pass(&mut self, window: &Window) -> Advanced {
        self.pass_each(window, |_| ())
    }

    /// Moves past all extents in `window` like [`Flow::pass`], and calls `note` with each.
    #[inline]
    pub fn pass_each(&mut self, window: &Window, mut note: impl FnMut(Extent)) -> Advanced {
        let mut passed = Advanced { bytes: 0, end: window.start, extents: 0 };
        while let Some(extent) = self.cursor.take_before(window.end) {
            passed.bytes += extent.len;
            passed.end = extent.end();
            passed.extents += 1;
            note(extent);
        }
        passed
    }

    /// Returns number of extents, bytes and range of the whole list.
    pub fn summary(&self) -> Summary {
        self.cursor.summary()
    }

    /// Returns the offset of the next extent in the file.
    pub fn next_offset(&self) -> Option<u64> {
        self.cursor.peek().map(|extent| extent.offset)
    }

    /// Returns the next extent in `window`, and moves past it; `None` when there are no more.
    #[inline]
    pub fn next_in(&mut self, window: &Window) -> Option<Extent> {
        self.cursor.take_before(window.end)
    }
}

/// The bytes that this rank sends to one aggregator (or gets from it): extents in the file, and the extents of the same
/// bytes in the caller's buffer.
#[derive(Debug, Clone)]
pub struct Outflow {
    /// Cursor over the extents in the file.
    pub file: Flow,
    memory: PackedCursor,
}

impl Outflow {
    /// Returns the outflow over the two lists of [`crate::engine::exchange::flatten::ListsToSend`].
    pub fn new(aggregator: usize, file: Packed, memory: Packed) -> Self {
        Self { file: Flow::new(aggregator, file), memory: PackedCursor::new(memory) }
    }

    /// Returns the extent of the next `bytes` bytes in the buffer, if they are contiguous there. Call it after
    /// [`Flow::pass`] has passed their window.
    pub fn whole(&self, bytes: u64) -> Option<Extent> {
        self.memory.peek().filter(|piece| piece.len >= bytes).map(|piece| Extent { len: bytes, ..piece })
    }

    /// Copies the next `bytes` bytes of the buffer to the start of `rest`, and moves `rest` past them. Call it after
    /// [`Flow::pass`] has passed their window.
    pub fn pack(&mut self, bytes: u64, source: Source<'_>, rest: &mut &mut [u8]) {
        let mut pieces = 0;
        self.memory_pieces(bytes, |piece| {
            append(rest, source.piece(piece.offset, piece.len));
            pieces += 1;
        });
        world::work(pieces, bytes);
    }

    /// Moves past the next `bytes` bytes of the buffer. Call it after [`Flow::pass`] has passed their windows.
    pub fn skip(&mut self, bytes: u64) {
        self.memory_pieces(bytes, |_| ());
    }

    /// Sets the next `bytes` bytes of the buffer to 0. Call it after [`Flow::pass`] has passed their windows.
    pub fn clear(&mut self, bytes: u64, mut sink: Sink<'_>) {
        self.memory_pieces(bytes, |piece| sink.piece(piece.offset, piece.len).fill(0));
    }

    /// Calls `part` with each extent in the buffer of the next `left` bytes. Call it after [`Flow::pass`] has passed
    /// their windows.
    #[inline]
    pub fn memory_pieces(&mut self, mut left: u64, mut part: impl FnMut(Extent)) {
        while left > 0
            && let Some(piece) = self.memory.take(left)
        {
            part(piece);
            left -= piece.len;
        }
    }

    /// Copies this flow's bytes of a window from the buffer into the window. For a rank that is the aggregator itself.
    pub fn place(&mut self, window: &Window, source: Source<'_>, into: &mut [u8]) {
        let met = self.meet(window, |position, piece| copy(into, position, source.piece(piece.offset, piece.len)));
        world::work(met.extents, met.bytes);
    }

    /// Adds this flow's bytes of a window to the pieces of the window, without a copy. For a rank that is the
    /// aggregator itself.
    pub fn divide(&mut self, window: &Window, zero_copy: &ZeroCopySends<'_>, pieces: &mut Vec<PieceOfWindow>) {
        let met = self.meet(window, |position, piece| {
            pieces.push(PieceOfWindow { position, bytes: zero_copy.message_of(piece) })
        });
        world::work(met.extents, 0);
    }

    /// Copies this flow's bytes of a window from the window to the buffer. For a rank that is the aggregator itself.
    pub fn take(&mut self, window: &Window, from: &[u8], mut sink: Sink<'_>) {
        let met = self.meet(window, |position, piece| {
            copy_to(sink.piece(piece.offset, piece.len), &from[position as usize..][..piece.len as usize]);
        });
        world::work(met.extents, met.bytes);
    }

    /// Calls `part(position in the window, extent in the buffer)` for each part of this flow's bytes that is contiguous
    /// in both. Returns the number of parts, and of their bytes.
    fn meet(&mut self, window: &Window, mut part: impl FnMut(u64, Extent)) -> Work {
        let mut met = Work::default();
        while let Some(extent) = self.file.next_in(window) {
            let mut position = window.position(extent.offset);
            let mut left = extent.len;
            while left > 0
                && let Some(piece) = self.memory.take(left)
            {
                part(position, piece);
                position += piece.len;
                left -= piece.len;
                met.extents += 1;
            }
            met.bytes += extent.len;
        }
        met
    }

    /// Copies a message with the next bytes of this flow to the buffer. Call it after [`Flow::pass`] has passed their
    /// window.
    pub fn scatter(&mut self, message: &[u8], mut sink: Sink<'_>) {
        let (mut rest, mut pieces) = (message, 0);
        while !rest.is_empty()
            && let Some(piece) = self.memory.take(rest.len() as u64)
        {
            let (front, after) = rest.split_at(piece.len as usize);
            copy_to(sink.piece(piece.offset, piece.len), front);
            rest = after;
            pieces += 1;
        }
        world::work(pieces, message.len() as u64);
    }
}

/// The bytes that an aggregator gets from (or sends to) one rank. Two cursors move over the list of extents: one for
/// the sizes of messages, needed when a round begins, and one for the extents, needed when the bytes have arrived.
#[derive(Debug, Clone)]
pub struct Inflow {
    /// The other rank: the sender in a write, the receiver in a read.
    pub source: Rank,
    /// Cursor for message sizes, which is ahead of the other cursor.
    pub sizing: Flow,
    placing: Flow,
}

impl Inflow {
    /// Returns the inflow over the list that `source` sent to `aggregator` in the metadata phase.
    pub fn new(source: Rank, aggregator: usize, packed: Packed) -> Self {
        let sizing = Flow::new(aggregator, packed);
        Self { source, placing: sizing.clone(), sizing }
    }

    /// Copies a message to the positions of its bytes in the window. Returns true if the message has the expected size.
    /// O(extents in the window + bytes).
    pub fn place(&mut self, window: &Window, message: &Bytes, into: &mut [u8]) -> bool {
        let (mut at, mut extents) = (0, 0);
        while let Some(extent) = self.placing.next_in(window) {
            let Some(bytes) = message.get(at..at + extent.len as usize) else { return false };
            copy(into, window.position(extent.offset), bytes);
            at += extent.len as usize;
            extents += 1;
        }
        world::work(extents, at as u64);
        at == message.len()
    }

    /// Adds the parts of a message to the pieces of the window. Returns true if the message has the expected size.
    pub fn divide(&mut self, window: &Window, message: &Bytes, pieces: &mut Vec<PieceOfWindow>) -> bool {
        let (mut rest, before) = (message.clone(), pieces.len());
        while let Some(extent) = self.placing.next_in(window) {
            if extent.len > rest.len() as u64 {
                return false;
            }
            let bytes = rest.split_to(extent.len as usize);
            pieces.push(PieceOfWindow { position: window.position(extent.offset), bytes });
        }
        world::work((pieces.len() - before) as u64, 0);
        rest.is_empty()
    }

    /// Returns the `len` bytes of the window that the source wants, packed in order. They are zeros if `from`, the bytes of
    /// the window, is `None`. Returns an empty message if there is no memory for it.
    pub fn collect(&mut self, window: &Window, from: Option<&[u8]>, len: u64) -> Bytes {
        let (placing, mut extents) = (&mut self.placing, 0);
        let message = Block::message(len, |mut rest| match from {
            Some(from) => {
                while let Some(extent) = placing.next_in(window) {
                    append(&mut rest, &from[window.position(extent.offset) as usize..][..extent.len as usize]);
                    extents += 1;
                }
            }
            None => rest.fill(0),
        });
        self.placing.pass(window);
        world::work(extents, len);
        message.unwrap_or_default()
    }

    /// Moves past the extents of a window whose bytes are dropped after an error.
    pub fn drop_window(&mut self, window: &Window) {
        self.placing.pass(window);
    }
}

#[inline]
fn copy(to: &mut [u8], position: u64, bytes: &[u8]) {
    copy_to(&mut to[position as usize..][..bytes.len()], bytes);
}

/// Copies bytes to the start of `rest`, which has room for them, and moves `rest` past them.
#[inline]
fn append(rest: &mut &mut [u8], bytes: &[u8]) {
    let (front, after) = std::mem::take(rest).split_at_mut(bytes.len());
    copy_to(front, bytes);
    *rest = after;
}

/// A queue of flows, sorted by the next round in which they have bytes. Finding the flows of a round costs O(log flows) for
/// each of them.
#[derive(Debug, Default)]
pub struct RoundQueue(BinaryHeap<Reverse<(u64, usize)>>);

impl RoundQueue {
    /// Adds flow `id` under the round of its next window, if it has one.
    pub fn schedule(&mut self, id: usize, flow: &Flow, domains: &Domains) {
        if let Some(window) = flow.window(domains) {
            self.0.push(Reverse((window.index, id)));
        }
    }

    /// Returns the next round in which a flow has bytes.
    pub fn next_round(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((round, _))| *round)
    }

    /// Removes the flows with bytes in `round`, and returns their ids, ascending.
    pub fn take(&mut self, round: u64) -> Vec<usize> {
        let mut due = Vec::new();
        while let Some(&Reverse((next, id))) = self.0.peek()
            && next == round
        {
            self.0.pop();
            due.push(id);
        }
        due
    }
}

/// Makes messages of pieces of the caller's memory. All messages must be gone when this is dropped.
pub struct ZeroCopySends<'a> {
    source: Source<'a>,
    /// Has one reference for this struct and one for each message.
    lent: Arc<()>,
}

impl<'a> ZeroCopySends<'a> {
    /// Returns zero-copy sends of pieces of `source`.
    ///
    /// # Safety
    /// The returned value is dropped before `'a` ends.
    pub unsafe fn new(source: Source<'a>) -> Self {
        Self { source, lent: Arc::default() }
    }

    /// Returns the piece as a message without a copy; `None` if it is shorter than [`WORTH_ZERO_COPY`].
    pub fn message_in_place(&self, piece: Extent) -> Option<Message> {
        (piece.len >= WORTH_ZERO_COPY).then(|| self.message_of(piece))
    }

    /// Returns the piece as a message, of any length.
    pub fn message_of(&self, piece: Extent) -> Message {
        let bytes = self.source.piece(piece.offset, piece.len);
        // SAFETY: `self` is dropped before the memory ends, and its drop aborts the process if one of its messages still
        // exists.
        let bytes = unsafe { std::mem::transmute::<&'a [u8], &'static [u8]>(bytes) };
        Message::from_owner(Lent { bytes, _lent: self.lent.clone() })
    }
}

impl Drop for ZeroCopySends<'_> {
    fn drop(&mut self) {
        if Arc::strong_count(&self.lent) > 1 {
            // This happens only after a panic or an error that ends the job anyway.
            crate::say(format_args!("a call ended while its memory was still sent or written; this process aborts"));
            std::process::abort();
        }
    }
}

struct Lent {
    bytes: &'static [u8],
    _lent: Arc<()>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_piece_is_lent_where_it_lies() {
        let memory: Vec<u8> = (0..9000).map(|at| at as u8).collect();
        // SAFETY: it is dropped in this function, after its messages.
        let zero_copy = unsafe { ZeroCopySends::new(Source::from(&memory[..])) };
        let message = zero_copy.message_in_place(Extent { offset: 100, len: WORTH_ZERO_COPY }).unwrap();
        assert_eq!((message.as_ptr(), message.len() as u64), (memory[100..].as_ptr(), WORTH_ZERO_COPY));
        assert_eq!(Arc::strong_count(&zero_copy.lent), 2);
        assert!(zero_copy.message_in_place(Extent { offset: 100, len: WORTH_ZERO_COPY - 1 }).is_none());
        let part = message.slice(10..20);
        drop(message);
        assert_eq!(Arc::strong_count(&zero_copy.lent), 2, "a part of the message is still there");
        drop(part);
        assert_eq!(Arc::strong_count(&zero_copy.lent), 1);
    }
}
