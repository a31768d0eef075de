//! What was measured of a write.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trib::compare::statistics::median;
use tributary::Hints;

use super::cases::PretendedWrite;
use super::turns::{AUTO, Timed, Times};
use crate::cli::kernels::MeasuringOptions;

/// The default without `auto`.
const DEFAULT: &str = "balanced";

/// How a write was measured: rows are compared only with those of the same manner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manner {
    turns: u64,
    passes: u64,
    /// The folder of the file.
    folder: PathBuf,
    /// The hints that all choices share, as far as they are not the defaults.
    hints: String,
}

impl Manner {
    /// Of a command line and the hints of the environment.
    pub fn of(options: &MeasuringOptions, hints: &Hints) -> Self {
        let given = hints.table().into_iter().filter(|row| row.value != row.default);
        let hints = given.map(|row| format!("{}={}", row.key, row.value)).collect::<Vec<_>>().join("; ");
        let folder = options.file.as_deref().and_then(Path::parent).map_or_else(std::env::temp_dir, Path::to_path_buf);
        Self { turns: options.turns, passes: options.passes, folder, hints }
    }
}

impl std::fmt::Display for Manner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { turns, passes, folder, hints } = self;
        let hints = if hints.is_empty() { "none" } else { hints };
        write!(f, "--turns {turns}, --passes {passes}, a file in {}, hints: {hints}", folder.display())
    }
}

/// The times of one write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeasuredTimes {
    /// How it was measured.
    pub manner: Manner,
    /// The MPI library, or `threads`.
    pub library: String,
    /// The pattern and its parameters, or the capture.
    pub pattern: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// What `auto` took.
    pub chosen: String,
    /// Seconds of the first pass, by choice and turn.
    pub first: Times,
    /// Seconds of a later pass; empty if there was none.
    pub again: Times,
}

impl MeasuredTimes {
    /// The row of a case.
    pub fn new(manner: Manner, library: &str, case: &PretendedWrite, ranks: usize, timed: Timed) -> Self {
        let Timed { chosen, first, again } = timed;
        let (library, pattern, nodes) = (library.to_string(), case.write.name.clone(), ranks / case.per_node);
        Self { manner, library, pattern, nodes, ranks, chosen, first, again }
    }

    /// Whether it is the row of this case.
    pub fn is_of(&self, library: &str, case: &PretendedWrite, ranks: usize) -> bool {
        let own = (self.library.as_str(), self.pattern.as_str(), self.nodes, self.ranks);
        own == (library, case.write.name.as_str(), ranks / case.per_node, ranks)
    }

    /// Its place in the table.
    pub fn place(&self) -> (&str, usize, usize, &str) {
        (&self.library, self.ranks, self.nodes, &self.pattern)
    }

    /// Median of the seconds with `auto`.
    pub fn seconds(&self) -> Option<f64> {
        median(self.first.get(AUTO)?)
    }

    /// `auto` over the default without it.
    pub fn over_default(&self) -> Option<Ratio> {
        Ratio::of(self.first.get(AUTO)?, self.first.get(DEFAULT)?)
    }

    /// Where `auto` does nothing else than the default, how far times differ by chance.
    pub fn chance(&self) -> Option<Chance> {
        let same = self.over_default().filter(|_| self.chosen == DEFAULT)?.median;
        let over_others = |choice| Some(over(&self.first, choice, &[AUTO, DEFAULT])?.1.median);
        Some(Chance { same, auto: over_others(AUTO)?, default: over_others(DEFAULT)? })
    }
}

/// Two names of the same choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// `auto` over the default.
    pub same: f64,
    /// `auto` over the best of the other choices.
    pub auto: f64,
    /// The default over the best of the other choices.
    pub default: f64,
}

/// The ratios of two choices turn by turn: their median, and an interval that has the true one with 95 % confidence (by the sign
/// test; of fewer than 6 turns it is the range, with less).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The least that it may be.
    pub least: f64,
    /// The most that it may be.
    pub most: f64,
}

impl Ratio {
    /// The n-th of `ours` divided by the n-th of `theirs`. None without turns, or if a number of theirs is 0.
    fn of(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let beyond = beyond(ratios.len());
        let (least, most) = (*ratios.get(beyond)?, *ratios.iter().rev().nth(beyond)?);
        ratios.iter().all(|ratio| ratio.is_finite()).then_some(Self { median: median(&ratios)?, least, most })
    }
}

/// How many of so many numbers lie beyond either end of a median's interval.
fn beyond(count: usize) -> usize {
    // The chance that at most `k` of them are below the median.
    let (mut term, mut below) = (0.5f64.powi(count as i32), 0.0);
    for k in 0..count {
        below += term;
        if below > 0.025 {
            return k.saturating_sub(1);
        }
        term *= (count - k) as f64 / (k + 1) as f64;
    }
    0
}

/// The fixed choice against which `auto` does worst, and the times of `auto` over its.
pub fn over_best(times: &Times) -> Option<(&str, Ratio)> {
    over(times, AUTO, &[AUTO])
}

/// Of the choices but some, that against which `choice` does worst, and the times of `choice` over its.
fn over<'a>(times: &'a Times, choice: &str, but: &[&str]) -> Option<(&'a str, Ratio)> {
    let ours = times.get(choice)?;
    let others = times.iter().filter(|(name, _)| !but.contains(&name.as_str()));
    let ratios = others.filter_map(|(name, seconds)| Some((name.as_str(), Ratio::of(ours, seconds)?)));
    ratios.max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_found_turn_by_turn() {
        let times = [("auto", [2.0, 20.0, 4.0]), ("slow", [3.0, 60.0, 5.0]), ("fast", [1.0, 10.0, 9.0])];
        let times: Times = times.into_iter().map(|(name, seconds)| (name.to_string(), seconds.to_vec())).collect();
        let (name, ratio) = over_best(&times).unwrap();
        assert_eq!((name, ratio), ("fast", Ratio { median: 2.0, least: 4.0 / 9.0, most: 2.0 }));
        assert_eq!(over_best(&Times::new()), None);
    }

    /// From tables of the sign test.
    #[test]
    fn intervals_of_medians() {
        let counts = [0, 1, 5, 6, 8, 9, 11, 12, 15, 17, 20, 25];
        assert_eq!(counts.map(beyond), [0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 7]);
    }
}
