//! Independent writes and reads.
//!
//! A few pieces take a system call each. Many go through the engine, on a file that this rank has opened alone: a read
//! takes neighbouring pieces at once; a write touches no byte but its own, because other ranks may write beside it.

use std::ffi::c_void;

use tributary::access::pieces::pieces;
use tributary::engine::Direction;
use tributary::{BufferLayout, Result, Sink, Source};
use tributary_bindings::access::Access;

use crate::MPI_Offset;
use crate::guard::moved;
use crate::handle::{GioFile, opened};
use crate::lists::{access, list};

/// Up to this many pieces are moved one by one.
const FEW: u64 = 16;

/// Writes this rank's data. Not collective. Returns its number of bytes, or a code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_write(
    fh: *mut GioFile,
    buf: *const c_void,
    file_npairs: MPI_Offset,
    file_offs: *const MPI_Offset,
    file_lens: *const MPI_Offset,
    buf_npairs: MPI_Offset,
    buf_offs: *const MPI_Offset,
    buf_lens: *const MPI_Offset,
) -> MPI_Offset {
    let file = list("file", file_npairs, file_offs, file_lens);
    let memory = list("buf", buf_npairs, buf_offs, buf_lens);
    // SAFETY: the caller's promises: lists as long as said, memory that they describe, nobody else at the file.
    moved("GIO_write", || unsafe {
        opened(fh)?.transfer_alone(Direction::Write, &access(file, memory, buf.cast_mut().cast())?)
    })
}

/// Reads this rank's data. Not collective. Returns the number of bytes before the end of the file, or a code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_read(
    fh: *mut GioFile,
    buf: *mut c_void,
    file_npairs: MPI_Offset,
    file_offs: *const MPI_Offset,
    file_lens: *const MPI_Offset,
    buf_npairs: MPI_Offset,
    buf_offs: *const MPI_Offset,
    buf_lens: *const MPI_Offset,
) -> MPI_Offset {
    let file = list("file", file_npairs, file_offs, file_lens);
    let memory = list("buf", buf_npairs, buf_offs, buf_lens);
    // SAFETY: as above.
    moved("GIO_read", || unsafe { opened(fh)?.transfer_alone(Direction::Read, &access(file, memory, buf.cast())?) })
}

fn has_few_pieces(access: &Access) -> bool {
    let in_memory = match &access.layout {
        BufferLayout::Contiguous => 1,
        BufferLayout::Extents(extents) => extents.count(),
    };
    access.file.count().saturating_add(in_memory) <= FEW
}

impl GioFile {
    /// Moves the bytes, by this rank alone.
    ///
    /// # Safety
    /// What the access lists is valid, and not used by anything else.
    unsafe fn transfer_alone(&mut self, direction: Direction, access: &Access) -> Result<u64> {
        self.may(direction)?;
        if access.bytes() == 0 {
            return Ok(0);
        }
        self.unsynced |= direction == Direction::Write;
        if !has_few_pieces(access) {
            // SAFETY: the caller's promise.
            return unsafe { access.transfer(direction, self.alone()?, |_| ()) };
        }
        let mut bytes = 0;
        for piece in pieces(&access.file, &access.layout) {
            let (at, len) = (access.memory.wrapping_add(piece.memory as usize), piece.len as usize);
            bytes += match direction {
                // SAFETY: the caller's promise, of this piece.
                Direction::Write => unsafe { self.file.write_at_from(piece.offset, Source::from_raw_parts(at, len))? },
                // SAFETY: likewise.
                Direction::Read => unsafe { self.file.read_at_into(piece.offset, Sink::from_raw_parts(at, len))? },
            };
        }
        Ok(bytes)
    }
}
