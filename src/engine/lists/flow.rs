//! Flows: cursors over the packed list of one (rank, aggregator) pair, window by window.
//!
//! Sender and aggregator have the same list, so both know the size of every message. A flow moves forward only: all rounds
//! together cost O(extents).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bytes::Bytes;

use crate::access::packed::Summary;
use crate::access::{Extent, Packed, PackedCursor, Sink, Source};
use crate::drivers::{Domains, Window};
use crate::engine::facts::tiling::Tiling;
use crate::engine::lists::zero_copy::ZeroCopySends;
use crate::engine::storage::buffer::PieceOfWindow;
use crate::engine::storage::copy::copy_to;
use crate::engine::storage::coverage::Coverage;
use crate::fabric::pool::Block;
use crate::topology::Rank;

/// The bytes of a flow in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    /// Bytes.
    pub bytes: u64,
    /// Highest end; the window's start if there are no bytes.
    pub end: u64,
    /// Extents.
    pub extents: u64,
}

/// A cursor over a packed list, window by window.
#[derive(Debug, Clone)]
pub struct Flow {
    aggregator: usize,
    cursor: PackedCursor,
}

impl Flow {
    /// The flow to (or, on the aggregator, of) `aggregator`.
    pub fn new(aggregator: usize, packed: Packed) -> Self {
        Self { aggregator, cursor: PackedCursor::new(packed) }
    }

    /// The aggregator's index.
    pub fn aggregator(&self) -> usize {
        self.aggregator
    }

    /// The next window that this flow has bytes for.
    pub fn window(&self, domains: &Domains) -> Option<Window> {
        self.cursor.peek().map(|extent| domains.window(self.aggregator, extent.offset))
    }

    /// Passes all extents of `window` and returns their bytes.
    pub fn pass(&mut self, window: &Window) -> Advanced {
        let mut passed = Advanced { bytes: 0, end: window.start, extents: 0 };
        while let Some(extent) = self.cursor.take_before(window.end) {
            passed.bytes += extent.len;
            passed.end = extent.end();
            passed.extents += 1;
        }
        passed
    }

    /// The same; and adds what they add to the sum by which pieces are known to tile the window.
    pub fn pass_summing(&mut self, window: &Window, tiling: Tiling, sum: &mut u64) -> Advanced {
        let mut passed = Advanced { bytes: 0, end: window.start, extents: 0 };
        while let Some(extent) = self.cursor.take_before(window.end) {
            passed.bytes += extent.len;
            passed.end = extent.end();
            passed.extents += 1;
            let position = window.position(extent.offset);
            *sum = sum.wrapping_add(tiling.piece(position, position + extent.len));
        }
        passed
    }

    /// As [`Flow::pass`]; and marks them in `coverage`, which is gone when there is no memory for it.
    pub fn pass_covering(&mut self, window: &Window, coverage: &mut Option<Coverage>) -> Advanced {
        let mut passed = Advanced { bytes: 0, end: window.start, extents: 0 };
        while let Some(extent) = self.cursor.take_before(window.end) {
            passed.bytes += extent.len;
            passed.end = extent.end();
            passed.extents += 1;
            let marked = coverage.as_mut().map(|c| c.mark(window.position(extent.offset), extent.len));
            if matches!(marked, Some(Err(_))) {
                *coverage = None;
            }
        }
        passed
    }

    /// What all of its list has.
    pub fn summary(&self) -> Summary {
        self.cursor.summary()
    }

    /// The offset of the next extent.
    pub fn next_offset(&self) -> Option<u64> {
        self.cursor.peek().map(|extent| extent.offset)
    }

    /// The extents of `window`, one by one.
    #[inline]
    pub fn next_in(&mut self, window: &Window) -> Option<Extent> {
        self.cursor.take_before(window.end)
    }
}

/// The bytes that a rank sends to one aggregator, and their places in its buffer.
#[derive(Debug, Clone)]
pub struct Outflow {
    /// The file side.
    pub file: Flow,
    memory: PackedCursor,
}

impl Outflow {
    /// From the two lists of [`crate::engine::lists::flatten::ListsToSend`].
    pub fn new(aggregator: usize, file: Packed, memory: Packed) -> Self {
        Self { file: Flow::new(aggregator, file), memory: PackedCursor::new(memory) }
    }

    /// Where the next `bytes` bytes, whose window has been passed, lie in the buffer, if they are one piece.
    pub fn whole(&self, bytes: u64) -> Option<Extent> {
        self.memory.peek().filter(|piece| piece.len >= bytes).map(|piece| Extent { len: bytes, ..piece })
    }

    /// Appends the next `bytes` bytes, whose window has been passed, to `out`.
    pub fn pack(&mut self, bytes: u64, source: Source<'_>, out: &mut Block) {
        let mut rest = out.extend(bytes as usize);
        self.memory_pieces(bytes, |piece| append(&mut rest, source.piece(piece.offset, piece.len)));
    }

    /// Calls `part` for the places in the buffer of the next `left` bytes, whose windows have been passed.
    #[inline]
    pub fn memory_pieces(&mut self, mut left: u64, mut part: impl FnMut(Extent)) {
        while left > 0
            && let Some(piece) = self.memory.take(left)
        {
            part(piece);
            left -= piece.len;
        }
    }

