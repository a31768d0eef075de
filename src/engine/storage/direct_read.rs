//! The direct path of a read: every rank reads its own extents.

use std::cell::RefCell;

use crate::access::{BufferLayout, Extents, Piece, Sink, Walk};
use crate::engine::policy::{PACKED_FOR_CALL, WHOLE_PIECE};
use crate::access::memory::copy;
use crate::engine::storage::scratch;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Storage, StorageFailure, read_present};
use crate::world::clock;
use crate::world::process::per_thread;

per_thread! {
    /// Memory for pieces, kept between calls, so that a call allocates nothing.
    static PIECES: RefCell<Vec<Piece>> = const { RefCell::new(Vec::new()) };
}

/// Reads an access directly. Gaps of up to `bridge` bytes are read too, to save calls. Memory for bytes behind the end
/// of the file is unchanged. Local.
pub fn read(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    sink: Sink<'_>,
    bridge: u64,
) -> Result<Outcome, StorageFailure> {
    let begin = clock::now();
    let mut pieces = PIECES.take();
    pieces.clear();
    let (bytes, pieces) = scratch::with(|span| {
        let mut group = ReadGroup { storage, sink, bridge, pieces, span, bytes: 0, failure: None };
        Walk::new(file, layout).visit_before(u64::MAX, |piece| group.add(piece));
        group.flush();
        (group.failure.take().map_or(Ok(group.bytes), Err), group.pieces)
    });
    PIECES.set(pieces);
    let bytes = bytes?;
    Ok(Outcome { bytes, busy: clock::since(begin), ..Outcome::default() })
}

/// Pieces of an access that are read in one call of the file system.
struct ReadGroup<'a> {
    storage: &'a dyn Storage,
    sink: Sink<'a>,
    bridge: u64,
    /// Ascending pieces without overlaps that span at most [`PACKED_FOR_CALL`] bytes; or one piece.
    pieces: Vec<Piece>,
    span: &'a mut Vec<u8>,
    /// Number of bytes of the pieces before the end of the file.
    bytes: u64,
    /// The first failure; nothing is read after it.
    failure: Option<StorageFailure>,
}

impl ReadGroup<'_> {
    #[inline]
    fn add(&mut self, piece: Piece) {
        if let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) {
            let gap = piece.offset.checked_sub(last.offset + last.len);
            let fits = piece.len < WHOLE_PIECE && piece.offset + piece.len <= first.offset + PACKED_FOR_CALL as u64;
            if !fits || gap.is_none_or(|gap| gap > self.bridge) {
                self.flush();
            }
        }
        self.pieces.push(piece);
    }

    fn flush(&mut self) {
        let (Some(&first), Some(&last)) = (self.pieces.first(), self.pieces.last()) else { return };
        if self.failure.is_none() {
            let place = self.sink.piece(first.memory, first.len);
            let read = match self.pieces.len() {
                1 => read_present(self.storage, place, first.offset),
                _ => self.read_span(first.offset, last.offset + last.len),
            };
            match read {
                Ok(bytes) => self.bytes += bytes,
                Err(failure) => self.failure = Some(failure),
            }
        }
        self.pieces.clear();
    }

    /// Reads the bytes from the first to the last piece in one call, and copies the pieces out of them. Returns the
    /// number of bytes of the pieces before the end of the file.
    fn read_span(&mut self, start: u64, end: u64) -> Result<u64, StorageFailure> {
        let len = (end - start) as usize;
        if self.span.len() < len {
            self.span.resize(len.next_power_of_two(), 0);
        }
        let span = &mut self.span[..len];
        let present = read_present(self.storage, span, start)?;
        let mut all = 0;
        for piece in &self.pieces {
            let at = piece.offset - start;
            let bytes = &span[at.min(present) as usize..(at + piece.len).min(present) as usize];
            all += bytes.len() as u64;
            let place = self.sink.piece(piece.memory, bytes.len() as u64);
            // SAFETY: two slices of this length, one of them borrowed for writing.
            unsafe { copy(bytes.as_ptr(), place.as_mut_ptr(), bytes.len()) };
        }
        Ok(all)
    }
}
