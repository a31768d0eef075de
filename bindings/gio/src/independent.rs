//! GIO's independent writes and reads.
//!
//! A few pieces take a system call each. Many pieces go through the engine, on a file that this rank has opened
//! alone: a read takes neighbouring pieces at once; a write touches only its own bytes, because other ranks may write
//! beside it.

use std::ffi::c_void;

use tributary::access::walk::pieces;
use tributary::engine::{Direction, binding};
use tributary::{BufferLayout, Result, Sink, Source};
use tributary_bindings::access::Access;

use crate::handle::GioFile;
use crate::lists::moves;

/// Maximum number of pieces that are moved one by one.
const FEW: u64 = 16;

moves! {
    /// Writes this rank's data. Not collective. Returns its number of bytes, or a code.
    GIO_write(*const c_void) transfer_alone Write;
    /// Reads this rank's data. Not collective. Returns the number of bytes before the end of the file, or a code.
    GIO_read(*mut c_void) transfer_alone Read;
}

fn has_few_pieces(access: &Access) -> bool {
    let in_memory = match &access.layout {
        BufferLayout::Contiguous => 1,
        BufferLayout::Extents(extents) => extents.count(),
    };
    access.file.count().saturating_add(in_memory) <= FEW
}

impl GioFile {
    /// Moves the bytes of this rank alone. Not collective.
    ///
    /// # Safety
    /// The memory that the access lists is valid, and nothing else uses it.
    unsafe fn transfer_alone(&mut self, direction: Direction, access: Result<Access>) -> Result<u64> {
        let access = &access?;
        self.may(direction)?;
        if access.bytes() == 0 {
            return Ok(0);
        }
        self.unsynced |= direction == Direction::Write;
        if !has_few_pieces(access) {
            self.wait_for_writes()?;
            // SAFETY: the caller's promise.
            let asked = unsafe { access.asked(direction) };
            return Ok(binding::transfer(self.alone()?, asked)?.bytes);
        }
        let mut bytes = 0;
        for piece in pieces(&access.file, &access.layout) {
            let (at, len) = (access.memory.wrapping_add(piece.memory as usize), piece.len as usize);
            bytes += match direction {
                // SAFETY: the caller's promise, of this piece.
                Direction::Write => unsafe { self.file.write_at(piece.offset, Source::from_raw_parts(at, len))? },
                // SAFETY: likewise.
                Direction::Read => unsafe { self.file.read_at(piece.offset, Sink::from_raw_parts(at, len))? },
            };
        }
        Ok(bytes)
    }
}
