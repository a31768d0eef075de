//! Divides a file into cells: the ranks and calls whose bytes are in each cell after all calls.
//!
//! Calls are applied in order, and within a call the highest rank's bytes stay (`trib_overlap=rank_order`). So a rank
//! that writes a whole cell replaces its earlier owners; a rank that writes a part of a cell shares it.
//!
//! A picture cannot show who owns which bytes of a cell that several ranks share. So if the user names no part of the
//! file, the whole file is drawn only if most cells belong to one rank; else a part of it in which they do.

use tributary::access::Extent;
use tributary_benchmarks::Pattern;

use trib::Failure;

/// Maximum number of cells in a picture.
const CELLS: u64 = 768;
/// Default number of cells in a row.
const COLUMNS: u64 = 64;
/// Maximum number of extents that are visited for a picture.
const EXTENTS: u64 = 20_000_000;

/// Factor by which the drawn part of the file gets smaller if too many cells belong to several ranks.
const SMALLER: u64 = 4;

/// Owner of a cell: the rank and the call that wrote its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Number of the rank.
    pub rank: usize,
    /// Number of the call.
    pub step: usize,
}

/// Equal part of the drawn range of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Owners of the cell's bytes, ascending and distinct.
    pub owners: Vec<Owner>,
    /// True if a rank overwrote the whole cell after another rank in the same call.
    pub overlap: bool,
}

impl Cell {
    /// Returns the number of ranks with bytes in the cell.
    pub fn ranks(&self) -> usize {
        self.owners.chunk_by(|a, b| a.rank == b.rank).count()
    }

    /// Applies a write of `owner` to the whole cell, or to a part of it.
    fn written(&mut self, owner: Owner, whole: bool) {
        if whole {
            self.overlap |= self.owners.iter().any(|other| other.rank != owner.rank && other.step == owner.step);
            self.owners.clear();
        }
        if let Err(at) = self.owners.binary_search(&owner) {
            self.owners.insert(at, owner);
        }
    }
}

/// Drawn part of a file, divided into equal cells.
#[derive(Debug)]
pub struct Strip {
    /// First byte of the drawn part.
    pub from: u64,
    /// One past the last byte of the drawn part.
    pub to: u64,
    /// Number of bytes of the whole file.
    pub size: u64,
    /// Number of bytes of a cell.
    pub cell: u64,
    /// Number of cells in a row.
    pub columns: u64,
    /// Cells of the drawn part, in the order of the file.
    pub cells: Vec<Cell>,
}

impl Strip {
    /// Returns the part of the file from byte `from` on, of `bytes` bytes; without either, the part that shows most.
    /// `row` is the number of bytes of a row. Visits the extents of all ranks and steps, without `from` and `bytes` up
    /// to ten times.
    ///
    /// # Errors
    /// The pattern is too large to draw, the part to be drawn is empty, or the pattern fails.
    pub fn of(pattern: &dyn Pattern, from: Option<u64>, bytes: Option<u64>, row: Option<u64>) -> Result<Self, Failure> {
        let totals = pattern.totals();
        if totals.requests > EXTENTS {
            let given = format!("picture: {} requests; allowed: {EXTENTS} or fewer", totals.requests);
            return Err(Failure::new(given));
        }
        let size = totals.file_size;
        let part = |from: u64, bytes: u64| Self::part(pattern, from, from.saturating_add(bytes).min(size), size, row);
        if from.is_some() || bytes.is_some() {
            return part(from.unwrap_or(0), bytes.unwrap_or(size));
        }
        let mut strip = part(0, size)?;
        if !strip.is_clear() {
            let mut first = size;
            each(pattern, 0, size, |_, written| first = first.min(written.offset))?;
            let mut bytes = size - first;
            while !strip.is_clear() && bytes > 1 {
                bytes = bytes.div_ceil(SMALLER);
                strip = part(first, bytes)?;
            }
        }
        Ok(strip)
    }

    fn part(pattern: &dyn Pattern, from: u64, to: u64, size: u64, row: Option<u64>) -> Result<Self, Failure> {
        if from >= to {
            return Err(Failure::new(format!("picture: from {from}; allowed: below the file's size, {size} bytes")));
        }
        let mut unit = gcd(to - from, row.unwrap_or(0));
        each(pattern, from, to, |_, part| unit = gcd(gcd(unit, part.offset - from), part.len))?;
        let fits = unit * CELLS >= to - from;
        let cell = if fits { unit } else { (to - from).div_ceil(CELLS).next_multiple_of(unit) };
        let count = (to - from).div_ceil(cell);
        let columns = row.map_or(COLUMNS.min(count), |row| row.div_ceil(cell).clamp(1, count));
        let mut cells = vec![Cell::default(); count as usize];
        each(pattern, from, to, |owner, part| {
            let (first, last) = ((part.offset - from) / cell, (part.end() - 1 - from) / cell);
            for at in first..=last {
                let (start, end) = (from + at * cell, (from + (at + 1) * cell).min(to));
                cells[at as usize].written(owner, part.offset <= start && end <= part.end());
            }
        })?;
        Ok(Self { from, to, size, cell, columns, cells })
    }

    /// Returns true if at least two of three cells with bytes have the bytes of one rank only.
    fn is_clear(&self) -> bool {
        let of = |is: fn(usize) -> bool| self.cells.iter().filter(|cell| is(cell.ranks())).count();
        2 * of(|ranks| ranks > 1) <= of(|ranks| ranks == 1)
    }

    /// Returns the number of bytes of a row.
    pub fn row(&self) -> u64 {
        self.cell * self.columns
    }
}

/// Visits the extents within `from..to` of all ranks in all calls, ordered by call, then by rank.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(writes: &[(usize, usize, bool)]) -> (Vec<usize>, bool) {
        let mut cell = Cell::default();
        for &(step, rank, whole) in writes {
            cell.written(Owner { rank, step }, whole);
        }
        (cell.owners.iter().map(|owner| owner.rank).collect(), cell.overlap)
    }

    #[test]
    fn the_last_rank_to_write_a_whole_cell_owns_it() {
        assert_eq!(owners(&[]), (vec![], false));
        assert_eq!(owners(&[(0, 1, true), (0, 3, true)]), (vec![3], true));
        // A rank that overwrites itself, or a later call an earlier one, is not an overlap of ranks.
        assert_eq!(owners(&[(0, 1, true), (0, 1, true)]), (vec![1], false));
        assert_eq!(owners(&[(0, 2, true), (1, 0, true)]), (vec![0], false));
    }

    #[test]
    fn a_rank_that_writes_a_part_shares_the_cell() {
        assert_eq!(owners(&[(0, 0, false), (0, 2, false), (0, 2, false)]), (vec![0, 2], false));
        assert_eq!(owners(&[(0, 0, true), (0, 2, false)]), (vec![0, 2], false));
        assert_eq!(owners(&[(0, 0, false), (0, 1, false), (0, 2, true)]), (vec![2], true));
    }
}
