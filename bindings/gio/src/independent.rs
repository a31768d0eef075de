//! Independent writes and reads.
//!
//! A few pieces take a system call each. Many go through the engine, on a file that this rank has opened alone: a read
//! takes neighbouring pieces at once; a write touches no byte but its own, because other ranks may write beside it.

use std::ffi::c_void;

use tributary::access::pieces::pieces;
use tributary::{BufferLayout, Result, Sink, Source};

use crate::MPI_Offset;
use crate::guard::moved;
use crate::handle::{GioFile, opened};
use crate::lists::{Access, List};

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
    let file = List { name: "file", count: file_npairs, offsets: file_offs, lengths: file_lens };
    let memory = List { name: "buf", count: buf_npairs, offsets: buf_offs, lengths: buf_lens };
    // SAFETY: the caller's promises: lists as long as said, memory that they describe, nobody else at the file.
    moved("GIO_write", || unsafe { opened(fh)?.write(Access::new(file, memory, buf.cast_mut().cast())?) })
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
    let file = List { name: "file", count: file_npairs, offsets: file_offs, lengths: file_lens };
    let memory = List { name: "buf", count: buf_npairs, offsets: buf_offs, lengths: buf_lens };
    // SAFETY: as above.
    moved("GIO_read", || unsafe { opened(fh)?.read(Access::new(file, memory, buf.cast())?) })
}

impl Access {
    fn has_few_pieces(&self) -> bool {
        let in_memory = match &self.layout {
            BufferLayout::Contiguous => 1,
            BufferLayout::Extents(extents) => extents.count(),
        };
        self.file.count().saturating_add(in_memory) <= FEW
    }
}

impl GioFile {
    /// # Safety
    /// The memory that the access lists is valid for reads.
    unsafe fn write(&mut self, access: Access) -> Result<u64> {
        self.writable()?;
        if access.bytes() == 0 {
            return Ok(0);
        }
        self.unsynced = true;
        if !access.has_few_pieces() {
            // SAFETY: the caller's promise.
            let source = unsafe { Source::from_raw_parts(access.memory, access.span) };
            self.alone()?.write_all_from(&access.file, &access.layout, source)?;
            return Ok(access.bytes());
        }
        for piece in pieces(&access.file, &access.layout) {
            let at = access.memory.wrapping_add(piece.memory as usize);
            // SAFETY: the caller's promise, of this piece.
            let source = unsafe { Source::from_raw_parts(at, piece.len as usize) };
            self.file.write_at_from(piece.offset, source)?;
        }
        Ok(access.bytes())
    }

    /// # Safety
    /// The memory that the access lists is valid for writes, and nothing else uses it.
    unsafe fn read(&mut self, access: Access) -> Result<u64> {
        self.readable()?;
        if access.bytes() == 0 {
            return Ok(0);
        }
        if !access.has_few_pieces() {
            // SAFETY: the caller's promise.
            let sink = unsafe { Sink::from_raw_parts(access.memory, access.span) };
            return Ok(self.alone()?.read_all_into(&access.file, &access.layout, sink)?.bytes);
        }
        let mut bytes = 0;
        for piece in pieces(&access.file, &access.layout) {
            let at = access.memory.wrapping_add(piece.memory as usize);
            // SAFETY: the caller's promise, of this piece.
            let sink = unsafe { Sink::from_raw_parts(at, piece.len as usize) };
            bytes += self.file.read_at_into(piece.offset, sink)?;
        }
        Ok(bytes)
    }
}
