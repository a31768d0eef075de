//! Replays a write of a capture on as many ranks as the capture has, or on more.

use std::path::Path;
use std::sync::Arc;

use tributary::Extents;
use tributary_benchmarks::{Captured, Pattern, PatternError, Stretched};

use crate::Failure;

/// Maximum number of ranks that are counted for each rank of the capture. The counted ranks stand for the others.
const COUNTED: usize = 16;

/// Write of a capture, scaled to a number of ranks.
pub struct ScaledWrite {
    /// The pattern of the capture, stretched to the wanted number of ranks.
    pub pattern: Arc<Stretched<Captured>>,
    /// Number of the call in the capture.
    pub call: usize,
    /// First byte that is written, and one past the last.
    pub range: (u64, u64),
}

impl ScaledWrite {
    /// Opens a call of a capture (default: the write with the most bytes) on `ranks` ranks (default: the capture's
    /// number).
    ///
    /// # Errors
    /// Errors of the file; a call that the capture does not have, or no call that writes; a number of ranks that is no
    /// multiple of the capture's.
    pub fn open(path: &Path, ranks: Option<usize>, call: Option<usize>) -> Result<Self, Failure> {
        let captured = Captured::open(path, None)?;
        let ranks = ranks.unwrap_or(captured.ranks());
        let call = match call {
            Some(call) if call < captured.steps() => call,
            Some(call) => return Err(Failure::new(format!("--call {call}; allowed: 0 to {}", captured.steps() - 1))),
            None => largest(&captured)?,
        };
        let (start, end) = range(&captured, call)?;
        let times = (ranks / captured.ranks()) as u64;
        let pattern = Arc::new(Stretched::new(captured, ranks)?);
        Ok(Self { pattern, call, range: (start * times, end * times) })
    }

    /// Returns the file extents of a rank.
    ///
    /// # Errors
    /// Errors of the capture.
    pub fn extents(&self, rank: usize) -> Result<Extents, PatternError> {
        self.pattern.rank_access(rank, self.call).map(|access| access.file)
    }

    /// Returns the rank whose counts stand for those of `rank`.
    pub fn stand_in(&self, rank: usize) -> usize {
        self.pattern.stand_in(rank, COUNTED)
    }
}

/// Returns the number of the write with the most bytes.
fn largest(captured: &Captured) -> Result<usize, Failure> {
    let bytes = |call| (0..captured.ranks()).map(|rank| Ok(captured.rank_access(rank, call)?.file.bytes())).sum();
    let all = (0..captured.steps()).map(bytes).collect::<Result<Vec<u64>, PatternError>>()?;
    let most = all.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return Err(Failure::new("capture: no call writes a byte; allowed: one that does"));
    }
    Ok(all.iter().position(|bytes| *bytes == most).unwrap_or(0))
}

/// Returns the first byte of a call in the file, and one past the last.
fn range(captured: &Captured, call: usize) -> Result<(u64, u64), Failure> {
    let mut range = (u64::MAX, 0);
    for rank in 0..captured.ranks() {
        if let Some((start, end)) = captured.rank_access(rank, call)?.file.span() {
            range = (range.0.min(start), range.1.max(end));
        }
    }
    Ok((range.0.min(range.1), range.1))
}
