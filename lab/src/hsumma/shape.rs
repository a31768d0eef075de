//! Grid, groups and blocks of a matrix product, and the ranks that hold its pivots.

use crate::collectives::Group;
use tributary::Rank;

use tributary_benchmarks::PatternError;

/// Product of two matrices on a grid of ranks, which are numbered row by row. Valid if [`Shape::check`] succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows, and of columns, of every matrix.
    pub n: usize,
    /// Number of rows and columns of the grid of ranks.
    pub grid: [usize; 2],
    /// Number of rows and columns of the grid of groups; 1 x 1 is SUMMA.
    pub groups: [usize; 2],
    /// b: number of columns of A and rows of B per broadcast inside groups.
    pub block: usize,
    /// M: number of columns of A and rows of B per broadcast between groups.
    pub outer: usize,
}

/// Direction of a broadcast: along a row of the grid, or along a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Along a row: the blocks of A.
    Row,
    /// Along a column: the blocks of B.
    Column,
}

impl Shape {
    /// Returns the same product with one group, which is SUMMA.
    pub fn summa(self) -> Self {
        Self { groups: [1, 1], outer: self.block, ..self }
    }

    /// Returns the grid of `ranks` ranks nearest to a square, with at most as many rows as columns.
    pub fn squarest(ranks: usize) -> [usize; 2] {
        let fits = |rows: &usize| rows * rows <= ranks && ranks.is_multiple_of(*rows);
        let rows = (1..=ranks).take_while(|rows| rows * rows <= ranks).filter(fits).last().unwrap_or(1);
        [rows, ranks / rows]
    }

    /// Checks that the product is possible on `ranks` ranks. Local; the same result on all ranks.
    ///
    /// # Errors
    /// The first number that does not fit, with the allowed values.
    pub fn check(&self, ranks: usize) -> Result<(), PatternError> {
        let Self { n, grid: [rows, columns], groups, block, outer } = *self;
        let wrong = |what: &str, value: String, allowed: String| Err(PatternError::argument(what, value, allowed));
        if rows.checked_mul(columns) != Some(ranks) {
            return wrong(
                "grid",
                format!("{rows}x{columns}"),
                format!("rows and columns whose product is {ranks}, the ranks"),
            );
        }
        for (what, groups, side) in [("rows of groups", groups[0], rows), ("columns of groups", groups[1], columns)] {
            if groups == 0 || !side.is_multiple_of(groups) {
                return wrong(
                    what,
                    groups.to_string(),
                    format!("a divisor of {side}, the ranks on that side of the grid"),
                );
            }
        }
        for side in [rows, columns] {
            if n == 0 || !n.is_multiple_of(side) {
                return wrong(
                    "n",
                    n.to_string(),
                    format!("a multiple of {rows} and of {columns}, the sides of the grid"),
                );
            }
            if outer == 0 || !(n / side).is_multiple_of(outer) {
                return wrong(
                    "outer block",
                    outer.to_string(),
                    format!("a divisor of {}, a side of each rank's block", n / side),
                );
            }
        }
        if block == 0 || !outer.is_multiple_of(block) {
            return wrong("block", block.to_string(), format!("a divisor of {outer}, the outer block"));
        }
        Ok(())
    }

    /// Returns the number of rows and columns of every rank's block of a matrix.
    pub fn local(&self) -> [usize; 2] {
        [self.n / self.grid[0], self.n / self.grid[1]]
    }

    /// Returns the number of ranks of the grid along `axis`, and the number of groups.
    fn side(&self, axis: Axis) -> (usize, usize) {
        match axis {
            Axis::Row => (self.grid[1], self.groups[1]),
            Axis::Column => (self.grid[0], self.groups[0]),
        }
    }

    /// Returns the coordinate of `rank` along `axis`.
    fn along(&self, axis: Axis, rank: Rank) -> usize {
        match axis {
            Axis::Row => rank % self.grid[1],
            Axis::Column => rank / self.grid[1],
        }
    }

    /// Returns the holder of the pivot that begins at column (or row) `at` of the whole matrix: the number of its group
    /// along `axis`, and its number in the group.
    pub fn holder(&self, axis: Axis, at: usize) -> (usize, usize) {
        let (ranks, groups) = self.side(axis);
        let holder = at / (self.n / ranks);
        (holder / (ranks / groups), holder % (ranks / groups))
    }

