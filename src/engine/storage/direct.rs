//! The direct path of a write: every rank writes its own extents, large pieces from the caller's memory, small ones
//! packed.

use crate::access::{Access, BufferLayout, Piece, Source, Walk};
use crate::engine::policy::{PACKED_FOR_CALL, WHOLE_PIECE};
use crate::access::memory::copy;
use crate::engine::storage::scratch;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Storage, StorageFailure, guarded, without_size_signal, write_all};
use crate::error::FileOperation;
use crate::topology::Rank;
use crate::world::clock;

/// Writes an access directly, in the order of its extents. Local.
pub fn write(
    storage: &dyn Storage,
    Access { file, layout, memory: source }: Access<'_, Source<'_>>,
    rank: Rank,
    path: &std::path::Path,
) -> Outcome {
    let begin = clock::now();
    let _quiet = without_size_signal();
    let mut bytes = 0;
    if let (BufferLayout::Contiguous, Some((offset, _)), 1) = (layout, file.span(), file.count()) {
        let whole = source.piece(0, file.bytes());
        let written = guarded(FileOperation::Write, offset, || write_all(storage, whole, offset, &mut bytes));
        let error = written.err().map(|failure| failure.into_error(rank, path));
        return Outcome { error, bytes, busy: clock::since(begin), ..Outcome::default() };
    }
    let written = scratch::with(|packed| {
        let mut packing = Packing { storage, packed, at: 0, len: 0, written: &mut bytes, failure: None };
        guarded(FileOperation::Write, file.span().map_or(0, |(start, _)| start), || {
            Walk::new(file, layout).visit_before(u64::MAX, |piece| packing.add(piece, source));
            packing.flush();
            packing.failure.take().map_or(Ok(()), Err)
        })
    });
    let error = written.err().map(|failure| failure.into_error(rank, path));
    Outcome { error, bytes, busy: clock::since(begin), ..Outcome::default() }
}

struct Packing<'a> {
    storage: &'a dyn Storage,
    packed: &'a mut Vec<u8>,
    /// Offset of the packed bytes in the file.
    at: u64,
    /// Number of packed bytes.
    len: usize,
    written: &'a mut u64,
    /// The first failure; nothing is written after it.
    failure: Option<StorageFailure>,
}

impl Packing<'_> {
    #[inline]
    fn add(&mut self, piece: Piece, source: Source<'_>) {
        let bytes = source.piece(piece.memory, piece.len);
        let end = self.len + bytes.len();
        if piece.offset != self.at + self.len as u64 || end > self.packed.len() || piece.len >= WHOLE_PIECE {
            return self.begin(piece, bytes);
        }
        copy_to(&mut self.packed[self.len..end], bytes);
        self.len = end;
    }

    /// Adds a piece that does not continue the packed ones, or for which there is no place.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, piece: Piece, bytes: &[u8]) {
        let continues = piece.offset == self.at + self.len as u64 && self.len + bytes.len() <= PACKED_FOR_CALL;
        if !continues || piece.len >= WHOLE_PIECE {
            self.flush();
            self.at = piece.offset;
        }
        if piece.len >= WHOLE_PIECE {
            return self.write(bytes, piece.offset);
        }
        let end = self.len + bytes.len();
        if self.packed.len() < end {
            self.packed.resize(end.next_power_of_two(), 0);
        }
        copy_to(&mut self.packed[self.len..end], bytes);
        self.len = end;
    }

    fn flush(&mut self) {
        if self.len > 0 {
            let (packed, len) = (std::mem::take(self.packed), std::mem::take(&mut self.len));
            self.write(&packed[..len], self.at);
            *self.packed = packed;
        }
    }

    fn write(&mut self, bytes: &[u8], offset: u64) {
        if self.failure.is_none() {
            self.failure = write_all(self.storage, bytes, offset, self.written).err();
        }
    }
}

/// Copies bytes to a place of their length.
#[inline]
fn copy_to(place: &mut [u8], bytes: &[u8]) {
    debug_assert_eq!(place.len(), bytes.len());
    // SAFETY: two slices of this length, one of them borrowed for writing.
    unsafe { copy(bytes.as_ptr(), place.as_mut_ptr(), bytes.len()) };
}
