//! The file as cells: which ranks write into each, in which call.

use tributary::access::Extent;
use tributary_benchmarks::Pattern;

use crate::Failure;

/// Most cells of a picture.
const CELLS: u64 = 768;
/// Cells of a row, where nobody says how many bytes a row is.
const COLUMNS: u64 = 64;
/// Most extents that are walked for a picture.
const EXTENTS: u64 = 20_000_000;

/// Who writes into a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The rank.
    pub rank: usize,
    /// The call.
    pub step: usize,
}

/// A part of the file, in equal cells.
#[derive(Debug)]
pub struct Strip {
    /// First byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// Bytes of a cell.
    pub cell: u64,
    /// Cells of a row.
    pub columns: u64,
    /// Who writes into each cell, ascending, nobody twice.
    pub owners: Vec<Vec<Owner>>,
}

impl Strip {
    /// Walks the extents of all ranks and steps. `row`: bytes of a row.
    ///
    /// # Errors
    /// A pattern too large to draw, nothing in the part that is to be drawn, or the pattern's own errors.
    pub fn of(pattern: &dyn Pattern, from: u64, bytes: Option<u64>, row: Option<u64>) -> Result<Self, Failure> {
        let totals = pattern.totals();
        if totals.requests > EXTENTS {
            let given = format!("picture: {} requests; allowed: {EXTENTS} or fewer", totals.requests);
            return Err(Failure::new(given));
        }
        let to = bytes.map_or(totals.file_size, |bytes| from.saturating_add(bytes)).min(totals.file_size);
        if from >= to {
            let size = totals.file_size;
            return Err(Failure::new(format!("picture: from {from}; allowed: below the file's size, {size} bytes")));
        }
        let mut unit = gcd(to - from, row.unwrap_or(0));
        each(pattern, from, to, |_, part| unit = gcd(gcd(unit, part.offset - from), part.len))?;
        let fits = unit * CELLS >= to - from;
        let cell = if fits { unit } else { (to - from).div_ceil(CELLS).next_multiple_of(unit) };
        let cells = (to - from).div_ceil(cell);
        let columns = row.map_or(COLUMNS.min(cells), |row| row.div_ceil(cell).clamp(1, cells));
        let mut owners = vec![Vec::new(); cells as usize];
        each(pattern, from, to, |owner, part| {
            let (first, last) = ((part.offset - from) / cell, (part.end() - 1 - from) / cell);
            for cell in &mut owners[first as usize..=last as usize] {
                if let Err(at) = cell.binary_search(&owner) {
                    cell.insert(at, owner);
                }
            }
        })?;
        Ok(Self { from, to, cell, columns, owners })
    }

    /// Bytes of a row.
    pub fn row(&self) -> u64 {
        self.cell * self.columns
    }
}

/// Visits what every rank writes of `from..to` in every call.
fn each(pattern: &dyn Pattern, from: u64, to: u64, mut visit: impl FnMut(Owner, Extent)) -> Result<(), Failure> {
    for step in 0..pattern.steps() {
        for rank in 0..pattern.ranks() {
            for extent in pattern.rank_access(rank, step)?.file.iter() {
                let (offset, end) = (extent.offset.max(from), extent.end().min(to));
                if offset < end {
                    visit(Owner { rank, step }, Extent { offset, len: end - offset });
                }
            }
        }
    }
    Ok(())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
