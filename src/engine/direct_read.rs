//! The direct path of a read: every rank reads its own extents. For requests that no exchange can improve.

use std::time::Instant;

use super::depot::Outcome;
use super::storage::{Failure, Storage, read_all};
use crate::access::pieces::{Piece, pieces};
use crate::access::{BufferLayout, Extents};

/// Pieces that are close together are read in one call of up to so many bytes.
const SPAN: u64 = 4 << 20;

/// Reads the access up to `end`, the end of the file, going over gaps of up to `bridge` bytes. Local.
pub fn read(
    storage: &dyn Storage,
    file: &Extents,
    layout: &BufferLayout,
    buffer: &mut [u8],
    end: u64,
    bridge: u64,
) -> Result<Outcome, Failure> {
    let begin = Instant::now();
    let mut bytes = 0;
    let mut group = Group { storage, buffer, bridge, pieces: Vec::new(), span: Vec::new() };
    for mut piece in pieces(file, layout) {
        piece.len = piece.len.min(end.saturating_sub(piece.offset));
        if piece.len > 0 {
            bytes += piece.len;
            group.add(piece)?;
        }
    }
    group.flush()?;
    Ok(Outcome { bytes, busy: begin.elapsed(), error: None })
}

/// Pieces that are read together.
struct Group<'a> {
    storage: &'a dyn Storage,
    buffer: &'a mut [u8],
    bridge: u64,
    /// Ascending, free of overlap.
    pieces: Vec<Piece>,
    span: Vec<u8>,
}

impl Group<'_> {
    fn add(&mut self, piece: Piece) -> Result<(), Failure> {
        if let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) {
            let gap = piece.offset.checked_sub(last.offset + last.len);
            let fits = piece.offset + piece.len - first.offset.min(piece.offset) <= SPAN;
            if !fits || gap.is_none_or(|gap| gap > self.bridge) {
                self.flush()?;
            }
        }
        self.pieces.push(piece);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let (Some(&first), Some(&last)) = (self.pieces.first(), self.pieces.last()) else { return Ok(()) };
        if self.pieces.len() == 1 {
            let place = &mut self.buffer[first.memory as usize..(first.memory + first.len) as usize];
            read_all(self.storage, place, first.offset)?;
        } else {
            self.span.resize((last.offset + last.len - first.offset) as usize, 0);
            read_all(self.storage, &mut self.span, first.offset)?;
            for piece in &self.pieces {
                let bytes = &self.span[(piece.offset - first.offset) as usize..][..piece.len as usize];
                self.buffer[piece.memory as usize..][..bytes.len()].copy_from_slice(bytes);
            }
        }
        self.pieces.clear();
        Ok(())
    }
}
