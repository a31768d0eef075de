//! The storage that buffers the writes of collective calls.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use crate::engine::io::write_behind::queue::Found;
use crate::engine::io::write_behind::{WHOLE, WriteBehind};
use crate::engine::io::{FileControl, Storage, calls};

/// An open file whose writes in collective calls are buffered. Questions that are asked only of a file that was just
/// created or opened, such as its identity, go to that file.
pub struct WriteBehindFile {
    write_behind: Arc<WriteBehind>,
    file: Arc<dyn Storage>,
}

impl WriteBehindFile {
    /// Returns the storage over an open file.
    pub fn new(write_behind: Arc<WriteBehind>, file: Arc<dyn Storage>) -> Self {
        Self { write_behind, file }
    }

    /// Buffers bytes, or writes them. Returns the number of bytes that it has taken.
    fn write_or_buffer(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let all: usize = parts.iter().map(|part| part.len()).sum();
        let range = offset..offset.saturating_add(all as u64);
        self.write_behind.wait_for_others(&range, true)?;
        let written = match self.write_behind.buffer(&*self.file, parts, offset) {
            Some(left) => left,
            None => {
                self.write_behind.wait_for_own(&range);
                self.write_behind.write_now(&*self.file, parts, offset)?
            }
        };
        self.write_behind.note_own(offset..offset + written as u64);
        Ok(written)
    }
}

impl Storage for WriteBehindFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_or_buffer(&[IoSlice::new(bytes)], offset)
    }

    fn write_parts_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        self.write_or_buffer(parts, offset)
    }

    /// Reads this rank's buffered bytes from memory, and all other bytes from the file.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let until = match self.write_behind.find(offset) {
            Found::Here(left) => return Ok(left.read(offset, bytes)),
            Found::File(until) => until,
        };
        let end = offset.saturating_add(bytes.len() as u64).min(until);
        let bytes = &mut bytes[..(end - offset) as usize];
        self.write_behind.wait_for_others(&(offset..end), false)?;
        let read = calls::read(&*self.file, bytes, offset)?;
        if read > 0 || bytes.is_empty() || self.write_behind.last_end() <= offset {
            return Ok(read);
        }
        // The file ends here only until all buffered bytes are in it: then this is a hole, which reads as zeros.
        self.write_behind.wait(&WHOLE)?;
        calls::read(&*self.file, bytes, offset)
    }

    fn next_data(&self, offset: u64) -> u64 {
        match self.write_behind.wait(&(offset..u64::MAX)) {
            Ok(()) => calls::next_data(&*self.file, offset),
            Err(_) => offset,
        }
    }

    fn size(&self) -> io::Result<u64> {
        self.write_behind.wait(&WHOLE)?;
        calls::size(&*self.file)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.write_behind.wait(&WHOLE)?;
        calls::set_len(&*self.file, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.write_behind.wait_for_own(&WHOLE);
        calls::sync(&*self.file)
    }

    fn control(&self) -> &dyn FileControl {
        self
    }
}

impl FileControl for WriteBehindFile {
    fn settle(&self) -> io::Result<()> {
        self.write_behind.wait_for_own(&WHOLE);
        calls::settle(&*self.file)
    }

    fn at_once(&self, range: Range<u64>) -> io::Result<Option<&dyn Storage>> {
        self.write_behind.wait(&range)?;
        self.write_behind.note_own(range);
        Ok(Some(&*self.file))
    }

    fn writes_later(&self, len: u64) -> bool {
        self.write_behind.has_room(len)
    }

    fn end(&self) -> io::Result<Option<u64>> {
        let end = self.write_behind.end()?;
        Ok(Some(calls::size(&*self.file)?.max(end)))
    }
}