    /// Copies the window's bytes directly into it: this rank is the aggregator.
    pub fn place(&mut self, window: &Window, source: Source<'_>, into: &mut [u8]) {
        self.meet(window, |position, piece| copy(into, position, source.piece(piece.offset, piece.len)));
    }

    /// Adds the window's bytes to its pieces: this rank is the aggregator.
    pub fn divide(&mut self, window: &Window, zero_copy: &ZeroCopySends<'_>, pieces: &mut Vec<PieceOfWindow>) {
        self.meet(window, |position, piece| {
            pieces.push(PieceOfWindow { position, bytes: zero_copy.message_of(piece) })
        });
    }

    /// Copies the window's bytes directly out of it: this rank is the aggregator.
    pub fn take(&mut self, window: &Window, from: &[u8], mut sink: Sink<'_>) {
        self.meet(window, |position, piece| {
            copy_to(sink.piece(piece.offset, piece.len), &from[position as usize..][..piece.len as usize]);
        });
    }

    /// Calls `part` for each part of the window's bytes that is contiguous in the window and in the buffer.
    fn meet(&mut self, window: &Window, mut part: impl FnMut(u64, Extent)) {
        while let Some(extent) = self.file.next_in(window) {
            let mut position = window.position(extent.offset);
            let mut left = extent.len;
            while left > 0
                && let Some(piece) = self.memory.take(left)
            {
                part(position, piece);
                position += piece.len;
                left -= piece.len;
            }
        }
    }

    /// Copies a message with the next bytes of this flow, whose window has been passed, to their places in the buffer.
    pub fn scatter(&mut self, message: &[u8], mut sink: Sink<'_>) {
        let mut rest = message;
        while !rest.is_empty()
            && let Some(piece) = self.memory.take(rest.len() as u64)
        {
            let (front, behind) = rest.split_at(piece.len as usize);
            copy_to(sink.piece(piece.offset, piece.len), front);
            rest = behind;
        }
    }
}

/// The bytes from one source. There are two cursors over the list: sizes are needed when a round begins, extents when its
/// bytes have arrived.
#[derive(Debug, Clone)]
pub struct Inflow {
    /// The sender.
    pub source: Rank,
    /// The cursor for sizes, which is ahead.
    pub sizing: Flow,
    placing: Flow,
}

impl Inflow {
    /// The inflow of the list that `source` announced for `aggregator`.
    pub fn new(source: Rank, aggregator: usize, packed: Packed) -> Self {
        let sizing = Flow::new(aggregator, packed);
        Self { source, placing: sizing.clone(), sizing }
    }

    /// Copies a message to the places of its bytes in the window. Returns whether its size is the announced one.
    /// O(extents in the window + bytes).
    pub fn place(&mut self, window: &Window, message: &Bytes, into: &mut [u8]) -> bool {
        let mut at = 0;
        while let Some(extent) = self.placing.next_in(window) {
            let Some(bytes) = message.get(at..at + extent.len as usize) else { return false };
            copy(into, window.position(extent.offset), bytes);
            at += extent.len as usize;
        }
        at == message.len()
    }

    /// Adds the parts of a message to the pieces of the window. Returns whether its size is the announced one.
    pub fn divide(&mut self, window: &Window, message: &Bytes, pieces: &mut Vec<PieceOfWindow>) -> bool {
        let mut rest = message.clone();
        while let Some(extent) = self.placing.next_in(window) {
            if extent.len > rest.len() as u64 {
                return false;
            }
            let bytes = rest.split_to(extent.len as usize);
            pieces.push(PieceOfWindow { position: window.position(extent.offset), bytes });
        }
        rest.is_empty()
    }

    /// The window's bytes that the source wants, one after the other.
    pub fn collect(&mut self, window: &Window, from: &[u8], len: u64) -> Bytes {
        let mut message = Block::take(len as usize).unwrap_or_default();
        let mut rest = message.extend(len as usize);
        while let Some(extent) = self.placing.next_in(window) {
            append(&mut rest, &from[window.position(extent.offset) as usize..][..extent.len as usize]);
        }
        message.into_message()
    }

    /// Passes the extents of a window whose bytes are dropped after an error.
    pub fn drop_window(&mut self, window: &Window) {
        self.placing.pass(window);
    }
}

#[inline]
fn copy(to: &mut [u8], position: u64, bytes: &[u8]) {
    copy_to(&mut to[position as usize..][..bytes.len()], bytes);
}

/// Puts bytes at the front of memory that has room for them; the rest is left.
#[inline]
fn append(rest: &mut &mut [u8], bytes: &[u8]) {
    let (front, behind) = std::mem::take(rest).split_at_mut(bytes.len());
    copy_to(front, bytes);
    *rest = behind;
}

/// The next round of each flow. Finding the flows of a round costs O(log flows) each.
#[derive(Debug, Default)]
pub struct RoundQueue(BinaryHeap<Reverse<(u64, usize)>>);

impl RoundQueue {
    /// Enters flow `id` under its next window, if it has one.
    pub fn schedule(&mut self, id: usize, flow: &Flow, domains: &Domains) {
        if let Some(window) = flow.window(domains) {
            self.0.push(Reverse((window.index, id)));
        }
    }

    /// The next round that any flow has bytes for.
    pub fn next_round(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((round, _))| *round)
    }

    /// Removes and returns all flows with bytes in `round`, ascending.
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
