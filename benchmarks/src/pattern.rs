//! The trait of all access patterns: a pure function of rank and ranks that says what the rank writes.

use std::fs::File;

use tributary::access::{BufferLayout, Extents};

use crate::error::PatternError;

/// What one rank writes in one collective call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankAccess {
    /// Where its bytes go, ascending, in bytes from the start of the file.
    pub file: Extents,
    /// Where they come from in the rank's buffer.
    pub layout: BufferLayout,
    /// The requests the program makes. `file` may hold fewer extents, where requests adjoin.
    pub requests: u64,
}

impl RankAccess {
    /// A rank that writes nothing, but takes part.
    pub fn nothing() -> Self {
        Self { file: Extents::empty(), layout: BufferLayout::Contiguous, requests: 0 }
    }
}

/// Sums over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Requests.
    pub requests: u64,
    /// Bytes written.
    pub bytes: u64,
    /// One past the last byte written.
    pub file_size: u64,
}

/// A collective write of a real or synthetic code. Every function is pure: the same arguments give the same answer on
/// every rank and in every run.
pub trait Pattern: Send + Sync {
    /// A short name, as on a command line.
    fn name(&self) -> &str;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Where the pattern comes from, in one line.
    fn describe(&self) -> String;

    /// What `rank` writes. Costs what the rank's own requests take, not what all ranks' do.
    ///
    /// # Errors
    /// A rank out of range, or extents beyond 2^63 - 1.
    fn rank_access(&self, rank: usize) -> Result<RankAccess, PatternError>;

    /// Fills the buffer of `rank`: the bytes of [`RankAccess::file`] in their order.
    ///
    /// # Errors
    /// A rank out of range, or a buffer of another size than the rank's bytes.
    fn fill(&self, rank: usize, buffer: &mut [u8]) -> Result<(), PatternError>;

    /// Sums over all ranks, without expanding any rank's requests.
    fn totals(&self) -> Totals;

    /// Writes the whole file from one process, element by element as the pattern's definition says: the reference that
    /// collective writes are compared with. Shares neither extents nor merging with [`Pattern::rank_access`].
    ///
    /// # Errors
    /// What the system says.
    fn write_serially(&self, file: &File) -> Result<(), PatternError>;
}
