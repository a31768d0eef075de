//! Thesis' models: the best number of groups by one-port time of the schedules, and the exascale prediction.

use crate::collectives::Rates;
use crate::collectives::broadcast::SCATTER_RING_ALLGATHER;
use crate::collectives::{Groups, Scheme, hierarchical};
use crate::timing::one_port;
use serde::Deserialize;
use tributary::Topology;

use super::grid::{Collective, Run};
use super::named;
use crate::papers::{Axis, Context, Drawing, PapersError, Parameters, Values};

/// Number of bytes of a matrix element.
const ELEMENT: f64 = 8.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Groupings {
    collective: Collective,
    algorithm: String,
    ranks: usize,
    bytes: u64,
    segment: u64,
    groups: Vec<usize>,
    /// Startup time of a message in microseconds.
    startup: f64,
    /// Transfer rate in GB/s.
    rate: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Crossing {
    ranks: usize,
    bytes: f64,
    /// Ratio t_s / t_w in units of 2 m / p.
    ratio: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    n: f64,
    ranks: usize,
    block: f64,
    groups: Vec<usize>,
    /// Startup time of a message in microseconds.
    startup: f64,
    /// Transfer rate in GB/s.
    rate: f64,
}

fn rates(startup: f64, rate: f64) -> Rates {
    Rates { startup, byte: 1e-3 / rate, combine: 0.0 }
}

/// Computes the microseconds of a collective in the one-port model, by the number of groups.
pub(super) fn one_port_times(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Groupings { collective, algorithm, ranks, bytes, segment, groups, startup, rate } = with.read()?;
    let topology = Topology::blocks(ranks, 1)?;
    named(&groups, |groups| {
        let run = Run { collective, algorithm: &algorithm, topology: &topology, bytes, segment };
        one_port(run.schedules(groups)?, &rates(startup, rate))
            .ok_or_else(|| PapersError::new(format!("{algorithm}: the schedules do not end")))
    })
}

/// Computes the time of the scatter-ring-allgather broadcast with sqrt(p) groups divided by the time without groups, by
/// equations 2.8 and 3.5.
pub(super) fn crossing(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Crossing { ranks, bytes, ratio } = with.read()?;
    let rates = Rates { startup: ratio * 2.0 * bytes / ranks as f64, byte: 1.0, combine: 0.0 };
    let time = |groups| -> Result<f64, PapersError> { Ok(scheme(groups)?.time(&rates, ranks as f64, bytes, 1.0)) };
    Ok(vec![("with groups / without".to_string(), time(ranks.isqrt())? / time(1)?)])
}

/// Computes the seconds of communication of HSUMMA, by the number of groups.
pub(super) fn product_times(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let product: Product = with.read()?;
    named(&product.groups, |groups| product.seconds(groups))
}

/// Computes the communication time of SUMMA divided by that of HSUMMA, by the number of groups.
pub(super) fn product_gains(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let product: Product = with.read()?;
    let summa = product.seconds(1)?;
    named(&product.groups, |groups| Ok(summa / product.seconds(groups)?))
}

/// Computes equation 4.12 divided by the sum of the broadcasts at sqrt(p) groups.
pub(super) fn optimum(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let product: Product = with.read()?;
    let (p, n) = (product.ranks as f64, product.n);
    let Rates { startup, byte, .. } = rates(product.startup * 1e-6, product.rate * 1e6);
    let root = p.sqrt().sqrt();
    let printed = (p.log2() + 4.0 * (root - 1.0)) * n / product.block * startup
        + 8.0 * (1.0 - 1.0 / root) * n * n / p.sqrt() * ELEMENT * byte;
    Ok(vec![("equation / sum".to_string(), printed / product.seconds(product.ranks.isqrt())?)])
}

/// Draws the seconds of communication over the number of groups.
pub(super) fn draw(with: &Parameters, _: &Context) -> Result<Drawing, PapersError> {
    let product: Product = with.read()?;
    let summa = product.seconds(1)?;
    let points = |seconds: &dyn Fn(usize) -> Result<f64, PapersError>| -> Result<Vec<_>, PapersError> {
        product.groups.iter().map(|&groups| Ok((groups as f64, seconds(groups)?))).collect()
    };
    let curves = vec![
        ("HSUMMA".to_string(), points(&|groups| product.seconds(groups))?),
        ("SUMMA".to_string(), points(&|_| Ok(summa))?),
    ];
    Ok(Drawing::Curves { x: Axis::log("groups"), y: Axis::linear("seconds"), curves })
}

impl Product {
    /// Returns the seconds of communication: 2 n / b broadcasts among sqrt(p) ranks in sqrt(G) groups of n / sqrt(p) x
    /// b elements.
    fn seconds(&self, groups: usize) -> Result<f64, PapersError> {
        let side = (self.ranks as f64).sqrt();
        let bytes = self.n / side * self.block * ELEMENT;
        let rates = rates(self.startup * 1e-6, self.rate * 1e6);
        Ok(2.0 * self.n / self.block * scheme(groups.isqrt())?.time(&rates, side, bytes, 1.0))
    }
}

fn scheme(groups: usize) -> Result<Scheme, PapersError> {
    Ok(hierarchical(Groups::Count(groups), &SCATTER_RING_ALLGATHER, &SCATTER_RING_ALLGATHER)?)
}
