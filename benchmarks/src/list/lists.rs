//! Opens a list file of either form. Opening checks every entry. Only the position of each rank's entries is kept in
//! memory, and the entries are parsed again whenever they are needed.

use std::ops::Range;
use std::path::Path;

use tributary::Extent;

use crate::error::PatternError;
use crate::source::SharedBytes;

use super::{binary, text};

/// The position of the entries of one rank in the file.
pub(super) struct ListSection {
    /// Range of bytes that contains the entries.
    pub bytes: Range<usize>,
    /// Number of the line before the section (text), or of the rank (binary), for errors.
    pub place: u64,
}

/// Sums over one rank's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of extents that are not empty.
    pub requests: u64,
    /// Number of bytes of these extents; bytes in several extents count several times.
    pub bytes: u64,
    /// Highest end of an extent in the file; 0 if there are none.
    pub end: u64,
}

/// The lists of extents in a file. Takes O(ranks) memory, besides the mapping.
pub struct Lists {
    name: String,
    source: SharedBytes,
    is_binary: bool,
    sections: Vec<ListSection>,
    sums: Vec<Sums>,
}

impl Lists {
    /// Maps a file and checks every entry. O(entries) time.
    ///
    /// # Errors
    /// The file is missing or damaged, a rank is missing or out of order, or an extent is no pair of numbers or ends
    /// beyond 2^63 - 1. The message is one line that says which and where.
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        Self::from_bytes(&path.display().to_string(), SharedBytes::map(path, "a list of extents")?)
    }

    /// Checks lists in memory. Errors call them `name`.
    ///
    /// # Errors
    /// The errors of [`Lists::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<SharedBytes>) -> Result<Self, PatternError> {
        let source = bytes.into();
        let is_binary = source.starts_with(binary::MAGIC);
        let sections = if is_binary { binary::sections(name, &source)? } else { text::sections(name, &source)? };
        let mut lists = Self { name: name.to_string(), source, is_binary, sections, sums: Vec::new() };
        let mut all = 0u64;
        for rank in 0..lists.sections.len() {
            let sums = lists.sum(rank)?;
            all = all.checked_add(sums.bytes).filter(|&all| all <= i64::MAX as u64).ok_or_else(|| {
                PatternError::input(
                    name,
                    format!("rank {rank}"),
                    "the extents up to here have more than 2^63 - 1 bytes",
                )
            })?;
            lists.sums.push(sums);
        }
        Ok(lists)
    }

    /// Checks a rank's entries and returns their sums.
    fn sum(&self, rank: usize) -> Result<Sums, PatternError> {
        let mut sums = Sums::default();
        for extent in self.extents(rank) {
            let Extent { offset, len } = extent?;
            if len > 0 {
                sums.requests += 1;
                sums.bytes = sums.bytes.saturating_add(len);
                sums.end = sums.end.max(offset + len);
            }
        }
        Ok(sums)
    }

    /// Returns the name that errors call the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of ranks that have a list in the file.
    pub fn ranks(&self) -> usize {
        self.sections.len()
    }

    /// Returns the sums over a rank's entries; zeros if there is no such rank.
    pub fn sums(&self, rank: usize) -> Sums {
        self.sums.get(rank).copied().unwrap_or_default()
    }

    /// Iterates over the extents of a rank in the order of the file, empty ones too; over none if there is no such
    /// rank. An error means that the file was changed after it was opened.
    pub fn extents(&self, rank: usize) -> Box<dyn Iterator<Item = Result<Extent, PatternError>> + '_> {
        let Some(section) = self.sections.get(rank) else { return Box::new(std::iter::empty()) };
        let bytes = &self.source[section.bytes.clone()];
        if self.is_binary {
            Box::new(binary::entries(&self.name, bytes, section.place))
        } else {
            Box::new(text::entries(&self.name, bytes, section.place))
        }
    }
}

/// Maximum offset, length and end of an extent.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// Returns an extent, if its end is at most [`LARGEST`]. Both numbers must be at most [`LARGEST`].
pub(super) fn extent(offset: u64, len: u64) -> Result<Extent, String> {
    if offset > LARGEST - len {
        return Err(format!("ends beyond 2^63 - 1: offset {offset}, length {len}"));
    }
    Ok(Extent { offset, len })
}
