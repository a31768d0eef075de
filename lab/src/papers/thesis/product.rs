//! SUMMA and HSUMMA on BlueGene/P (section 4.2.2): a step, simulated with the broadcasts that MPICH chooses.

use std::sync::Arc;

use crate::sim;
use serde::Deserialize;
use tributary::Topology;

use super::best;
use super::broadcasts::{Broadcast, BroadcastAlgorithm, Broadcasts};
use crate::hsumma::Shape;
use crate::hsumma::shape::Axis as Direction;
use crate::papers::{Axis, Context, Drawing, PapersError, Parameters, Values};

/// MPICH's limit in bytes: shorter messages, and fewer ranks, take a binomial tree.
const LONG: u64 = 512 << 10;
const FEW: usize = 8;
const ELEMENT: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    n: usize,
    grid: [usize; 2],
    block: usize,
    ranks_per_node: usize,
    /// Numbers of rows and columns of groups that are tried.
    groups: Vec<[usize; 2]>,
    /// Speed of a core in the matrix product, in 10^9 operations a second.
    gflops: f64,
}

/// Computes the communication time of SUMMA divided by the time of HSUMMA with the best groups.
pub(super) fn communication(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let product: Product = with.read()?;
    Ok(vec![("SUMMA / HSUMMA".to_string(), product.summa(context)? / product.hsumma(context)?)])
}

/// Computes the same ratio for the whole execution: communication, then computation.
pub(super) fn execution(with: &Parameters, context: &Context) -> Result<Values, PapersError> {
    let product: Product = with.read()?;
    let computation = product.computation();
    let (summa, hsumma) = (product.summa(context)? + computation, product.hsumma(context)? + computation);
    Ok(vec![("SUMMA / HSUMMA".to_string(), summa / hsumma)])
}

/// Draws the seconds of communication over the number of groups.
pub(super) fn draw(with: &Parameters, context: &Context) -> Result<Drawing, PapersError> {
    let product: Product = with.read()?;
    let summa = product.summa(context)?;
    let mut hsumma = vec![(1.0, summa)];
    for &groups in &product.groups {
        hsumma.push(((groups[0] * groups[1]) as f64, *product.seconds(groups, context)?));
    }
    let flat = hsumma.iter().map(|&(groups, _)| (groups, summa)).collect();
    let curves = vec![("HSUMMA".to_string(), hsumma), ("SUMMA".to_string(), flat)];
    Ok(Drawing::Curves { x: Axis::log("groups"), y: Axis::linear("seconds"), curves })
}

impl Product {
    fn summa(&self, context: &Context) -> Result<f64, PapersError> {
        Ok(*self.seconds([1, 1], context)?)
    }

    fn hsumma(&self, context: &Context) -> Result<f64, PapersError> {
        best(self.groups.iter().copied(), |groups| Ok(*self.seconds(groups, context)?))
    }

    /// Returns the seconds of the local products: 2 n^3 / p operations.
    fn computation(&self) -> f64 {
        2.0 * (self.n as f64).powi(3) / (self.grid[0] * self.grid[1]) as f64 / (self.gflops * 1e9)
    }

    /// Returns the seconds of communication: the simulated time of the first step, times n / b steps, which are all
    /// alike.
    fn seconds(&self, groups: [usize; 2], context: &Context) -> Result<Arc<f64>, PapersError> {
        let Self { n, grid, block, ranks_per_node, .. } = *self;
        context.once(&format!("thesis product {n} {grid:?} {block} {ranks_per_node} {groups:?}"), || {
            let machine = context.machine("bluegene-p")?;
            let ranks = grid[0] * grid[1];
            let shape = Shape { n, grid, groups, block, outer: block };
            shape.check(ranks)?;
            let all = Broadcasts((0..ranks).map(|rank| step(&shape, rank)).collect());
            let topology = Topology::blocks(ranks, ranks_per_node)?;
            let seconds = sim::run(&machine, &topology, &all, 0, |_| {})?.seconds().total;
            Ok(seconds * (n / block) as f64)
        })
    }
}

/// Returns the broadcasts of a rank in the first step: A between groups, B between groups, A and B inside.
fn step(shape: &Shape, rank: usize) -> Vec<Broadcast> {
    let [rows, columns] = shape.local();
    let both = [(Direction::Row, rows), (Direction::Column, columns)];
    let broadcast = |line: &crate::collectives::Group, length: usize| {
        let bytes = (length * shape.block * ELEMENT) as u64;
        let way = if bytes < LONG || line.size() < FEW {
            BroadcastAlgorithm::Binomial
        } else {
            BroadcastAlgorithm::ScatterRing
        };
        Broadcast { line: line.into(), bytes, way }
    };
    let holds = |axis| shape.place(axis, rank) == 0;
    let between = both.iter().filter(|(axis, _)| holds(*axis));
    let between = between.map(|&(axis, length)| broadcast(&shape.across(axis, rank), length));
    let inside = both.iter().map(|&(axis, length)| broadcast(&shape.inside(axis, rank), length));
    between.chain(inside).collect()
}