    /// Returns the number of a rank in its group along `axis`.
    pub fn place(&self, axis: Axis, rank: Rank) -> usize {
        let (ranks, groups) = self.side(axis);
        self.along(axis, rank) % (ranks / groups)
    }

    /// Returns the ranks with this rank's number in all groups along `axis`, group by group.
    pub fn across(&self, axis: Axis, rank: Rank) -> Group {
        let (ranks, groups) = self.side(axis);
        let in_group = ranks / groups;
        let here = self.along(axis, rank);
        self.line(axis, rank, groups, here / in_group, here % in_group, in_group)
    }

    /// Returns the ranks of this rank's group along `axis`.
    pub fn inside(&self, axis: Axis, rank: Rank) -> Group {
        let (ranks, groups) = self.side(axis);
        let in_group = ranks / groups;
        let here = self.along(axis, rank);
        self.line(axis, rank, in_group, here % in_group, here - here % in_group, 1)
    }

    /// Returns every `step`-th of the ranks on this rank's line, `size` of them from number `first` on. This rank is
    /// number `me`.
    fn line(&self, axis: Axis, rank: Rank, size: usize, me: usize, first: usize, step: usize) -> Group {
        let columns = self.grid[1];
        let all = Group::world(rank, self.grid[0] * columns);
        all.part(size, me, move |number| {
            let number = first + number * step;
            match axis {
                Axis::Row => rank - rank % columns + number,
                Axis::Column => number * columns + rank % columns,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { n: 72, grid: [6, 6], groups: [3, 3], block: 3, outer: 6 };

    /// Checks the groups of the thesis' figure 4.2: 6 x 6 ranks in 3 x 3 groups of 2 x 2.
    #[test]
    fn groups_of_the_figure() {
        let ranks = |group: Group| (0..group.size()).map(|member| group.rank_of(member)).collect::<Vec<_>>();
        // Rank 15 is in row 2, column 3: group (1, 1), place (0, 1).
        assert_eq!(ranks(SHAPE.inside(Axis::Row, 15)), [14, 15]);
        assert_eq!(ranks(SHAPE.across(Axis::Row, 15)), [13, 15, 17]);
        assert_eq!(ranks(SHAPE.inside(Axis::Column, 15)), [15, 21]);
        assert_eq!(ranks(SHAPE.across(Axis::Column, 15)), [3, 15, 27]);
        for rank in 0..36 {
            for axis in [Axis::Row, Axis::Column] {
                for group in [SHAPE.inside(axis, rank), SHAPE.across(axis, rank)] {
                    assert_eq!(group.rank_of(group.me()), rank);
                }
            }
        }
        // The second rank of every row holds columns 12 to 23.
        assert_eq!((SHAPE.holder(Axis::Row, 11), SHAPE.holder(Axis::Row, 12)), ((0, 0), (0, 1)));
        assert_eq!(SHAPE.holder(Axis::Column, 66), (2, 1));
    }

    #[test]
    fn grids_nearest_to_a_square() {
        assert_eq!([1, 2, 7, 12, 16].map(Shape::squarest), [[1, 1], [1, 2], [1, 7], [3, 4], [4, 4]]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(SHAPE.check(36), Ok(()));
        assert_eq!(SHAPE.summa().check(36), Ok(()));
        for (shape, expected) in [
            (Shape { grid: [5, 7], ..SHAPE }, "grid: 5x7; allowed: rows and columns whose product is 36"),
            (Shape { grid: [usize::MAX, 2], ..SHAPE }, "grid: "),
            (Shape { groups: [4, 3], ..SHAPE }, "rows of groups: 4; allowed: a divisor of 6"),
            (Shape { groups: [3, 0], ..SHAPE }, "columns of groups: 0"),
            (Shape { n: 70, ..SHAPE }, "n: 70; allowed: a multiple of 6"),
            (Shape { n: 0, ..SHAPE }, "n: 0"),
            (Shape { outer: 8, ..SHAPE }, "outer block: 8; allowed: a divisor of 12"),
            (Shape { block: 4, ..SHAPE }, "block: 4; allowed: a divisor of 6, the outer block"),
            (Shape { block: 0, ..SHAPE }, "block: 0"),
        ] {
            let said = shape.check(36).unwrap_err().to_string();
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
