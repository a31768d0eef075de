//! Divides arrays into blocks over a grid of ranks, as codes with regular grids do.
//!
//! Dimensions are listed fastest first (x, y, z, ...), as these codes name them.

use tributary::access::Extents;

use crate::error::PatternError;
use crate::meeting::{common, touched};

/// A length divided into parts as evenly as possible: if it does not divide, the first parts are longer by 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of elements of the whole length.
    pub size: u64,
    /// Number of parts, at least 1.
    pub parts: u64,
}

impl Cut {
    /// Returns the first element and the number of elements of part `part`.
    pub fn part(self, part: u64) -> (u64, u64) {
        let (least, more) = (self.size / self.parts, self.size % self.parts);
        (part * least + part.min(more), least + u64::from(part < more))
    }

    /// Returns the number of elements of the smallest part that is not empty.
    fn least(self) -> u64 {
        (self.size / self.parts).max(1)
    }

    /// Returns a number that divides the ends of all parts, in elements.
    fn grain(self) -> u64 {
        if self.size.is_multiple_of(self.parts) { self.least() } else { 1 }
    }
}

/// An array whose first dimension is the fastest, and whose dimensions are all divided into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocks<const N: usize> {
    /// Size of an element, in bytes.
    pub element: u64,
    /// Dimensions with their division, the fastest first.
    pub cuts: [Cut; N],
}

impl<const N: usize> Blocks<N> {
    /// Creates an array of `sizes` elements, divided by `grid`.
    ///
    /// # Errors
    /// A size is zero, or `copies` such arrays have more than 2^63 - 1 bytes. `what` names the sizes in errors.
    pub fn new(what: &str, element: u64, sizes: [u64; N], grid: [u64; N], copies: u64) -> Result<Self, PatternError> {
        if let Some(zero) = sizes.iter().chain([&element]).find(|&&size| size == 0) {
            return Err(PatternError::argument(
                what,
                format!("{zero} in {} of {element} bytes", times(&sizes)),
                "1 or more",
            ));
        }
        let mut bytes = copies.checked_mul(element);
        for size in sizes {
            bytes = bytes.and_then(|bytes| bytes.checked_mul(size));
        }
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            let given = format!("{} elements of {element} bytes, {copies} times", times(&sizes));
            return Err(PatternError::argument(what, given, "a file below 2^63 bytes"));
        }
        let cuts = std::array::from_fn(|d| Cut { size: sizes[d], parts: grid[d] });
        Ok(Self { element, cuts })
    }

    /// Returns the size of the array in bytes.
    pub fn bytes(&self) -> u64 {
        self.cuts.iter().fold(self.element, |bytes, cut| bytes * cut.size)
    }

    /// Returns the first element and the number of elements along each dimension, of the block at position `place` of
    /// the grid.
    pub fn block(&self, place: [u64; N]) -> ([u64; N], [u64; N]) {
        let parts: [(u64, u64); N] = std::array::from_fn(|d| self.cuts[d].part(place[d]));
        (parts.map(|part| part.0), parts.map(|part| part.1))
    }

    /// Returns the file extents of the block at position `place` of the grid, in an array that begins at `offset`, in
    /// ascending order.
    ///
    /// # Errors
    /// An extent ends beyond 2^63 - 1.
    pub fn extents(&self, offset: u64, place: [u64; N]) -> Result<Extents, PatternError> {
        let (starts, counts) = self.block(place);
        let slowest_first = |mut list: [u64; N]| {
            list.reverse();
            list
        };
        let sizes = slowest_first(self.cuts.map(|cut| cut.size));
        Ok(Extents::subarray(offset, self.element, &sizes, &slowest_first(counts), &slowest_first(starts))?)
    }

    /// Returns the number of rows of the block at position `place` of the grid.
    pub fn block_rows(&self, place: [u64; N]) -> u64 {
        let (_, counts) = self.block(place);
        if counts[0] == 0 { 0 } else { counts[1..].iter().product() }
    }

    /// Returns the number of rows of all blocks together.
    pub fn rows(&self) -> u64 {
        let cut = self.cuts[0].parts.min(self.cuts[0].size);
        self.cuts[1..].iter().fold(cut, |rows, dim| rows * dim.size)
    }

    /// Returns an upper bound of the number of blocks that own any of `bytes` contiguous bytes, in arrays that follow
    /// one another from `offset` on. Both ends of the bytes are multiples of `grain`.
    ///
    /// For each dimension, the elements of one of its parts and of all faster dimensions are a contiguous slab. The
    /// bytes touch some number of slabs, and each slab belongs to as many blocks as the faster dimensions have parts.
    /// The result is the smallest of these products.
    pub fn within(&self, offset: u64, bytes: u64, grain: u64) -> u64 {
        let (mut unit, mut faster) = (self.element, 1u64);
        let mut fewest = u64::MAX;
        for cut in self.cuts {
            let grain = common(common(grain, offset), unit * cut.grain());
            let slabs = touched(bytes, unit * cut.least(), grain);
            fewest = fewest.min(slabs.saturating_mul(faster));
            unit *= cut.size;
            faster = faster.saturating_mul(cut.parts);
        }
        fewest.min(faster)
    }
}

