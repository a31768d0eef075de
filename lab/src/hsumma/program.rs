//! Multiplies two matrices on all ranks: broadcasts pivots, adds products, and times both.

use std::time::{Duration, Instant};

use crate::collectives::Group;
use crate::collectives::in_place::{InPlace, Part, WordOps};
use tributary::collectives::{FIRST_FREE_TAG, allreduce};
use tributary::fabric::{Buffers, Traffic};
use tributary::schedule::{Buffer, Builder, ReduceOp, Span};
use tributary::{Endpoint, Error};

use super::matrix::{self, Matrix};
use super::shape::{Axis, Shape};

/// Cost and correctness of a product; the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductOutcome {
    /// Maximum over ranks of the seconds in broadcasts.
    pub communication: f64,
    /// Maximum over ranks of the seconds in local products.
    pub computation: f64,
    /// Maximum over ranks of the seconds from beginning to end.
    pub total: f64,
    /// Number of messages sent by all ranks.
    pub messages: u64,
    /// Number of bytes sent by all ranks.
    pub bytes: u64,
    /// Number of elements of C that differ from the serial product.
    pub wrong: u64,
}

/// Multiplies A and B by HSUMMA, broadcasting by `broadcast` in segments of `segment` bytes where it cuts messages, and
/// compares with the serial product. Collective. 2 n/M broadcasts of n M / s (n M / t) elements between groups, 2 n/b
/// of n b / s (n b / t) inside, 2 n^3 / p operations a rank; 3 n^2 / p elements of memory and a pivot of each kind.
///
/// # Errors
/// Errors of the fabric. The shape must have passed [`Shape::check`].
pub async fn multiply(
    endpoint: &mut Endpoint,
    shape: &Shape,
    broadcast: &'static InPlace,
    segment: u64,
) -> Result<ProductOutcome, Error> {
    let rank = endpoint.rank();
    let [rows, columns] = shape.local();
    let (row, column) = (rank / shape.grid[1] * rows, rank % shape.grid[1] * columns);
    let a = Matrix::of(matrix::a, row..row + rows, column..column + columns);
    let b = Matrix::of(matrix::b, row..row + rows, column..column + columns);
    let mut c = Matrix::of(|_, _| 0.0, 0..rows, 0..columns);
    let mut pivots = Pivots { endpoint, broadcast, segment, spent: Duration::ZERO, traffic: Traffic::default() };
    let mut computation = Duration::ZERO;
    allreduce(pivots.endpoint, &[ReduceOp::Max], &mut [0]).await?;
    let begin = Instant::now();
    for outer in (0..shape.n).step_by(shape.outer) {
        let of_a = pivots.between(shape, Axis::Row, outer, &a).await?;
        let of_b = pivots.between(shape, Axis::Column, outer, &b).await?;
        for at in (0..shape.outer).step_by(shape.block) {
            let columns_of_a = pivots.within(shape, Axis::Row, (outer, at), &of_a).await?;
            let rows_of_b = pivots.within(shape, Axis::Column, (outer, at), &of_b).await?;
            let begin = Instant::now();
            c.add_product(&columns_of_a, &rows_of_b);
            computation += begin.elapsed();
        }
    }
    let (total, communication, traffic) = (begin.elapsed(), pivots.spent, pivots.traffic);
    let product = |row, column| (0..shape.n).map(|k| matrix::a(row, k) * matrix::b(k, column)).sum();
    let right = Matrix::of(product, row..row + rows, column..column + columns);
    let wrong = c.elements.iter().zip(&right.elements).filter(|(got, right)| got != right).count() as u64;
    let nanos = |time: Duration| time.as_nanos() as u64;
    let mut words = [nanos(communication), nanos(computation), nanos(total), traffic.messages, traffic.bytes, wrong];
    use ReduceOp::{Max, Sum};
    allreduce(endpoint, &[Max, Max, Max, Sum, Sum, Sum], &mut words).await?;
    let [communication, computation, total, messages, bytes, wrong] = words;
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let (communication, computation, total) = (seconds(communication), seconds(computation), seconds(total));
    Ok(ProductOutcome { communication, computation, total, messages, bytes, wrong })
}

/// Broadcasts of pivots, as one rank takes part in them.
struct Pivots<'a> {
    endpoint: &'a mut Endpoint,
    broadcast: &'static InPlace,
    segment: u64,
    spent: Duration,
    traffic: Traffic,
}

impl Pivots<'_> {
    /// Broadcasts the outer pivot at `at` from the group that holds it to the ranks at the same position in all groups.
    /// Returns the pivot on these ranks, none on the others.
    async fn between(&mut self, shape: &Shape, axis: Axis, at: usize, own: &Matrix) -> Result<Option<Matrix>, Error> {
        let rank = self.endpoint.rank();
        let (group, place) = shape.holder(axis, at);
        if shape.place(axis, rank) != place {
            return Ok(None);
        }
        let across = shape.across(axis, rank);
        let [rows, columns] = shape.local();
        let pivot = (across.me() == group).then(|| match axis {
            Axis::Row => own.part(0..rows, at % columns..at % columns + shape.outer),
            Axis::Column => own.part(at % rows..at % rows + shape.outer, 0..columns),
        });
        self.send_on(across, group, pivot, extent(shape, axis, shape.outer)).await.map(Some)
    }

    /// Broadcasts the inner pivot at `at` of the outer pivot `outer`, from the rank that has it to the other ranks of
    /// its group.
    async fn within(
        &mut self,
        shape: &Shape,
        axis: Axis,
        (outer, at): (usize, usize),
        of: &Option<Matrix>,
    ) -> Result<Matrix, Error> {
        let inside = shape.inside(axis, self.endpoint.rank());
        let (_, place) = shape.holder(axis, outer);
        let [rows, columns] = extent(shape, axis, shape.block);
        let pivot = of.as_ref().map(|of| match axis {
            Axis::Row => of.part(0..rows, at..at + columns),
            Axis::Column => of.part(at..at + rows, 0..columns),
        });
        self.send_on(inside, place, pivot, [rows, columns]).await
    }

    /// Broadcasts the root's pivot in the group.
    async fn send_on(
        &mut self,
        group: Group,
        root: usize,
        pivot: Option<Matrix>,
        extent: [usize; 2],
    ) -> Result<Matrix, Error> {
        let begin = Instant::now();
        let mut buffers = Buffers::default();
        if let Some(pivot) = pivot {
            if group.size() == 1 {
                return Ok(pivot);
            }
            buffers.set(Buffer::Receive, pivot.elements.iter().flat_map(|element| element.to_le_bytes()).collect());
        }
        let message = Span::new(Buffer::Receive, 0, (extent[0] * extent[1] * 8) as u64);
        let part = Part { group, root, message, words: WordOps::All(ReduceOp::Max), segment: self.segment };
        let mut builder = Builder::default();
        (self.broadcast.append)(&part, &mut builder, &[]);
        self.traffic += self.endpoint.run(builder.finish(), &mut buffers, FIRST_FREE_TAG).await?;
        let bytes = buffers.get(Buffer::Receive).chunks_exact(8);
        let elements = bytes.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default())).collect();
        self.spent += begin.elapsed();
        Ok(Matrix { columns: extent[1], elements })
    }
}

/// Returns the rows and columns of a pivot: `width` columns of A, or `width` rows of B.
fn extent(shape: &Shape, axis: Axis, width: usize) -> [usize; 2] {
    let [rows, columns] = shape.local();
    match axis {
        Axis::Row => [rows, width],
        Axis::Column => [width, columns],
    }
}
