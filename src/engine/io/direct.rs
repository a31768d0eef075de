//! The direct path: every rank writes or reads its own extents. In a write, large pieces are written from the caller's
//! memory, and small pieces are packed. In a read, pieces that are near to each other are read in one call, with the gaps
//! between them.

use std::cell::RefCell;
use std::time::Duration;

use crate::access::memory::copy;
use crate::access::{Access, BufferLayout, Extents, Piece, Sink, Source, Walk};
use crate::engine::choose::{PACKED_FOR_CALL, WHOLE_PIECE};
use crate::engine::io::call_cost::Measure;
use crate::engine::io::sieve::Sieve;
use crate::engine::io::{Moved, Storage, StorageFailure, guarded, read_present, without_size_signal, write_all};
use crate::engine::trace::counts::Outcome;
use crate::error::{Error, FileOperation};
use crate::topology::Rank;
use crate::world::process::per_thread;
use crate::world::{self, clock};

per_thread! {
    /// Kept between calls, so that a call allocates nothing.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's memory, whose contents are undefined.
fn with_scratch<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let done = work(&mut scratch);
    SCRATCH.set(scratch);
    done
}

/// Writes an access without other ranks: large pieces as they are, small adjacent ones packed, in the order of its extents.
/// Local.
pub fn write(
    storage: &dyn Storage,
    Access { file, layout, memory: source }: Access<'_, Source<'_>>,
    rank: Rank,
    path: &std::path::Path,
) -> Outcome {
    let begin = clock::now();
    let _quiet = without_size_signal();
    let mut moved = Moved::default();
    if let (BufferLayout::Contiguous, Some((offset, _)), 1) = (layout, file.span(), file.count()) {
        let whole = source.piece(0, file.bytes());
        let written = guarded(FileOperation::Write, offset, || write_all(storage, whole, offset, &mut moved));
        let error = written.err().map(|failure| failure.into_error(rank, path));
        return outcome(moved, clock::since(begin), error);
    }
    world::work(file.count(), file.bytes());
    let written = with_scratch(|packed| {
        let kept = std::mem::take(packed);
        let mut packing = Packing { storage, packed: kept, at: 0, len: 0, written: &mut moved, failure: None };
        let written = guarded(FileOperation::Write, file.span().map_or(0, |(start, _)| start), || {
            Walk::new(file, layout).visit_before(u64::MAX, |piece| packing.add(piece, source));
            packing.flush();
            packing.failure.take().map_or(Ok(()), Err)
        });
        *packed = packing.packed;
        written
    });
    let error = written.err().map(|failure| failure.into_error(rank, path));
    outcome(moved, clock::since(begin), error)
}

/// Returns the outcome of writes of one rank, one after the other, which took `busy`.
fn outcome(Moved { bytes, calls }: Moved, busy: Duration, error: Option<Error>) -> Outcome {
    Outcome { error, bytes, calls, busy, spent: busy, ..Outcome::default() }
}

struct Packing<'a> {
    storage: &'a dyn Storage,
    packed: Vec<u8>,
    /// Offset of the packed bytes in the file.
    at: u64,
    /// Number of packed bytes.
    len: usize,
    written: &'a mut Moved,
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

    /// Adds a piece that is large, does not follow the packed bytes in the file, or does not fit in their memory.
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
            let (packed, len) = (std::mem::take(&mut self.packed), std::mem::take(&mut self.len));
            self.write(&packed[..len], self.at);
            self.packed = packed;
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

per_thread! {
    /// Memory for pieces, kept between calls, so that a call allocates nothing.
    static PIECES: RefCell<Vec<Piece>> = const { RefCell::new(Vec::new()) };
}

/// Reads an access without other ranks. Gaps that `sieve` bridges are read too, to save calls. Memory for bytes past the
/// end of the file is unchanged. Local.
pub fn read(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    sink: Sink<'_>,
    sieve: &Sieve,
) -> Result<Outcome, StorageFailure> {
    let begin = clock::now();
    let mut pieces = PIECES.take();
    pieces.clear();
    let (bytes, pieces) = with_scratch(|span| {
        let mut group = ReadGroup {
            storage,
            sink,
            sieve,
            measure: sieve.measure(),
            bridge: sieve.bridge(),
            pieces,
            span,
            bytes: 0,
            failure: None,
        };
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
    sieve: &'a Sieve,
    measure: Measure<'a>,
    /// Maximum gap in bytes that is read.
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
            self.measure.add(Moved { bytes: last.offset + last.len - first.offset, calls: 1 });
            self.bridge = self.sieve.bridge();
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
