//! Measured times of one write.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trib::compare::statistics::median;
use tributary::Hints;

use super::cases::PretendedWrite;
use super::turns::{AUTO, Timed, Times};
use crate::cli::kernels::Measured;

/// Name of the choice that is the default when `auto` is not used.
const DEFAULT: &str = "balanced";

/// Conditions of a measurement. Rows are compared only with rows of the same conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manner {
    turns: u64,
    passes: u64,
    /// Folder of the file.
    folder: PathBuf,
    /// Hints that all choices share, if they are not the defaults.
    hints: String,
}

impl Manner {
    /// Returns the conditions for a command line and the hints of the environment.
    pub fn of(options: &Measured, hints: &Hints) -> Self {
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

/// Measured times of one write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeasuredTimes {
    /// Conditions of the measurement.
    pub manner: Manner,
    /// Name of the MPI library, or `threads`.
    pub library: String,
    /// Pattern with its parameters, or the capture.
    pub pattern: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// Kernels that `auto` chose.
    pub chosen: String,
    /// Seconds of the first pass, by choice and turn.
    pub first: Times,
    /// Mean seconds of a later pass, by choice and turn; empty if there was none.
    pub again: Times,
}

impl MeasuredTimes {
    /// Returns the row of a case.
    pub fn new(manner: Manner, library: &str, case: &PretendedWrite, ranks: usize, timed: Timed) -> Self {
        let Timed { chosen, first, again } = timed;
        let (library, pattern, nodes) = (library.to_string(), case.write.name.clone(), ranks / case.per_node);
        Self { manner, library, pattern, nodes, ranks, chosen, first, again }
    }

    /// Returns true if this is the row of the given case.
    pub fn is_of(&self, library: &str, case: &PretendedWrite, ranks: usize) -> bool {
        let own = (self.library.as_str(), self.pattern.as_str(), self.nodes, self.ranks);
        own == (library, case.write.name.as_str(), ranks / case.per_node, ranks)
    }

    /// Returns the row's sort key in the table.
    pub fn place(&self) -> (&str, usize, usize, &str) {
        (&self.library, self.ranks, self.nodes, &self.pattern)
    }

    /// Returns the median of the seconds with `auto`.
    pub fn seconds(&self) -> Option<f64> {
        median(self.first.get(AUTO)?)
    }

    /// Returns the time with `auto` divided by the time of the default without it.
    pub fn over_default(&self) -> Option<Ratio> {
        Ratio::of(self.first.get(AUTO)?, self.first.get(DEFAULT)?)
    }

    /// Returns how far times differ by chance, if `auto` chose the same kernels as the default.
    pub fn chance(&self) -> Option<Chance> {
        let same = self.over_default().filter(|_| self.chosen == DEFAULT)?.median;
        let over_others = |choice| Some(over(&self.first, choice, &[AUTO, DEFAULT])?.1.median);
        Some(Chance { same, auto: over_others(AUTO)?, default: over_others(DEFAULT)? })
    }
}

/// Ratios of two names of the same choice, which differ by chance only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// Time of `auto` divided by the time of the default.
    pub same: f64,
    /// Time of `auto` divided by the time of the best other choice.
    pub auto: f64,
    /// Time of the default divided by the time of the best other choice.
    pub default: f64,
}

/// Ratio of the times of two choices, turn by turn: the median, and an interval that contains the true median with 95 %
/// confidence (by the sign test; for fewer than 6 turns it is the range, with less confidence).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Median of the ratios.
    pub median: f64,
    /// Lower end of the interval.
    pub least: f64,
    /// Upper end of the interval.
    pub most: f64,
}

impl Ratio {
    /// Returns the n-th of `ours` divided by the n-th of `theirs`. None without turns, or if a number of theirs is 0.
    fn of(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let beyond = beyond(ratios.len());
        let (least, most) = (*ratios.get(beyond)?, *ratios.iter().rev().nth(beyond)?);
        ratios.iter().all(|ratio| ratio.is_finite()).then_some(Self { median: median(&ratios)?, least, most })
    }
}

/// Returns how many of `count` numbers lie beyond either end of a median's interval.
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

/// Returns the fixed choice against which `auto` does worst, and the times of `auto` divided by those of the choice.
pub fn over_best(times: &Times) -> Option<(&str, Ratio)> {
    over(times, AUTO, &[AUTO])
}

/// Returns, of the choices except `but`, the one against which `choice` does worst, and the times of `choice` divided
/// by those of that one.
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

    /// Compares intervals with tables of the sign test.
    #[test]
    fn intervals_of_medians() {
        let counts = [0, 1, 5, 6, 8, 9, 11, 12, 15, 17, 20, 25];
        assert_eq!(counts.map(beyond), [0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 7]);
    }
}
