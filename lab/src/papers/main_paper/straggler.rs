//! Section III.B: the straggler effect of a latency with normal noise, by Monte-Carlo.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use serde::Deserialize;

use crate::papers::{Context, PapersError, Parameters, Values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delay {
    /// Number of ranks: each receiver waits for all ranks but itself.
    ranks: u32,
    /// Number of random samples.
    samples: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Probability {
    /// Standard deviations of a transfer time, relative to the mean.
    sigmas: Vec<f64>,
    /// Number of random samples.
    samples: u32,
}

fn normal(random: &mut SmallRng) -> f64 {
    StandardNormal.sample(random)
}

/// Computes equations 1 to 4: a sender that is late by its noise delays a receiver, an early one does not; the delays
/// of p - 1 senders are taken as independent. Returns the mean sum, in standard deviations. O(samples x ranks).
pub(super) fn delay(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Delay { ranks, samples } = with.read()?;
    let mut random = SmallRng::seed_from_u64(2020);
    let draws = u64::from(samples) * u64::from(ranks - 1);
    let sum: f64 = (0..draws).map(|_| normal(&mut random).max(0.0)).sum();
    Ok(vec![(format!("{ranks} ranks"), sum / f64::from(samples))])
}

/// Computes the probability of equation 5: that a sender's first transfer, N(1, sigma^2), ends after its receiver's
/// first two, N(2, 2 sigma^2). The event is rare, so the difference is sampled around 1, where it happens half of the
/// time, and weighed by the ratio of the densities (importance sampling). O(samples).
pub(super) fn probability(with: &Parameters, _: &Context) -> Result<Values, PapersError> {
    let Probability { sigmas, samples } = with.read()?;
    let mut random = SmallRng::seed_from_u64(2020);
    let mut of = |sigma: f64| {
        let deviation = sigma * 3f64.sqrt();
        let weight = |z: f64| if z > 0.0 { (-z / deviation - 0.5 / (deviation * deviation)).exp() } else { 0.0 };
        (0..samples).map(|_| weight(normal(&mut random))).sum::<f64>() / f64::from(samples)
    };
    Ok(sigmas.into_iter().map(|sigma| (format!("sigma {sigma}"), of(sigma))).collect())
}
