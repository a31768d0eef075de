//! Decides which implementation violates which guideline. Measurements are paired: the i-th ones of all implementations
//! were made right after one another, so a slow spell of the machine affects all of them. The median of the ratios
//! decides.

use trib::compare::statistics::median;

use super::sizes::Problem;
use crate::cli::guidelines::Irregular;

/// Implementation that is measured, in the order of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// MPI's regular operation (MPI_Gather) on blocks padded to the largest.
    Regular,
    /// MPI_Allreduce of the largest size, then the regular operation: the bound of guideline (2).
    Padded,
    /// MPI's irregular operation (MPI_Gatherv).
    Irregular,
    /// Our irregular operation; the tree is constructed each time from sizes that only their owners know.
    Ours,
    /// Our irregular operation with the tree of the previous run.
    OursAgain,
}

impl Implementation {
    /// All implementations.
    pub const ALL: [Self; 5] = [Self::Regular, Self::Padded, Self::Irregular, Self::Ours, Self::OursAgain];

    /// Returns the implementation's name.
    pub fn name(self, operation: Irregular) -> &'static str {
        match (self, operation) {
            (Self::Regular, Irregular::Gatherv) => "MPI_Gather",
            (Self::Regular, Irregular::Scatterv) => "MPI_Scatter",
            (Self::Padded, Irregular::Gatherv) => "MPI_Allreduce + MPI_Gather",
            (Self::Padded, Irregular::Scatterv) => "MPI_Allreduce + MPI_Scatter",
            (Self::Irregular, Irregular::Gatherv) => "MPI_Gatherv",
            (Self::Irregular, Irregular::Scatterv) => "MPI_Scatterv",
            (Self::Ours, _) => "ordered_tree",
            (Self::OursAgain, _) => "ordered_tree, kept",
        }
    }
}

/// Seconds of the measurements of each implementation, in the order of [`Implementation::ALL`].
pub type Times = [Vec<f64>; 5];

/// Violation of a guideline.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Number of the guideline: 1 or 2.
    pub guideline: u8,
    /// Name of the implementation that violates the guideline.
    pub by: &'static str,
    /// Name of the faster implementation.
    pub against: &'static str,
    /// Time of the violating implementation divided by the time of the faster one, above 1.
    pub ratio: f64,
}

/// Returns all violations, with a tolerance of `slack` per cent.
pub fn violations(operation: Irregular, problem: &Problem, times: &Times, slack: u32) -> Vec<Violation> {
    use Implementation::{Irregular, Ours, OursAgain, Padded, Regular};
    let regular = [(1, Regular, Irregular), (1, Regular, Ours), (1, Regular, OursAgain)];
    let padded = [(2, Irregular, Padded), (2, Ours, Padded), (2, OursAgain, Padded)];
    let first = regular.into_iter().filter(|_| problem.is_regular());
    let judged = first.chain(padded).map(|(guideline, by, against)| Violation {
        guideline,
        by: by.name(operation),
        against: against.name(operation),
        ratio: ratio(&times[by as usize], &times[against as usize]),
    });
    judged.filter(|violation| violation.ratio > 1.0 + f64::from(slack) / 100.0).collect()
}

/// Returns the median of the ratios of measurements that were made together.
fn ratio(these: &[f64], those: &[f64]) -> f64 {
    let ratios = these.iter().zip(those).map(|(this, that)| this / that.max(f64::MIN_POSITIVE));
    median(&ratios.collect::<Vec<_>>()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::sizes::problems;
    use super::*;

    #[test]
    fn a_slower_implementation_violates_a_guideline_that_applies() {
        let all = problems(4, &[8]);
        // The regular one takes 3, padded 4, irregular 2, ours 5 and 4.2: a slow spell hits the last pair of all.
        let times: Times = [3.0, 4.0, 2.0, 5.0, 4.2].map(|time| vec![time, time, time * 100.0]);
        let said = |problem, slack| -> Vec<_> {
            let violations = violations(Irregular::Gatherv, problem, &times, slack);
            violations.into_iter().map(|v| (v.guideline, v.by, v.against)).collect()
        };
        let second = [(2, "ordered_tree", "MPI_Allreduce + MPI_Gather")];
        assert_eq!(said(&all[1], 10), second);
        assert_eq!(said(&all[0], 10), [(1, "MPI_Gather", "MPI_Gatherv"), second[0]]);
        assert_eq!(said(&all[1], 0).len(), 2);
        assert_eq!(said(&all[0], 60), []);
    }
}
