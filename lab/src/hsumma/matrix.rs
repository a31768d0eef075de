//! Matrices of the HSUMMA test program, whose elements are functions of their position, and the serial product.
//!
//! Elements are small integers, so every sum of products is exact in 64-bit floating point, in any order: a result that
//! is not equal is wrong.

use std::ops::Range;

/// Returns the element of A at a row and a column.
pub fn a(row: usize, column: usize) -> f64 {
    element(1, row, column)
}

/// Returns the element of B at a row and a column.
pub fn b(row: usize, column: usize) -> f64 {
    element(2, row, column)
}

/// Returns a number from -8 to 8, hashed by the finaliser of SplitMix64, so that blocks differ.
fn element(matrix: u64, row: usize, column: usize) -> f64 {
    let mut bits = (matrix << 62) ^ ((row as u64) << 31) ^ column as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) % 17) as f64 - 8.0
}

/// Matrix, stored row by row.
#[derive(Debug, PartialEq)]
pub struct Matrix {
    /// Number of columns.
    pub columns: usize,
    /// All elements, row by row.
    pub elements: Vec<f64>,
}

impl Matrix {
    /// Creates the matrix of some rows and columns of a matrix whose elements the function `element` returns.
    pub fn of(element: impl Fn(usize, usize) -> f64, rows: Range<usize>, columns: Range<usize>) -> Self {
        let row = |row| columns.clone().map(move |column| (row, column));
        let elements = rows.flat_map(row).map(|(row, column)| element(row, column)).collect();
        Self { columns: columns.len(), elements }
    }

    /// Returns a copy of some rows and columns.
    pub fn part(&self, rows: Range<usize>, columns: Range<usize>) -> Self {
        Self::of(|row, column| self.elements[row * self.columns + column], rows, columns)
    }

    /// Adds the product `a` `b` to this matrix.
    pub fn add_product(&mut self, a: &Self, b: &Self) {
        for (line, factors) in self.elements.chunks_exact_mut(self.columns).zip(a.elements.chunks_exact(a.columns)) {
            for (factor, row) in factors.iter().zip(b.elements.chunks_exact(b.columns)) {
                line.iter_mut().zip(row).for_each(|(sum, b)| *sum += factor * b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_definition() {
        let expected = |row: usize, column: usize| (0..9).map(|k| a(row, k) * b(k, column)).sum::<f64>();
        let mut product = Matrix::of(|_, _| 0.0, 2..5, 1..9);
        product.add_product(&Matrix::of(a, 2..5, 0..9), &Matrix::of(b, 0..9, 1..9));
        assert_eq!(product, Matrix::of(expected, 2..5, 1..9));
        assert_eq!(product.part(1..3, 4..6), Matrix::of(expected, 3..5, 5..7));
        let all: Vec<f64> = (0..100).map(|i| a(i, i)).chain((0..100).map(|i| b(i, i))).collect();
        assert!(all.iter().all(|x| x.abs() <= 8.0) && all[..100] != all[100..]);
    }
}
