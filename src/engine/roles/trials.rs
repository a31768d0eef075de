//! Trials of other kernels in calls that repeat.
//!
//! All kernels write the same bytes, so a call whose plan comes again may go another way to see whether it is faster. Every
//! decision is a pure function of numbers that all ranks agree on at the end of each call, so it costs no message and is the
//! same on all ranks. A trial begins only if what it is expected to lose, and all that trials have lost so far, is at most
//! [`TRIAL_SHARE`] of the time of all calls so far.
//!
//! Trials take turns with calls that go the usual way. The time of a trial is divided by the mean of the last of those: a file
//! system may become slower with time. The call that makes the plan of a trial has cold memory, and is no measurement; but if it
//! takes very long, the trial is over. A way that is slower than the usual one by more than that mean leaves open is not tried
//! again. Another one is tried until its mean is known well enough, by the rule of measurements (Hasanov, thesis, 3.1.3: the
//! half-width of the mean's confidence interval). Then it is kept if it is surely faster, and otherwise not tried again.

use std::collections::VecDeque;

use crate::engine::policy::{LEAST_CALLS, MEAN_ERROR, MOST_CALLS, TRIAL_CAUTION, TRIAL_COLD, TRIAL_NEAR, TRIAL_SHARE};
use crate::engine::roles::auto_choice::ChosenBy;
use crate::engine::roles::choice::{Candidate, Layering};
use crate::sample::{STUDENT, Sample};

/// Half the width of the mean's 95 % confidence interval, for at most [`MOST_CALLS`] values.
fn half_width(sample: &Sample) -> f64 {
    let freedom = (sample.count as usize).saturating_sub(2).min(STUDENT.len() - 1);
    STUDENT[freedom] * sample.deviation_of_mean()
}

fn is_enough(sample: &Sample) -> bool {
    sample.count >= MOST_CALLS || (sample.count >= LEAST_CALLS && half_width(sample) <= MEAN_ERROR * sample.mean)
}

/// The seconds of a call: the most of any rank. Those that are not known are `None`: the call failed, or the program may have
/// computed in between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallTimes {
    /// Making the plan.
    pub making: Option<f64>,
    /// What comes after: the exchange of data, and the file.
    pub moving: Option<f64>,
}

/// What is learnt from the time of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrialOutcome {
    /// The call made the first plan.
    Made,
    /// It went this way, with a plan of an earlier call.
    Went(Layering),
    /// It made the plan of a trial, and went this way.
    Began(Layering),
    /// The plan of a trial could not be made.
    Refused(Layering),
}

/// Where a way stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialState {
    Untried,
    /// It is not known to be slower.
    Tried,
    /// It was surely faster.
    Kept,
    /// It was not surely faster, or cannot be gone.
    Refused,
}

#[derive(Debug, Clone, PartialEq)]
struct Attempt {
    candidate: Candidate,
    standing: TrialState,
    /// The times of trials with warm memory, divided by the usual one.
    ratios: Sample,
    /// The last such ratio, of a call with warm or cold memory.
    last: f64,
}

/// The trials of a plan.
#[derive(Debug, Clone)]
pub struct Trials {
    /// The way that is chosen before anything is measured, then those that may be tried.
    attempts: Vec<Attempt>,
    /// The index of the way that is kept.
    kept: usize,
    /// Seconds of its last [`MOST_CALLS`] calls.
    usual: VecDeque<f64>,
    /// Whether the last call was a trial: the next one is none.
    has_just_tried: bool,
    /// Seconds to make a plan; infinite before they are known.
    making: f64,
    /// Seconds of all calls so far.
    total: f64,
    /// Seconds that calls took longer because they tried.
    lost: f64,
}

impl Trials {
    /// Of `ways`, the first is the one to keep until another is known to be faster.
    pub fn new(ways: &[Candidate]) -> Self {
        let best = ways.iter().map(|way| way.again).fold(f64::INFINITY, f64::min);
        let near = |way: &&Candidate| way.again <= best * TRIAL_NEAR;
        let others = ways.iter().skip(1).filter(near);
        let (standing, ratios, last) = (TrialState::Untried, Sample::default(), 0.0);
        let attempt = |&candidate| Attempt { candidate, standing, ratios, last };
        let attempts = ways.iter().take(1).chain(others).map(attempt).collect();
        let (making, total, lost) = (f64::INFINITY, 0.0, 0.0);
        Self { attempts, kept: 0, usual: VecDeque::new(), has_just_tried: false, making, total, lost }
    }

