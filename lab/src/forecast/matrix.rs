//! Sparse matrix of messages, with a row for each rank that owns messages and a cell for each message.

use std::collections::BTreeMap;
use std::ops::Range;

/// Message of the rank that owns the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// Other end of the message: the index of a rank or aggregator.
    pub(super) peer: u32,
    /// Number of bytes of the message, or another count.
    pub(super) amount: u32,
}

/// Sparse matrix: rows of cells, 8 bytes a cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    /// Index of the first cell of each row, then the number of all cells.
    starts: Vec<usize>,
    cells: Vec<Cell>,
}

impl Matrix {
    pub(super) fn of_rows<'a>(rows: impl IntoIterator<Item = &'a [Cell]>) -> Self {
        let mut matrix = Self { starts: vec![0], cells: Vec::new() };
        for row in rows {
            matrix.cells.extend_from_slice(row);
            matrix.starts.push(matrix.cells.len());
        }
        matrix
    }

    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> &[Cell] {
        &self.cells[self.starts[row]..self.starts[row + 1]]
    }

    /// Returns the transposed matrix: a row for each peer, with cells ascending by former row. O(cells + rows).
    pub(super) fn transposed(&self, peers: usize) -> Self {
        let mut starts = vec![0; peers + 1];
        self.cells.iter().for_each(|cell| starts[cell.peer as usize + 1] += 1);
        (0..peers).for_each(|peer| starts[peer + 1] += starts[peer]);
        let mut next = starts.clone();
        let mut cells = vec![Cell { peer: 0, amount: 0 }; self.cells.len()];
        for row in 0..self.rows() {
            for cell in self.row(row) {
                let at = &mut next[cell.peer as usize];
                cells[*at] = Cell { peer: row as u32, amount: cell.amount };
                *at += 1;
            }
        }
        Self { starts, cells }
    }

    /// Returns the cells for which `keep` returns true, each row sorted by `key`; both get the row and the peer.
    pub(super) fn sorted(&self, keep: impl Fn(usize, u32) -> bool, key: impl Fn(usize, u32) -> u64) -> Self {
        let mut matrix =
            Self { starts: Vec::with_capacity(self.starts.len()), cells: Vec::with_capacity(self.cells()) };
        matrix.starts.push(0);
        let mut sorted: Vec<(u64, Cell)> = Vec::new();
        for row in 0..self.rows() {
            sorted.clear();
            let kept = self.row(row).iter().filter(|cell| keep(row, cell.peer));
            sorted.extend(kept.map(|cell| (key(row, cell.peer), *cell)));
            sorted.sort_unstable_by_key(|(key, _)| *key);
            matrix.cells.extend(sorted.iter().map(|(_, cell)| *cell));
            matrix.starts.push(matrix.cells.len());
        }
        matrix
    }

    /// Returns a matrix with one row for each of `ranges`, the sum of the rows in the range. O(cells log cells).
    pub(super) fn joined(&self, ranges: impl Iterator<Item = Range<usize>>) -> Self {
        let mut matrix = Self { starts: vec![0], cells: Vec::new() };
        for range in ranges {
            let mut cells: Vec<Cell> = range.flat_map(|row| self.row(row)).copied().collect();
            cells.sort_by_key(|cell| cell.peer);
            cells.dedup_by(|later, kept| {
                let same = later.peer == kept.peer;
                kept.amount += if same { later.amount } else { 0 };
                same
            });
            matrix.cells.extend(cells);
            matrix.starts.push(matrix.cells.len());
        }
        matrix
    }

    /// Returns a matrix whose row g is the sum of the rows r with `group(r)` = g. O(cells log cells).
    pub(super) fn grouped(&self, group: impl Fn(usize) -> usize) -> Self {
        let mut sums: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); self.rows()];
        for row in 0..self.rows() {
            let into = &mut sums[group(row)];
            self.row(row).iter().for_each(|cell| *into.entry(cell.peer).or_default() += cell.amount);
        }
        let cells = |row: BTreeMap<u32, u32>| row.into_iter().map(|(peer, amount)| Cell { peer, amount }).collect();
        let rows: Vec<Vec<Cell>> = sums.into_iter().map(cells).collect();
        Self::of_rows(rows.iter().map(Vec::as_slice))
    }
}
