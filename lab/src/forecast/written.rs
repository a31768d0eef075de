//! Times of a simulated collective write, by phase.

use serde::Serialize;

use super::collective_write::{DATA, FILE, FINISH, METADATA, ONCE, PLACING};
use crate::sim::Time;
use crate::sim::phases::PHASES;
use tributary::engine::Seconds;
use tributary::topology::Rank;

/// Times in seconds of the phases of a write; they add up to the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Parts {
    /// Seconds of exchanging metadata.
    pub metadata: f64,
    /// Seconds of exchanging data, in all rounds.
    pub data: f64,
    /// Seconds of waiting for the file.
    pub file: f64,
    /// Seconds of computing: flattening, merging, placing.
    pub other: f64,
    /// Sum of all phases in seconds.
    pub total: f64,
}

/// Times of a simulated collective write. Times of sampled rounds are scaled up to all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Written {
    /// Times of the aggregator that ends last.
    pub last: Parts,
    /// Maximum over ranks of each phase. These do not add up.
    pub most: Parts,
    /// Mean over all ranks of each phase.
    pub mean: Parts,
}

impl Parts {
    /// Returns the phases of a call that the engine has made.
    pub fn reported(seconds: &Seconds) -> Self {
        let Seconds { metadata, data, wait, total, .. } = *seconds;
        Self { metadata, data, file: wait, other: (total - metadata - data - wait).max(0.0), total }
    }

    fn of(spent: &[Time; PHASES], scale: f64) -> Self {
        let seconds = |phase: usize| spent[phase] as f64 * 1e-12;
        let (metadata, data) = (seconds(METADATA), scale * seconds(DATA));
        let (file, other) = (scale * seconds(FILE) + seconds(FINISH), seconds(ONCE) + scale * seconds(PLACING));
        Self { metadata, data, file, other, total: metadata + data + file + other }
    }

    fn combined(self, other: Self, with: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            metadata: with(self.metadata, other.metadata),
            data: with(self.data, other.data),
            file: with(self.file, other.file),
            other: with(self.other, other.other),
            total: with(self.total, other.total),
        }
    }
}

impl Written {
    /// Computes the times from the time of every rank in every phase.
    pub(super) fn of<'a>(spent: impl Iterator<Item = &'a [Time; PHASES]>, scale: f64, aggregators: &[Rank]) -> Self {
        let ranks: Vec<_> = spent.map(|spent| Parts::of(spent, scale)).collect();
        let ends = aggregators.iter().filter_map(|&rank| ranks.get(rank));
        let share = 1.0 / ranks.len().max(1) as f64;
        let sum = ranks.iter().fold(Parts::default(), |all, &one| all.combined(one, |a, b| a + b));
        Self {
            last: ends.copied().max_by(|a, b| a.total.total_cmp(&b.total)).unwrap_or_default(),
            most: ranks.iter().fold(Parts::default(), |all, &one| all.combined(one, f64::max)),
            mean: sum.combined(sum, |a, _| a * share),
        }
    }
}