    /// The way that is kept; `None` if there is nothing to choose.
    pub fn kept(&self) -> Option<Layering> {
        self.attempts.get(self.kept).map(|kept| kept.candidate.way)
    }

    /// Whether a way was slower, or cannot be gone.
    pub fn has_refused(&self, way: Layering) -> bool {
        self.attempts.iter().any(|one| one.candidate.way == way && one.standing == TrialState::Refused)
    }

    /// What made a call go this way.
    pub fn chosen_by(&self, way: Layering) -> ChosenBy {
        match self.kept() {
            Some(kept) if kept != way => ChosenBy::Trial,
            _ if self.kept > 0 => ChosenBy::Measurement,
            _ => ChosenBy::Prediction,
        }
    }

    /// The other way that the next call should go, if it should.
    pub fn next(&self) -> Option<Layering> {
        if self.has_just_tried || self.usual.len() < LEAST_CALLS as usize {
            return None;
        }
        let open = self.attempts.iter().enumerate().filter(|(index, _)| *index != self.kept);
        let (_, tried) = open.filter(|(_, one)| one.standing != TrialState::Refused).min_by_key(|(index, one)| {
            // One that is under way comes first.
            (one.standing == TrialState::Untried, *index)
        })?;
        (self.lost + self.expected(tried)? <= TRIAL_SHARE * self.total).then_some(tried.candidate.way)
    }

    /// Seconds that a trial is expected to lose.
    fn expected(&self, tried: &Attempt) -> Option<f64> {
        let more = |ratio: f64| self.mean_of_usual().mean * (ratio - 1.0).max(0.0);
        Some(match tried.standing {
            // A second plan is there already.
            TrialState::Tried => more(tried.last),
            TrialState::Untried | TrialState::Kept | TrialState::Refused => {
                let kept = self.attempts.get(self.kept)?.candidate.again;
                self.making + more(tried.candidate.again / kept.max(f64::MIN_POSITIVE) * TRIAL_CAUTION)
            }
        })
    }

    fn mean_of_usual(&self) -> Sample {
        let mut sample = Sample::default();
        self.usual.iter().for_each(|&seconds| sample.add(seconds));
        sample
    }

    /// Says how long it takes to make a plan, in seconds.
    pub fn making_takes(&mut self, seconds: f64) {
        self.making = seconds;
    }

    /// Learns from the time of a call.
    pub fn learn(&mut self, lesson: TrialOutcome, spent: CallTimes) {
        let making = spent.making.unwrap_or_default();
        self.total += making + spent.moving.unwrap_or_default();
        let (TrialOutcome::Went(way) | TrialOutcome::Began(way) | TrialOutcome::Refused(way)) = lesson else { return };
        let Some(index) = self.attempts.iter().position(|one| one.candidate.way == way) else { return };
        self.has_just_tried = index != self.kept;
        match spent.moving {
            Some(moving) if !self.has_just_tried => self.went_as_usual(moving),
            None if !self.has_just_tried => {}
            Some(moving) if !matches!(lesson, TrialOutcome::Refused(_)) => {
                self.lost += if matches!(lesson, TrialOutcome::Began(_)) { making } else { 0.0 };
                self.tried(index, moving, matches!(lesson, TrialOutcome::Began(_)));
            }
            _ => {
                self.lost += making;
                self.attempts[index].standing = TrialState::Refused;
            }
        }
    }

    fn went_as_usual(&mut self, seconds: f64) {
        if self.usual.len() == MOST_CALLS as usize {
            self.usual.pop_front();
        }
        self.usual.push_back(seconds);
    }

    /// Learns from a call that went another way than usual.
    fn tried(&mut self, index: usize, seconds: f64, is_cold: bool) {
        let usual = self.mean_of_usual();
        let (one, ratio) = (&mut self.attempts[index], seconds / usual.mean.max(f64::MIN_POSITIVE));
        self.lost += (seconds - usual.mean).max(0.0);
        one.last = ratio;
        one.standing = match is_cold {
            true if ratio > TRIAL_COLD => TrialState::Refused,
            true => TrialState::Tried,
            false => {
                one.ratios.add(ratio);
                judged(&one.ratios, half_width(&usual) / usual.mean.max(f64::MIN_POSITIVE))
            }
        };
        if one.standing == TrialState::Kept {
            self.attempts[self.kept].standing = TrialState::Refused;
            self.kept = index;
            self.usual.clear();
        }
    }
}

