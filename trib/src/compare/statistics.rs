//! Computes medians, and ratios pair by pair.

use serde::{Deserialize, Serialize};

/// Returns the median; for an even count the mean of the two middle numbers; none for an empty list.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((below + above) / 2.0)
}

/// Ratios of pairs of runs: another library's numbers divided by ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Median of the ratios of all pairs.
    pub median: f64,
    /// Minimum of the ratios.
    pub min: f64,
    /// Maximum of the ratios.
    pub max: f64,
}

impl Ratio {
    /// Divides the n-th number of `peer` by the n-th of `ours`. None without pairs, or if a number of ours is 0.
    pub fn from_times(peer: &[f64], ours: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> = peer.iter().zip(ours).map(|(peer, ours)| peer / ours).collect();
        let all_finite = ratios.iter().all(|ratio| ratio.is_finite());
        let (min, max) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
        all_finite.then_some(Self { median: median(&ratios)?, min, max })
    }
}

/// Returns the geometric mean of positive numbers.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_few_numbers() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }

    #[test]
    fn ratios_are_of_pairs_and_not_of_medians() {
        // Both are slow in the second pair. The ratios are 2, 2 and 4, although the medians' ratio is 4 / 2.
        let ratio = Ratio::from_times(&[2.0, 200.0, 4.0], &[1.0, 100.0, 1.0]).unwrap();
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 4.0));
    }

    #[test]
    fn lists_without_a_ratio() {
        assert_eq!(Ratio::from_times(&[], &[1.0]), None);
        assert_eq!(Ratio::from_times(&[1.0, 1.0], &[1.0, 0.0]), None);
    }

    #[test]
    fn a_geometric_mean_treats_twice_and_half_alike() {
        assert!((geometric_mean(&[2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }
}
