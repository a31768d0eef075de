//! The direct path: every rank writes its own extents. For requests that no exchange can improve.

use std::time::Instant;

use super::sink::Outcome;
use super::storage::{Failure, Storage, write_all};
use crate::access::pieces::{Piece, pieces};
use crate::access::{BufferLayout, Extents};
use crate::error::Error;
use crate::topology::Rank;

/// Pieces that adjoin in the file but not in memory are packed up to this size, so that the file sees fewer calls.
const PACK: usize = 4 << 20;

/// Writes the access. Local.
pub fn write(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    buffer: &[u8],
    rank: Rank,
    path: &std::path::Path,
) -> Outcome {
    let begin = Instant::now();
    let mut bytes = 0;
    let mut writer = Packing { storage, buffer, packed: Vec::new(), at: 0, last: None, bytes: &mut bytes };
    let written = pieces(file, layout).try_for_each(|piece| writer.add(piece)).and_then(|()| writer.flush());
    let fail = |Failure { operation, offset, cause }| Error::io(rank, operation, path, offset, &cause);
    Outcome { error: written.err().map(fail), bytes, busy: begin.elapsed() }
}

struct Packing<'a> {
    storage: &'a dyn Storage,
    buffer: &'a [u8],
    /// Bytes for `at` in the file, from several pieces.
    packed: Vec<u8>,
    at: u64,
    /// A piece that may be joined with the next, not packed yet.
    last: Option<Piece>,
    bytes: &'a mut u64,
}

impl Packing<'_> {
    fn add(&mut self, piece: Piece) -> Result<(), Failure> {
        let Some(last) = self.last.replace(piece) else { return Ok(()) };
        if last.offset + last.len != piece.offset {
            self.last = Some(last);
            self.flush()?;
            self.last = Some(piece);
        } else if last.memory + last.len == piece.memory {
            self.last = Some(Piece { len: last.len + piece.len, ..last });
        } else {
            self.pack(last);
            if self.packed.len() >= PACK {
                self.flush_packed()?;
            }
        }
        Ok(())
    }

    fn bytes_of(&self, piece: Piece) -> &[u8] {
        &self.buffer[piece.memory as usize..(piece.memory + piece.len) as usize]
    }

    fn pack(&mut self, piece: Piece) {
        if self.packed.is_empty() {
            self.at = piece.offset;
        }
        let buffer = self.buffer;
        self.packed.extend_from_slice(&buffer[piece.memory as usize..(piece.memory + piece.len) as usize]);
    }

    fn flush_packed(&mut self) -> Result<(), Failure> {
        let outcome = write_all(self.storage, &self.packed, self.at, self.bytes);
        self.packed.clear();
        outcome
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let Some(last) = self.last.take() else { return Ok(()) };
        if self.packed.is_empty() {
            let mut written = 0;
            let outcome = write_all(self.storage, self.bytes_of(last), last.offset, &mut written);
            *self.bytes += written;
            return outcome;
        }
        self.pack(last);
        self.flush_packed()
    }
}