/// Where a way stands after so many ratios to the usual time, whose mean is known but for this relative half-width.
fn judged(ratios: &Sample, doubt: f64) -> TrialState {
    if ratios.mean > 1.0 + doubt {
        return TrialState::Refused;
    }
    if !is_enough(ratios) {
        return TrialState::Tried;
    }
    // Not hypot, which may differ from machine to machine.
    let both = (half_width(ratios).powi(2) + doubt.powi(2)).sqrt();
    if ratios.mean + both < 1.0 { TrialState::Kept } else { TrialState::Refused }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ways(predicted: &[f64]) -> Vec<Candidate> {
        let way = |local| Layering { local, ..Layering::default() };
        predicted
            .iter()
            .enumerate()
            .map(|(local, &seconds)| Candidate { way: way(local), seconds, again: seconds })
            .collect()
    }

    fn spent(making: f64, moving: f64) -> CallTimes {
        CallTimes { making: Some(making), moving: Some(moving) }
    }

    /// Makes calls; each way takes `seconds(call, way)`. Gives the trials, and the calls in which another way was tried.
    fn run(
        predicted: &[f64],
        making: f64,
        calls: usize,
        seconds: impl Fn(usize, usize) -> f64,
    ) -> (Trials, Vec<usize>) {
        let (mut trials, mut tried, mut known) = (Trials::new(&ways(predicted)), Vec::new(), vec![0]);
        trials.making_takes(making);
        trials.learn(TrialOutcome::Made, spent(making, seconds(0, 0)));
        for call in 1..calls {
            let kept = trials.kept().unwrap();
            let way = trials.next().unwrap_or(kept);
            if way != kept {
                tried.push(call);
                assert_eq!(trials.chosen_by(way), ChosenBy::Trial);
            }
            let (moving, is_new) = (seconds(call, way.local), !known.contains(&way.local));
            known.push(way.local);
            match is_new {
                true => trials.learn(TrialOutcome::Began(way), spent(making, moving)),
                false => trials.learn(TrialOutcome::Went(way), spent(0.0, moving)),
            }
        }
        (trials, tried)
    }

    fn kept(trials: &Trials) -> (usize, ChosenBy) {
        let way = trials.kept().unwrap();
        (way.local, trials.chosen_by(way))
    }

    #[test]
    fn the_fastest_way_is_found_and_slower_ones_are_tried_once() {
        let (trials, tried) = run(&[1.0, 1.1, 1.2, 9.0], 2.0, 400, |_, way| [1.0, 1.3, 0.5, 0.1][way]);
        assert_eq!(kept(&trials), (2, ChosenBy::Measurement));
        let due = 2 + 1 + LEAST_CALLS as usize;
        assert_eq!(tried.len(), due, "the first call of a trial is cold, and what takes 9 times as long is not tried");
        assert!(tried[0] > 40, "making a plan takes as long as 2 calls: after 40 that is 5 %: {tried:?}");
    }

    #[test]
    fn few_calls_try_nothing_and_one_way_has_no_other() {
        assert!(run(&[1.0, 1.0], 1.0, 20, |_, _| 1.0).1.is_empty());
        assert!(run(&[1.0], 0.0, 1000, |_, _| 1.0).1.is_empty());
        assert!(Trials::new(&[]).next().is_none());
    }

    /// Whose plan cannot be made, whose time is not known, and which takes very long when it begins.
    #[test]
    fn a_way_that_says_nothing_is_not_asked_for_again() {
        let bad = [
            (TrialOutcome::Refused as fn(Layering) -> TrialOutcome, Some(1.0), 0.5),
            (TrialOutcome::Began, None, 0.5),
            (TrialOutcome::Went, None, 0.5),
            (TrialOutcome::Began, Some(TRIAL_COLD * 1.1), 0.5 + TRIAL_COLD * 1.1 - 1.0),
        ];
        for (lesson, moving, lost) in bad {
            let mut trials = Trials::new(&ways(&[1.0, 1.0]));
            trials.making_takes(0.0);
            trials.learn(TrialOutcome::Made, spent(0.0, 1.0));
            (0..100).for_each(|_| trials.learn(TrialOutcome::Went(Layering::default()), spent(0.0, 1.0)));
            let other = trials.next().unwrap();
            trials.learn(lesson(other), CallTimes { making: Some(0.5), moving });
            assert!(trials.has_refused(other) && (trials.lost - lost).abs() < 1e-9, "{moving:?}: {trials:?}");
            trials.learn(TrialOutcome::Went(Layering::default()), spent(0.0, 1.0));
            assert_eq!((trials.next(), kept(&trials)), (None, (0, ChosenBy::Prediction)));
        }
    }

    /// A way that is as fast in the mean is not kept for a lucky call.
    #[test]
    fn noise_alone_does_not_change_the_way() {
        for seed in 0..200 {
            let noise = |call: usize, way: usize| {
                1.0 + 0.1 * ((((call + seed) * 7919 + way * 104_729) * 31 % 1009) as f64 / 1009.0)
            };
            let (trials, tried) = run(&[1.0, 1.0], 0.1, 1000, noise);
            assert!(tried.len() <= 1 + MOST_CALLS as usize, "{tried:?}");
            assert!(trials.lost <= TRIAL_SHARE * trials.total);
            assert_eq!(kept(&trials), (0, ChosenBy::Prediction), "seed {seed}");
        }
    }

    /// Calls become slower, or faster, by 1 % each: the ways are compared at the same time.
    #[test]
    fn a_drift_does_not_change_the_way_that_is_faster() {
        for (factor, due) in [(1.06, 0), (0.8, 1)] {
            for drift in [1.01_f64, 0.99] {
                let seconds = |call: usize, way: usize| [1.0, factor][way] * drift.powi(call as i32);
                let (trials, _) = run(&[1.0, 1.0], 0.5, 300, seconds);
                assert_eq!(kept(&trials).0, due, "{factor} with a drift of {drift}");
            }
        }
    }

    /// All ways become half as fast, or twice as fast, at once: what was measured before is not compared with what came after.
    #[test]
    fn a_step_does_not_change_the_way_either() {
        for (after, factor, due) in [(2.0, 1.0, 0), (0.5, 1.0, 0), (2.0, 0.8, 1), (0.5, 0.8, 1)] {
            for at in 40..120 {
                let noise = |call: usize| 1.0 + 0.02 * ((call * 7919 % 101) as f64 / 101.0);
                let seconds =
                    |call: usize, way: usize| [1.0, factor][way] * noise(call) * if call < at { 1.0 } else { after };
                let (trials, _) = run(&[1.0, 1.0], 0.5, 600, seconds);
                assert_eq!(kept(&trials).0, due, "{factor}, then {after} from call {at}");
            }
        }
    }

    /// Where it is not known how long a plan takes, nothing is tried.
    #[test]
    fn a_plan_of_unknown_cost_is_not_made_again() {
        let mut trials = Trials::new(&ways(&[1.0, 1.0]));
        trials.learn(TrialOutcome::Made, CallTimes::default());
        (0..1000).for_each(|_| trials.learn(TrialOutcome::Went(Layering::default()), spent(0.0, 1.0)));
        assert_eq!(trials.next(), None);
    }

    /// A file system that stalls in the first call of a trial does not hide a way that is faster.
    #[test]
    fn a_cold_first_call_is_no_measurement() {
        let cold = std::cell::Cell::new(true);
        let seconds = |_: usize, way: usize| match way {
            1 if cold.replace(false) => 1.7,
            way => [1.0, 0.7][way],
        };
        assert_eq!(kept(&run(&[1.0, 1.0], 0.1, 400, seconds).0), (1, ChosenBy::Measurement));
    }

    proptest! {
        /// As long as nothing takes more than TRIAL_CAUTION times as long as predicted, trials never lose more than their share, and
        /// in the end the way that is kept is the fastest of those near the best prediction.
        #[test]
        fn trials_lose_at_most_their_share(
            ways in prop::collection::vec((0.5f64..4.0, 0.7f64..1.0), 1..7),
            making in 0.0f64..4.0,
            calls in 1usize..600,
        ) {
            let predicted: Vec<f64> = ways.iter().map(|(predicted, _)| *predicted).collect();
            // Relative to the kept way, at most 1 / 0.7 times as long as predicted.
            let seconds: Vec<f64> = ways.iter().map(|(predicted, factor)| predicted * factor).collect();
            for calls in [calls, 5000] {
                let (trials, _) = run(&predicted, making, calls, |_, way| seconds[way]);
                prop_assert!(trials.lost <= TRIAL_SHARE * trials.total + 1e-9, "{trials:?}");
                if calls == 5000 {
                    let best = trials.attempts.iter().map(|one| seconds[one.candidate.way.local]).fold(f64::INFINITY, f64::min);
                    prop_assert_eq!(seconds[trials.kept().unwrap().local], best);
                }
            }
        }
    }
}
