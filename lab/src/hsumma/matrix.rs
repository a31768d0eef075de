//! The matrices, whose elements are functions of their position, and the serial product.
//!
//! Elements are small integers, so every sum of products is exact in 64-bit floating point, in any order: a result that is
//! not equal is wrong.

use std::ops::Range;

use ndarray::Array2;

/// The element of A at a row and a column.
pub fn a(row: usize, column: usize) -> f64 {
    element(1, row, column)
}

/// The element of B at a row and a column.
pub fn b(row: usize, column: usize) -> f64 {
    element(2, row, column)
}

/// A number from -8 to 8, hashed by the finaliser of SplitMix64, so that blocks differ.
fn element(matrix: u64, row: usize, column: usize) -> f64 {
    let mut bits = (matrix << 62) ^ ((row as u64) << 31) ^ column as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) % 17) as f64 - 8.0
}

/// A submatrix.
pub fn part(of: fn(usize, usize) -> f64, rows: Range<usize>, columns: Range<usize>) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), columns.len()), |(row, column)| of(rows.start + row, columns.start + column))
}

/// Some rows and columns of the product of the n x n matrices, element by element. O(rows columns n).
pub fn product(n: usize, rows: Range<usize>, columns: Range<usize>) -> Array2<f64> {
    let mut sum = Array2::zeros((rows.len(), columns.len()));
    for (mut line, row) in sum.outer_iter_mut().zip(rows) {
        for k in 0..n {
            let factor = a(row, k);
            line.iter_mut().zip(columns.clone()).for_each(|(sum, column)| *sum += factor * b(k, column));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_definition() {
        let expected = |row: usize, column: usize| (0..9).map(|k| a(row, k) * b(k, column)).sum::<f64>();
        let product = product(9, 2..5, 1..9);
        assert!(product.indexed_iter().all(|((row, column), &sum)| sum == expected(row + 2, column + 1)));
        assert_eq!(part(a, 1..3, 4..6)[[1, 0]], a(2, 4));
        let all: Vec<f64> = (0..100).map(|i| a(i, i)).chain((0..100).map(|i| b(i, i))).collect();
        assert!(all.iter().all(|x| x.abs() <= 8.0) && all[..100] != all[100..]);
    }
}
