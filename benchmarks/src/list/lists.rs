//! An open list file of either form. Opening checks every entry. Only the position of each rank's entries is kept in memory,
//! and they are parsed again whenever they are needed.

use std::ops::Range;
use std::path::Path;

use tributary::Extent;

use crate::error::PatternError;
use crate::source::Source;

use super::{binary, text};

/// Where the entries of one rank are in the file.
pub(super) struct Section {
    /// Their bytes.
    pub bytes: Range<usize>,
    /// Number of the line the section begins behind (text), or of its rank (binary): for errors.
    pub place: u64,
}

/// Sums over one rank's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Extents that are not empty.
    pub requests: u64,
    /// Their bytes, overlaps counted as often as they are listed.
    pub bytes: u64,
    /// One past the last byte of the file they reach; 0 without any.
    pub end: u64,
}

/// The lists of a file. Memory: O(ranks), besides the mapping.
pub struct Lists {
    name: String,
    source: Source,
    is_binary: bool,
    sections: Vec<Section>,
    sums: Vec<Sums>,
}

impl Lists {
    /// Maps a file and checks every entry. O(entries) time.
    ///
    /// # Errors
    /// A file that is missing or damaged, a rank that is missing or out of order, an extent that is no pair of numbers or
    /// ends beyond 2^63 - 1: one line that says which and where.
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        Self::from_bytes(&path.display().to_string(), Source::map(path, "a list of extents")?)
    }

    /// Checks lists in memory; `name` is what errors call them.
    ///
    /// # Errors
    /// The errors of [`Lists::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Source>) -> Result<Self, PatternError> {
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

    /// Adds up a rank's entries, and so checks each.
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

    /// What errors call the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.sections.len()
    }

    /// Returns the sums over a rank's entries; zeros for a rank that is not there.
    pub fn sums(&self, rank: usize) -> Sums {
        self.sums.get(rank).copied().unwrap_or_default()
    }

    /// Returns the extents of a rank in the order of the file, empty ones too; none for a rank that is not there. After opening
    /// an error means that the file has been changed meanwhile.
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

/// Largest offset, length and end.
pub(super) const LARGEST: u64 = i64::MAX as u64;

/// Returns an extent of numbers up to [`LARGEST`], if its end is one too.
pub(super) fn extent(offset: u64, len: u64) -> Result<Extent, String> {
    if offset > LARGEST - len {
        return Err(format!("ends beyond 2^63 - 1: offset {offset}, length {len}"));
    }
    Ok(Extent { offset, len })
}
