//! A checked cursor over the bytes of a header: every read names the item that it reads, and a read beyond the end is
//! an error.

use crate::format::Format;
use crate::header::ALIGN;
use crate::name::LONGEST;

use super::ReadError;

/// A position in `bytes`, the contents of the file `file`, that only moves forwards.
pub(super) struct Cursor<'a> {
    pub file: &'a str,
    pub bytes: &'a [u8],
    /// Offset of the next byte to read; never behind the end.
    pub at: usize,
    pub format: Format,
}

impl<'a> Cursor<'a> {
    /// Returns an error at this position of the header. `what` names the item, `problem` what is wrong.
    pub fn error(&self, what: &str, problem: impl std::fmt::Display) -> ReadError {
        ReadError::new(self.file, what, format_args!("{problem} (byte {} of the header)", self.at))
    }

    /// Returns the number of bytes that are not read yet.
    pub fn rest(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// Returns the next `len` bytes. `what` names them in an error.
    pub fn take(&mut self, len: u64, what: &str) -> Result<&'a [u8], ReadError> {
        if len > self.rest() {
            let problem = format!("takes {len} bytes, and the file ends after {}: truncated, or no count", self.rest());
            return Err(self.error(what, problem));
        }
        let taken = &self.bytes[self.at..self.at + len as usize];
        self.at += len as usize;
        Ok(taken)
    }

    /// Returns the next `len` bytes, and skips the padding behind them.
    pub fn take_padded(&mut self, len: u64, what: &str) -> Result<&'a [u8], ReadError> {
        let taken = self.take(len, what)?;
        self.take(len.next_multiple_of(ALIGN) - len, what)?;
        Ok(taken)
    }

    /// Returns the next 32-bit number. `what` names it in an error.
    pub fn word(&mut self, what: &str) -> Result<u32, ReadError> {
        Ok(big_endian(self.take(4, what)?) as u32)
    }

    /// Returns a count. A negative count is an error.
    pub fn count(&mut self, what: &str) -> Result<u64, ReadError> {
        self.number(self.format.count_width(), what)
    }

    /// Returns a file offset. A negative offset is an error.
    pub fn offset(&mut self, what: &str) -> Result<u64, ReadError> {
        self.number(self.format.offset_width(), what)
    }

    fn number(&mut self, width: usize, what: &str) -> Result<u64, ReadError> {
        let value = big_endian(self.take(width as u64, what)?);
        if value >> (width * 8 - 1) != 0 {
            return Err(self.error(what, "is negative"));
        }
        Ok(value)
    }

    /// Returns a name: 1 to [`LONGEST`] bytes of UTF-8 without control characters, so that the name fits an error
    /// message.
    pub fn name(&mut self, what: &str) -> Result<String, ReadError> {
        let len = self.count(what)?;
        if len == 0 || len > LONGEST as u64 {
            return Err(self.error(what, format!("has a name of {len} bytes; allowed: 1 to {LONGEST}")));
        }
        let bytes = self.take_padded(len, what)?;
        match std::str::from_utf8(bytes) {
            Ok(name) if !name.contains(char::is_control) => Ok(name.to_string()),
            _ => Err(self.error(what, format!("has the name \"{}\", which is no text", bytes.escape_ascii()))),
        }
    }

    /// Returns the number of elements of a list that begins with `tag`. Each element takes at least `least` bytes, so
    /// a larger number than fits the file is an error.
    pub fn list(&mut self, tag: u32, least: usize, what: &str) -> Result<u64, ReadError> {
        let (found, count) = (self.word(what)?, self.count(what)?);
        if found == 0 && count == 0 {
            return Ok(0);
        }
        if found != tag {
            return Err(self.error(what, format!("begins with tag {found:#x}, not {tag:#x} or an empty list")));
        }
        if count > self.rest() / least as u64 {
            let rest = self.rest();
            let problem =
                format!("claims {count} elements, and the file ends after {rest} bytes: truncated, or no count");
            return Err(self.error(what, problem));
        }
        Ok(count)
    }
}

/// Decodes a big-endian number of up to 8 bytes.
pub(super) fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
