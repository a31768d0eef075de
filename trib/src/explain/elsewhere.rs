//! The calls on a file that its capture does not hold: independent calls, collective calls that MPI ran, and functions that
//! neither read nor write. What they took, and how they become faster.

use serde::Serialize;
use tributary::engine::Capture;
use tributary::engine::capture::{IndependentCalls, NotCaptured, SmallCalls};

use super::account::Account;
use super::advice::Advice;
use super::estimate::{Amount, Estimate};
use super::sentences::NOTABLE;
use crate::Failure;
use crate::numbers::{brief as time, counted, grouped};

/// Minimum time of functions that neither read nor write, in seconds, for advice about them.
const WORTH: f64 = 100.0 * NOTABLE;

/// Calls on the file that are not in the capture.
#[derive(Debug, Default, Serialize)]
pub struct Elsewhere {
    /// Independent calls of all ranks, by function.
    pub independent: Vec<IndependentCalls>,
    /// Small independent calls that would gain from being collective; `None` if none would.
    pub could_be_collective: Option<SmallCalls>,
    /// Other calls of rank 0.
    #[serde(flatten)]
    pub others: NotCaptured,
}

impl Elsewhere {
    /// Returns the calls that a capture names and does not hold.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn of(capture: &Capture) -> Result<Self, Failure> {
        let independent = capture.independent()?;
        let has_several_ranks = capture.header().ranks > 1;
        let could_be_collective = has_several_ranks.then(|| SmallCalls::worth(&independent)).flatten();
        Ok(Self { independent, could_be_collective, others: capture.header().not_captured.clone().unwrap_or_default() })
    }

    /// Returns the expected time of the small independent calls of an account, if they were collective.
    pub fn if_collective(&self, account: &Account) -> Option<Estimate> {
        let small = self.could_be_collective?;
        let seconds = small.seconds() / account.ranks.max(1) as f64;
        Some(account.estimate(Amount { calls: small.calls, bytes: small.bytes, seconds }))
    }

    /// Returns the time of a rank in these calls in seconds, where `ranks` have the file: the mean over ranks in independent
    /// calls, and that of rank 0 in functions that neither read nor write.
    pub fn seconds(&self, ranks: usize) -> f64 {
        let independent: u64 = self.independent.iter().map(|calls| calls.microseconds).sum();
        independent as f64 / 1e6 / ranks as f64 + self.in_others()
    }

    fn in_others(&self) -> f64 {
        self.others.others.values().sum()
    }

    /// Returns the functions that neither read nor write with their seconds, the longest first.
    fn longest_others(&self) -> Vec<(&str, f64)> {
        let all = self.others.others.iter().map(|(function, seconds)| (function.as_str(), *seconds));
        let mut all: Vec<_> = all.filter(|(_, seconds)| *seconds >= NOTABLE).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all
    }

    /// Returns the text of [`Elsewhere::longest_others`].
    fn list_others(&self) -> String {
        let all = self.longest_others().into_iter();
        all.map(|(function, seconds)| format!("{function} {}", time(seconds))).collect::<Vec<_>>().join(", ")
    }

    /// Returns sentences about these calls.
    pub fn sentences(&self) -> Vec<String> {
        let independent = |all: &IndependentCalls| {
            let [least, _, largest] = all.sizes;
            let sizes = match least == largest {
                true => format!("{} bytes each", grouped(least)),
                false => format!("the smallest of {} bytes, the largest of {}", grouped(least), grouped(largest)),
            };
            format!(
                "Ranks made {} of {}, {sizes}, in {} of all ranks together: MPI ran them.",
                counted(all.calls, "independent call"),
                all.function,
                time(all.microseconds as f64 / 1e6)
            )
        };
        let mut said: Vec<String> = self.independent.iter().map(independent).collect();
        said.extend(self.others.left.iter().map(|left| {
            format!("MPI ran {} of {}: {}.", counted(left.calls, "collective call"), left.function, left.why)
        }));
        if self.in_others() >= NOTABLE {
            let all = time(self.in_others());
            said.push(format!(
                "Rank 0 was in functions that neither read nor write for {all}: {}.",
                self.list_others()
            ));
        }
        said
    }
}

/// Returns advice about these calls.
pub fn advice(account: &Account) -> Vec<Advice> {
    let (elsewhere, mut advice) = (&account.elsewhere, Vec::new());
    let mut say = |about, says| advice.push(Advice { about, call: None, says });
    let gain = account.if_collective.as_ref().filter(|estimate| estimate.is_worth());
    if let (Some(small), Some(estimate)) = (&elsewhere.could_be_collective, gain) {
        let how = elsewhere.others.how.iter().map(|how| format!(" {how}.")).collect::<String>();
        say(
            "independent",
            format!(
                "Make {} collective, which took {} of all ranks together for {} bytes. {}{how}",
                counted(small.calls, "small independent call"),
                time(small.seconds()),
                grouped(small.bytes),
                estimate.text(),
            ),
        );
    }
    if let Some(left) = elsewhere.others.left.first() {
        let calls: u64 = elsewhere.others.left.iter().map(|left| left.calls).sum();
        say(
            "left_to_mpi",
            format!(
                "MPI ran {}, the first {}: {}. Only calls that the library runs are accelerated.",
                counted(calls, "collective call"),
                left.function,
                left.why
            ),
        );
    }
    let (others, moving) = (elsewhere.in_others(), account.in_calls() + elsewhere.seconds(account.ranks));
    // Of the time in `moving`, `others` is a part.
    if others >= WORTH && others > 0.5 * moving {
        say(
            "other_calls",
            format!(
                "Rank 0 was longer in functions that neither read nor write, {}, than in all reads and writes: {}. {}",
                time(others),
                elsewhere.list_others(),
                elsewhere.longest_others().first().map_or("", |(function, _)| fewer(function))
            ),
        );
    }
    advice
}

/// Returns how a program needs fewer calls of a function that neither reads nor writes.
fn fewer(function: &str) -> &'static str {
    match function {
        "open" | "close" => "If the program opens the file for each step, keep it open.",
        "set_view" => "Set a view once for all calls that use it.",
        "sync" => "One MPI_File_sync at the end is enough, and MPI_File_close does the same.",
        "set_size" | "preallocate" => "Set the size once.",
        _ => "Call them less often.",
    }
}
