//! A tuned table as the algorithms of an endpoint's agreements: for each operation, the entry nearest in ranks and size.

use std::io::Read;
use std::path::Path;

use super::candidate::Candidate;
use super::table::{Entry, Table};
use crate::collectives::in_place::{Lanes, Part};
use crate::collectives::{Operation, Problem, agree, broadcast};
use crate::error::{Error, Result};
use crate::fabric::{Agreements, Endpoint};
use crate::schedule::{ReduceOp, Schedule};
use crate::topology::{Rank, Topology};

/// See the module. For an operation without an entry, the library chooses.
#[derive(Debug)]
pub struct Chosen(Vec<(Entry, Candidate)>);

impl Chosen {
    /// The algorithms of a table.
    ///
    /// # Errors
    /// An entry that is not allowed ([`Entry::candidate`]).
    pub fn new(table: &Table) -> Result<Self> {
        let entry = |entry: &Entry| Ok((entry.clone(), entry.candidate()?));
        Ok(Self(table.entries.iter().map(entry).collect::<Result<_>>()?))
    }

    /// The entry of `operation` with the nearest number of ranks, and among those the nearest size, both by ratio; the first of
    /// several. `None` if the table has no entry of the operation. O(entries).
    pub fn nearest(&self, operation: Operation, ranks: usize, bytes: u64) -> Option<&(Entry, Candidate)> {
        let ratio = |a: f64, b: f64| (a.max(1.0) / b.max(1.0)).ln().abs();
        let distance =
            |entry: &Entry| (ratio(entry.ranks as f64, ranks as f64), ratio(entry.bytes as f64, bytes as f64));
        let nearer = |a: &Entry, b: &Entry| {
            let (a, b) = (distance(a), distance(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        self.0.iter().filter(|(entry, _)| entry.operation == operation).min_by(|(a, _), (b, _)| nearer(a, b))
    }

    fn in_place(&self, operation: Operation, part: Part<'_>) -> Option<Schedule> {
        let (entry, candidate) = self.nearest(operation, part.group.size(), part.message.len)?;
        candidate.part(&Part { segment: entry.segment, ..part })
    }
}

impl Agreements for Chosen {
    fn broadcast(&self, rank: Rank, ranks: usize, root: Rank, len: u64) -> Option<Schedule> {
        self.in_place(Operation::Broadcast, Part::of_all(rank, ranks, root, len, Lanes::Each(&[])))
    }

    fn allreduce(&self, rank: Rank, ranks: usize, ops: &[ReduceOp]) -> Option<Schedule> {
        self.in_place(Operation::Allreduce, Part::of_all(rank, ranks, 0, 8 * ops.len() as u64, Lanes::Each(ops)))
    }

    fn gather(&self, rank: Rank, ranks: usize, root: Rank, len: u64) -> Option<Schedule> {
        let (entry, candidate) = self.nearest(Operation::Gather, ranks, len)?;
        let fitting =
            Candidate::new(candidate.operation, candidate.groups.min(ranks), candidate.inner, candidate.outer);
        let (topology, sizes) = (Topology::blocks(ranks, 1).ok()?, vec![len; ranks]);
        let (with, segment) = (ReduceOp::Max, entry.segment);
        fitting
            .ok()?
            .schedule(&Problem { rank, topology: &topology, root, sizes: &sizes, with, segment, groups: None })
            .ok()
    }
}

/// The longest table in bytes.
const LONGEST: u64 = 16 << 20;

fn read(path: &Path) -> Result<Vec<u8>> {
    let fail = |cause| Error::io(0, "read", path, 0, &cause);
    let mut text = Vec::new();
    std::fs::File::open(path).map_err(fail)?.take(LONGEST + 1).read_to_end(&mut text).map_err(fail)?;
    match text.len() as u64 > LONGEST {
        true => Err(Error::argument("table", path.display(), format!("{LONGEST} bytes or fewer"))),
        false => Ok(text),
    }
}

/// Reads the table in file `path` on rank 0 and broadcasts it. Collective, with the same path.
///
/// # Errors
/// A file that cannot be read or is no table ([`Table::parse`]): the same error on all ranks.
pub async fn load(endpoint: &mut Endpoint, path: &str) -> Result<Chosen> {
    let path = Path::new(path);
    let read = match endpoint.rank() {
        0 => read(path),
        _ => Ok(Vec::new()),
    };
    let read = agree(endpoint, read).await?;
    let text = broadcast(endpoint, 0, &read).await?;
    Chosen::new(&Table::parse(&path.display().to_string(), &text)?)
}
