//! The direct path: every rank writes its own extents. For requests that no exchange can improve.

use std::time::Instant;

use super::depot::Outcome;
use super::storage::{Failure, Storage, guarded, without_size_signal, write_all};
use crate::access::pieces::{Piece, pieces};
use crate::access::{BufferLayout, Extents};
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
    let _quiet = without_size_signal();
    let mut bytes = 0;
    let mut writer = Packing { storage, buffer, packed: Vec::new(), at: 0, last: None, bytes: &mut bytes };
    let all = || pieces(file, layout).try_for_each(|piece| writer.add(piece)).and_then(|()| writer.flush());
    let written = guarded("write", 0, all);
    Outcome { error: written.err().map(|failure| failure.of(rank, path)), bytes, busy: begin.elapsed() }
}

struct Packing<'a> {
    storage: &'a dyn Storage,
    buffer: &'a [u8],
    /// Bytes for `at` in the file, from several pieces; below [`PACK`] and what fits in behind.
    packed: Vec<u8>,
    at: u64,
    /// A piece that may be joined with the next, not packed yet; it adjoins what is packed.
    last: Option<Piece>,
    bytes: &'a mut u64,
}

impl Packing<'_> {
    fn add(&mut self, piece: Piece) -> Result<(), Failure> {
        match self.last {
            Some(last) if last.offset + last.len != piece.offset => self.flush()?,
            Some(last) if last.memory + last.len == piece.memory => {
                self.last = Some(Piece { len: last.len + piece.len, ..last });
                return Ok(());
            }
            Some(last) => self.pack(last)?,
            None => {}
        }
        self.last = Some(piece);
        Ok(())
    }

    /// Packs a piece behind what is packed; a large one is written from where it is.
    fn pack(&mut self, piece: Piece) -> Result<(), Failure> {
        let buffer = self.buffer;
        let bytes = &buffer[piece.memory as usize..(piece.memory + piece.len) as usize];
        if self.packed.len() + bytes.len() > PACK {
            self.write_packed()?;
        }
        if bytes.len() >= PACK {
            return write_all(self.storage, bytes, piece.offset, self.bytes);
        }
        if self.packed.is_empty() {
            self.at = piece.offset;
        }
        self.packed.extend_from_slice(bytes);
        Ok(())
    }

    fn write_packed(&mut self) -> Result<(), Failure> {
        let outcome = write_all(self.storage, &self.packed, self.at, self.bytes);
        self.packed.clear();
        outcome
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if let Some(last) = self.last.take() {
            if self.packed.is_empty() {
                let bytes = &self.buffer[last.memory as usize..(last.memory + last.len) as usize];
                return write_all(self.storage, bytes, last.offset, self.bytes);
            }
            self.pack(last)?;
        }
        self.write_packed()
    }
}
