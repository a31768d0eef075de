//! Makes the lists of a file a pattern.
//!
//! The byte at an offset is a hash of the offset and the rank that writes it. So where ranks overlap, a test can find
//! out whose byte is in the file; where a rank overlaps itself, its bytes are equal. The serial writer writes in rank
//! order: the highest rank wins (`trib_overlap=rank_order`).

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use tributary::Extents;
use tributary::access::BufferLayout;

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;
use crate::value::fill_bytes;

use super::extent_index::ExtentIndex;
use super::lists::Lists;

/// A list of extents for each rank, which are written in one collective call.
#[derive(Clone)]
pub struct ListPattern {
    lists: Arc<Lists>,
    totals: Totals,
}

impl ListPattern {
    /// Opens a list file as a pattern.
    ///
    /// # Errors
    /// The errors of [`Lists::open`].
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        Ok(Self::new(Lists::open(path)?))
    }

    /// Creates the pattern of lists that are open. O(ranks).
    pub fn new(lists: Lists) -> Self {
        let mut totals = Totals { requests: 0, bytes: 0, file_size: 0 };
        for sums in (0..lists.ranks()).map(|rank| lists.sums(rank)) {
            totals.requests = totals.requests.saturating_add(sums.requests);
            totals.bytes = totals.bytes.saturating_add(sums.bytes);
            totals.file_size = totals.file_size.max(sums.end);
        }
        Self { lists: Arc::new(lists), totals }
    }

    /// Returns the open list file that the pattern uses.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    fn check(&self, rank: usize, step: usize) -> Result<(), PatternError> {
        if step > 0 {
            return Err(PatternError::argument("step", step, "0"));
        }
        if rank >= self.lists.ranks() {
            return Err(PatternError::argument("rank", rank, format!("0 to {}", self.lists.ranks() - 1)));
        }
        Ok(())
    }
}

impl Pattern for ListPattern {
    fn name(&self) -> &str {
        "list"
    }

    fn ranks(&self) -> usize {
        self.lists.ranks()
    }

    fn describe(&self) -> String {
        let Totals { requests, bytes, .. } = self.totals;
        format!("{requests} extents of {bytes} bytes on {} ranks, from {}", self.ranks(), self.lists.name())
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        self.check(rank, step)?;
        let mut problem = None;
        let list = self.lists.extents(rank).map_while(|extent| match extent {
            Ok(extent) => Some(extent),
            Err(error) => {
                problem = Some(error);
                None
            }
        });
        let file = Extents::from_list(list)?;
        if let Some(error) = problem {
            return Err(error);
        }
        Ok(RankAccess { file, layout: BufferLayout::Contiguous, requests: self.lists.sums(rank).requests })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.check(rank, step)?;
        let bytes = self.lists.sums(rank).bytes;
        if data.len() as u64 != bytes {
            return Err(PatternError::argument("buffer", format!("{} bytes", data.len()), format!("{bytes} bytes")));
        }
        let mut rest = data;
        for extent in self.lists.extents(rank) {
            let extent = extent?;
            let len = rest.len().min(extent.len as usize);
            let (front, behind) = rest.split_at_mut(len);
            fill_bytes(rank, extent.offset, front);
            rest = behind;
        }
        Ok(())
    }

    fn overlaps(&self) -> bool {
        true
    }

    /// Takes O(own extents) memory; looks up every extent of the higher ranks among the rank's own.
    fn fill_as_read(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.fill(rank, step, data)?;
        let own = ExtentIndex::from_extents(self.lists.extents(rank))?;
        for higher in rank + 1..self.ranks() {
            for extent in self.lists.extents(higher) {
                let extent = extent?;
                own.within(extent, |part, at| fill_bytes(higher, part.offset, &mut data[at..][..part.len as usize]));
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn closed_form(&self, _division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals;
        ClosedForm { requests, bytes, metadata_fan_in: None, data_fan_in: None }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        let extents = |rank| self.lists.extents(rank).map(move |extent| Ok((rank, extent?)));
        serial::write_extents(file, (0..self.ranks()).flat_map(extents))
    }
}
