//! Computes the bytes of a part of an array: subarrays (MPI 4.1, section 5.1.3) and distributed arrays (section
//! 5.1.4).

use tributary::Error;
use tributary_abi::constants;

use crate::mpi::abi::types::Contents;
use crate::view::datatype::build::{natural, times};
use crate::view::datatype::shape::{Shape, ShapeCopies};

/// Returns the shape of a subarray (MPI_Type_create_subarray), whose fastest dimension is innermost. `of` holds the
/// constructor's arguments, `extent` is the bytes from element to element. O(dimensions).
pub fn subarray(element: &Shape, extent: i64, of: &mut Contents) -> Result<Shape, Error> {
    let dimensions = of.int()?;
    let sizes = of.list(dimensions, Contents::count)?;
    let subsizes = of.list(dimensions, Contents::count)?;
    let starts = of.list(dimensions, Contents::count)?;
    let order = of.int()?;
    let (mut shape, mut pitch, mut start) = (element.clone(), extent, 0i64);
    for d in fastest_first(sizes.len(), order) {
        shape = shape.repeat(pitch, natural(subsizes[d])?)?;
        start = start.checked_add(times(starts[d], pitch)?).ok_or_else(|| beyond(starts[d]))?;
        pitch = times(sizes[d], pitch)?;
    }
    shape.shift(start)
}

/// Returns the shape of one process's part of a distributed array (MPI_Type_create_darray). O(dimensions); twice the
/// work if the last block is partial.
pub fn darray(element: &Shape, extent: i64, of: &mut Contents) -> Result<Shape, Error> {
    let (_processes, rank, dimensions) = (of.int()?, of.int()?, of.int()?);
    let sizes = of.list(dimensions, Contents::count)?;
    let distributions = of.list(dimensions, Contents::int)?;
    let arguments = of.list(dimensions, Contents::int)?;
    let grid = of.list(dimensions, Contents::int)?;
    let order = of.int()?;
    let coordinates = coordinates(rank, &grid);
    let (mut shape, mut pitch) = (element.clone(), extent);
    for d in fastest_first(sizes.len(), order) {
        let deal = Distribution::new(distributions[d], arguments[d], sizes[d], grid[d]);
        shape = deal.part(&shape, pitch, coordinates[d], sizes[d])?;
        pitch = times(sizes[d], pitch)?;
    }
    Ok(shape)
}

fn fastest_first(dimensions: usize, order: i64) -> Vec<usize> {
    let fortran = order == i64::from(constants().order_fortran);
    if fortran { (0..dimensions).collect() } else { (0..dimensions).rev().collect() }
}

/// Returns the coordinates of process `rank` in the process grid, which is row-major whatever the order of the array.
fn coordinates(rank: i64, grid: &[i64]) -> Vec<i64> {
    let mut left = rank;
    let mut all = vec![0; grid.len()];
    for d in (0..grid.len()).rev() {
        let processes = grid[d].max(1);
        (all[d], left) = (left % processes, left / processes);
    }
    all
}

/// The distribution of one dimension of an array: blocks of `block` elements go to `processes` processes in turn.
struct Distribution {
    block: i64,
    processes: i64,
}

impl Distribution {
    fn new(distribution: i64, argument: i64, size: i64, processes: i64) -> Self {
        let all = constants();
        let given = |default: i64| if argument == i64::from(all.distribute_default) { default } else { argument };
        match distribution {
            // One block per process.
            d if d == i64::from(all.distribute_block) => {
                Self { block: given((size + processes - 1) / processes.max(1)).max(1), processes }
            }
            d if d == i64::from(all.distribute_cyclic) => Self { block: given(1).max(1), processes },
            _ => Self { block: size.max(1), processes: 1 },
        }
    }

    /// Returns the blocks of process `coordinate` as a shape: full blocks, and at most one partial block at the end.
    fn part(&self, shape: &Shape, pitch: i64, coordinate: i64, size: i64) -> Result<Shape, Error> {
        let coordinate = if self.processes == 1 { 0 } else { coordinate };
        let cycle = times(self.block, self.processes)?;
        let first = times(self.block, coordinate)?;
        let mine = (size - first).max(0);
        let (whole, rest) = (mine / cycle, (mine % cycle).min(self.block));
        let (whole, rest) = if rest == self.block { (whole + 1, 0) } else { (whole, rest) };
        let block = if whole > 0 { shape.repeat(pitch, natural(self.block)?)? } else { Shape::default() };
        let part = |shape, stride, count, at| {
            Ok::<_, Error>(ShapeCopies { shape, stride, count: natural(count)?, displacement: times(at, pitch)? })
        };
        let blocks = part(&block, times(cycle, pitch)?, whole, first)?;
        let last = part(shape, pitch, rest, first.saturating_add(times(whole, cycle)?))?;
        Shape::concat([blocks, last].into_iter())
    }
}

fn beyond(start: i64) -> Error {
    Error::argument("datatype", format!("a subarray that starts at {start}"), "bytes below 2^63")
}
