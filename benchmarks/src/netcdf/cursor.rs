//! A checked cursor over the bytes of a header: every read names its item, and a read beyond the end is an error.

use crate::error::PatternError;

use super::ALIGN;

/// NetCDF's own limit.
const LONGEST_NAME: u64 = 256;

/// The three classic formats: what differs is the width of counts and of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// CDF-1: 32-bit counts and offsets.
    Classic,
    /// CDF-2: 32-bit counts, 64-bit offsets.
    Offset64,
    /// CDF-5: 64-bit counts and offsets.
    Data64,
}

impl Version {
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Classic),
            2 => Some(Self::Offset64),
            5 => Some(Self::Data64),
            _ => None,
        }
    }

    /// Bytes of a count.
    pub fn count_width(self) -> u64 {
        if self == Self::Data64 { 8 } else { 4 }
    }
}

/// Walks forwards over `bytes`, the file named `file`.
pub(super) struct Cursor<'a> {
    pub file: &'a str,
    pub bytes: &'a [u8],
    pub at: usize,
    pub version: Version,
}

impl<'a> Cursor<'a> {
    /// An error at this place of the header.
    pub fn wrong(&self, what: &str, problem: impl std::fmt::Display) -> PatternError {
        PatternError::input(self.file, what, format!("{problem} (byte {} of the header)", self.at))
    }

    /// Bytes behind the cursor.
    pub fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64, what: &str) -> Result<&'a [u8], PatternError> {
        if len > self.left() {
            let problem = format!("takes {len} bytes, and the file ends after {}: truncated, or no count", self.left());
            return Err(self.wrong(what, problem));
        }
        let taken = &self.bytes[self.at..self.at + len as usize];
        self.at += len as usize;
        Ok(taken)
    }

    /// The next `len` bytes and the padding behind them.
    pub fn take_padded(&mut self, len: u64, what: &str) -> Result<&'a [u8], PatternError> {
        let taken = self.take(len, what)?;
        self.take(len.next_multiple_of(ALIGN) - len, what)?;
        Ok(taken)
    }

    /// A 32-bit number.
    pub fn word(&mut self, what: &str) -> Result<u32, PatternError> {
        Ok(be(self.take(4, what)?) as u32)
    }

    /// A count, 32 or 64 bits wide; never negative.
    pub fn count(&mut self, what: &str) -> Result<u64, PatternError> {
        self.number(self.version.count_width(), what)
    }

    /// A file offset.
    pub fn offset(&mut self, what: &str) -> Result<u64, PatternError> {
        self.number(if self.version == Version::Classic { 4 } else { 8 }, what)
    }

    fn number(&mut self, width: u64, what: &str) -> Result<u64, PatternError> {
        let value = be(self.take(width, what)?);
        if value >> (width * 8 - 1) != 0 {
            return Err(self.wrong(what, "is negative"));
        }
        Ok(value)
    }

    /// A name: 1 to [`LONGEST_NAME`] bytes of UTF-8 without control characters, so that it fits a message.
    pub fn name(&mut self, what: &str) -> Result<String, PatternError> {
        let len = self.count(what)?;
        if len == 0 || len > LONGEST_NAME {
            return Err(self.wrong(what, format!("has a name of {len} bytes; allowed: 1 to {LONGEST_NAME}")));
        }
        let bytes = self.take_padded(len, what)?;
        match std::str::from_utf8(bytes) {
            Ok(name) if !name.contains(char::is_control) => Ok(name.to_string()),
            _ => Err(self.wrong(what, format!("has the name \"{}\", which is no text", bytes.escape_ascii()))),
        }
    }

    /// The number of elements of a list opened by `tag`, each of which takes `least` bytes or more.
    pub fn list(&mut self, tag: u32, least: u64, what: &str) -> Result<u64, PatternError> {
        let (found, count) = (self.word(what)?, self.count(what)?);
        if found == 0 && count == 0 {
            return Ok(0);
        }
        if found != tag {
            return Err(self.wrong(what, format!("begins with tag {found:#x}, not {tag:#x} or an empty list")));
        }
        if count > self.left() / least {
            return Err(self.wrong(
                what,
                format!(
                    "claims {count} elements, and the file ends after {} bytes: truncated, or no count",
                    self.left()
                ),
            ));
        }
        Ok(count)
    }
}

/// A big-endian number of up to 8 bytes.
#[inline]
pub(super) fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
