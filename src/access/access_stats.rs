//! Counts bytes and extents of the accesses of one or more ranks, and finds their range.

use tributary_base::wire;

use super::Extents;

/// Bytes, extents and range of the accesses of one or more ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessStats {
    /// Lowest offset in the file; `u64::MAX` without data.
    pub start: u64,
    /// Highest end in the file; 0 without data. In an agreed read, at most the end of the file.
    pub end: u64,
    /// Sum of the extents' lengths, in bytes.
    pub bytes: u64,
    /// Number of extents of all these ranks.
    pub requests: u64,
    /// Largest number of extents that one rank has.
    pub most: u64,
    /// Estimated number of pairs (rank, window) in which the rank has bytes in the window; 0 if no decision needs it.
    pub touched: u64,
}

wire::fields!(struct AccessStats { start, end, bytes, requests, most, touched });

impl AccessStats {
    /// The statistics of a rank without bytes.
    pub const NONE: Self = Self { start: u64::MAX, end: 0, bytes: 0, requests: 0, most: 0, touched: 0 };

    /// Returns the statistics of one rank, which has bytes in `touched` windows.
    #[inline]
    pub fn from_extents(file: &Extents, touched: u64) -> Self {
        let (requests, none) = (file.count(), Self { touched, ..Self::NONE });
        let of_range = |(start, end)| Self { start, end, bytes: file.bytes(), requests, most: requests, touched };
        file.span().map_or(none, of_range)
    }

    /// Merges the statistics of other ranks.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
        self.most = self.most.max(other.most);
        self.touched = self.touched.saturating_add(other.touched);
    }

    /// Returns the share of these statistics from `start` to `end`, as if bytes and extents lay evenly in the range.
    pub fn within(&self, start: u64, end: u64) -> Self {
        let span = u128::from(self.span().max(1));
        // At most `all`, so the result fits in 64 bits.
        let part = |all: u64| (u128::from(all) * u128::from(end - start) / span) as u64;
        Self {
            start,
            end,
            bytes: part(self.bytes),
            requests: part(self.requests).max(1),
            most: part(self.most).max(1),
            touched: part(self.touched),
        }
    }

    /// Returns the length of the range in bytes.
    pub fn span(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns true if it is certain that ranks have no data for some bytes of the range.
    pub fn has_holes(&self) -> bool {
        self.bytes < self.span()
    }

    /// Returns the mean size of an extent in bytes.
    pub fn mean(&self) -> u64 {
        self.bytes / self.requests.max(1)
    }
}