/// Returns the coordinates of a rank in a grid whose first dimension is the fastest.
pub(crate) fn place<const N: usize>(rank: usize, grid: [u64; N]) -> [u64; N] {
    let mut rest = rank as u64;
    grid.map(|parts| {
        let place = rest % parts;
        rest /= parts;
        place
    })
}

/// Returns the given grid if its product is the number of ranks. Without a given grid, the prime factors of the
/// number of ranks, largest first, each divide the dimension whose parts are longest (`even`: among the dimensions
/// that they divide evenly).
///
/// # Errors
/// The given grid has another product; there are no ranks; or a factor divides no dimension.
pub(crate) fn grid<const N: usize>(
    ranks: usize,
    given: Option<[u64; N]>,
    sizes: [u64; N],
    even: bool,
) -> Result<[u64; N], PatternError> {
    if ranks == 0 {
        return Err(PatternError::argument("ranks", 0, "1 or more"));
    }
    if let Some(grid) = given {
        let product = grid.iter().try_fold(1u64, |product, &parts| product.checked_mul(parts));
        if product != Some(ranks as u64) {
            let allowed = format!("a product of {ranks}, the number of ranks");
            return Err(PatternError::argument("process grid", times(&grid), allowed));
        }
        return Ok(grid);
    }
    let mut grid = [1u64; N];
    for factor in prime_factors(ranks as u64) {
        let fits = |d: &usize| !even || sizes[*d].is_multiple_of(grid[*d] * factor);
        // Among equal dimensions the slowest, so that rows stay long.
        let Some(widest) = (0..N).filter(fits).max_by_key(|&d| sizes[d] / grid[d]) else {
            let allowed = format!("numbers that {} can be divided into evenly", times(&sizes));
            return Err(PatternError::argument("ranks", ranks, allowed));
        };
        grid[widest] *= factor;
    }
    Ok(grid)
}

/// Returns the prime factors of a number, largest first.
fn prime_factors(number: u64) -> Vec<u64> {
    let (mut rest, mut factor, mut all) = (number, 2, Vec::new());
    while factor * factor <= rest {
        while rest % factor == 0 {
            all.push(factor);
            rest /= factor;
        }
        factor += 1;
    }
    if rest > 1 {
        all.push(rest);
    }
    all.reverse();
    all
}

/// Returns the sizes as text: 4x4x2.
pub(crate) fn times(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tile_and_differ_by_one_at_most() {
        for (size, parts) in [(12, 4), (13, 4), (15, 4), (3, 5), (1, 1)] {
            let cut = Cut { size, parts };
            let mut next = 0;
            for part in 0..parts {
                let (start, len) = cut.part(part);
                assert_eq!(start, next);
                assert!(len == size / parts || len == size / parts + 1);
                next += len;
            }
            assert_eq!(next, size);
        }
    }

    #[test]
    fn grids() {
        assert_eq!(grid(16, None, [64, 64, 64, 64], false).unwrap(), [2, 2, 2, 2]);
        assert_eq!(grid(24, None, [64, 64, 64, 128], false).unwrap(), [2, 2, 2, 3]);
        assert_eq!(grid(13, None, [5, 40, 7], false).unwrap(), [1, 13, 1]);
        assert_eq!(grid(6, None, [9, 8, 5], true).unwrap(), [3, 2, 1]);
        assert!(grid(7, None, [9, 8, 5], true).is_err());
        assert!(grid(6, Some([2, 2]), [8, 8], false).unwrap_err().to_string().contains("2x2"));
        assert!(grid(1, Some([u64::MAX, 3]), [8, 8], false).is_err());
        assert!(grid(0, None, [8, 8], false).is_err());
    }

    /// Compares the bound with every window of a small array, at every alignment.
    #[test]
    fn blocks_within_a_window_are_never_more_than_the_bound() {
        let cases = [([6, 4, 5], [3, 2, 2]), ([8, 4, 4], [2, 2, 2]), ([5, 5, 5], [1, 5, 1]), ([4, 3, 2], [1, 1, 1])];
        for (sizes, parts) in cases {
            let array = Blocks::new("grid", 4, sizes, parts, 1).unwrap();
            let owner: Vec<[u64; 3]> = (0..array.bytes() / 4)
                .map(|e| {
                    let at = place(e as usize, sizes);
                    let inside = |d: usize, p: &u64| {
                        let (start, len) = array.cuts[d].part(*p);
                        (start..start + len).contains(&at[d])
                    };
                    std::array::from_fn(|d| (0..parts[d]).find(|p| inside(d, p)).unwrap())
                })
                .collect();
            for bytes in 1..=array.bytes() {
                for grain in [1, 2, 4, 8, 16, 32].into_iter().filter(|g| bytes % g == 0) {
                    let bound = array.within(0, bytes, grain);
                    for start in (0..=array.bytes() - bytes).step_by(grain as usize) {
                        let touched = &owner[start as usize / 4..=(start + bytes - 1) as usize / 4];
                        let blocks = touched.iter().collect::<std::collections::HashSet<_>>().len();
                        assert!(
                            blocks as u64 <= bound,
                            "{sizes:?} {parts:?}: {bytes} from {start}: {blocks} > {bound}"
                        );
                    }
                }
            }
        }
    }
}
