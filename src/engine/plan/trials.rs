//! Trials of other kernels in calls that repeat.
//!
//! All kernels write the same bytes, so a call whose plan comes again may go another way to see whether it is faster. Every
//! decision is a pure function of numbers that all ranks agree on at the end of each call, so it costs no message and is the
//! same on all ranks. A trial begins only if what it is expected to lose, and all that trials have lost so far, is at most
//! [`SHARE`] of the time of all calls so far.
//!
//! Trials take turns with calls that go the usual way, and are compared with the last of those: a file system may become slower
//! with time. The call that makes the plan of a trial has cold memory, and is no measurement. A way that was slower is not tried
//! again. One that was not is tried until its mean is known well enough, by the rule of measurements (Hasanov, thesis, 3.1.3:
//! the half-width of the mean's confidence interval); it is kept if it is faster by more than the two intervals leave open.

use std::collections::VecDeque;

use crate::engine::plan::choice::{Candidate, Way};
use crate::engine::plan::roles::ChosenBy;
use crate::tuned::{STUDENT, Sample};

/// Trials may lose this part of the time.
const SHARE: f64 = 0.05;
/// Ways are tried whose predicted time is at most so many times that of the way that is predicted to be the fastest.
const NEAR: f64 = 1.5;
/// What is tried may take so many times as long as predicted.
const CAUTION: f64 = 1.5;
/// A trial is over if its first call takes more than so many times as long as the usual way.
const COLD: f64 = 2.0;
/// Calls that a mean needs at least, and the most that it is given.
const LEAST: u32 = 3;
const MOST: u32 = 10;
/// The relative half-width of the interval with which a mean is known well enough.
const ERROR: f64 = 0.025;

/// Half the width of the mean's 95 % confidence interval, for at most [`MOST`] values.
fn half_width(sample: &Sample) -> f64 {
    let freedom = (sample.count as usize).saturating_sub(2).min(STUDENT.len() - 1);
    STUDENT[freedom] * sample.deviation_of_mean()
}

fn is_enough(sample: &Sample) -> bool {
    sample.count >= MOST || (sample.count >= LEAST && half_width(sample) <= ERROR * sample.mean)
}

/// The seconds of a call: the most of any rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Making the plan.
    pub making: f64,
    /// What comes after: the exchange of data, and the file. `None` if it is not known: the call failed, or the program computed
    /// in between.
    pub moving: Option<f64>,
}

/// What is learnt from the time of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lesson {
    /// The call made the first plan.
    Made,
    /// It went this way, with a plan of an earlier call.
    Went(Way),
    /// It made the plan of a trial, and went this way.
    Began(Way),
    /// The plan of a trial could not be made.
    Refused(Way),
}

/// Where a way stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Untried,
    /// It is not known to be slower.
    Tried,
    /// It was slower, or cannot be gone.
    Refused,
}

#[derive(Debug, Clone, PartialEq)]
struct Attempt {
    candidate: Candidate,
    standing: Standing,
    /// Seconds of the last [`MOST`] calls with warm memory.
    recent: VecDeque<f64>,
    /// Seconds of its last call.
    last: f64,
}

impl Attempt {
    fn new(candidate: Candidate) -> Self {
        Self { candidate, standing: Standing::Untried, recent: VecDeque::new(), last: 0.0 }
    }

    fn add(&mut self, seconds: f64) {
        if self.recent.len() == MOST as usize {
            self.recent.pop_front();
        }
        self.recent.push_back(seconds);
    }

    fn sample(&self) -> Sample {
        let mut sample = Sample::default();
        self.recent.iter().for_each(|&seconds| sample.add(seconds));
        sample
    }
}

/// The trials of a plan.
#[derive(Debug, Clone)]
pub struct Trials {
    /// The way that is chosen before anything is measured, then those that may be tried.
    attempts: Vec<Attempt>,
    /// The index of the way that is kept.
    kept: usize,
    /// Whether the last call was a trial: the next one is none.
    has_just_tried: bool,
    /// Seconds to make a plan.
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
        let near = |way: &&Candidate| way.again <= best * NEAR;
        let others = ways.iter().skip(1).filter(near);
        let attempts = ways.iter().take(1).chain(others).copied().map(Attempt::new).collect();
        Self { attempts, kept: 0, has_just_tried: false, making: 0.0, total: 0.0, lost: 0.0 }
    }

    /// The way that is kept; `None` if there is nothing to choose.
    pub fn kept(&self) -> Option<Way> {
        self.attempts.get(self.kept).map(|kept| kept.candidate.way)
    }

    /// Whether a way was slower, or cannot be gone.
    pub fn has_refused(&self, way: Way) -> bool {
        self.attempts.iter().any(|one| one.candidate.way == way && one.standing == Standing::Refused)
    }

    /// What made a call go this way.
    pub fn chosen_by(&self, way: Way) -> ChosenBy {
        match self.kept() {
            Some(kept) if kept != way => ChosenBy::Trial,
            _ if self.kept > 0 => ChosenBy::Measurement,
            _ => ChosenBy::Prediction,
        }
    }

    /// The other way that the next call should go, if it should.
    pub fn next(&self) -> Option<Way> {
        let kept = self.attempts.get(self.kept)?;
        if self.has_just_tried || kept.recent.len() < LEAST as usize {
            return None;
        }
        let open = self.attempts.iter().enumerate().filter(|(index, _)| *index != self.kept);
        let (_, tried) = open.filter(|(_, one)| one.standing != Standing::Refused).min_by_key(|(index, one)| {
            // One that is under way comes first.
            (one.standing == Standing::Untried, *index)
        })?;
        (self.lost + self.expected(kept, tried) <= SHARE * self.total).then_some(tried.candidate.way)
    }

    /// Seconds that a trial is expected to lose.
    fn expected(&self, kept: &Attempt, tried: &Attempt) -> f64 {
        let usual = kept.sample().mean;
        match tried.standing {
            // A second plan is there already.
            Standing::Tried => (tried.last - usual).max(0.0),
            Standing::Untried | Standing::Refused => {
                let predicted = tried.candidate.again / kept.candidate.again.max(f64::MIN_POSITIVE);
                self.making + usual * (predicted * CAUTION - 1.0).max(0.0)
            }
        }
    }

    /// Says how long it takes to make a plan, in seconds.
    pub fn making_takes(&mut self, seconds: f64) {
        self.making = seconds;
    }

    /// Learns from the time of a call.
    pub fn learn(&mut self, lesson: Lesson, spent: Spent) {
        let seconds = spent.making + spent.moving.unwrap_or_default();
        self.total += seconds;
        let (Lesson::Went(way) | Lesson::Began(way) | Lesson::Refused(way)) = lesson else { return };
        let Some(index) = self.attempts.iter().position(|one| one.candidate.way == way) else { return };
        self.has_just_tried = index != self.kept;
        if !self.has_just_tried {
            spent.moving.iter().for_each(|&moving| self.attempts[index].add(moving));
            return;
        }
        let usual = self.attempts[self.kept].sample();
        self.lost += match spent.moving {
            Some(_) if !matches!(lesson, Lesson::Refused(_)) => (seconds - usual.mean).max(0.0),
            _ => spent.making,
        };
        self.attempts[index].standing = match (lesson, spent.moving) {
            (Lesson::Began(_), Some(moving)) if moving <= COLD * usual.mean => Standing::Tried,
            (Lesson::Went(_), Some(moving)) => {
                self.attempts[index].add(moving);
                self.judge(index, &usual)
            }
            _ => Standing::Refused,
        };
        self.attempts[index].last = spent.moving.unwrap_or_default();
    }

    /// Where a way stands that was measured once more, beside the usual one. Keeps it if it is faster.
    fn judge(&mut self, index: usize, usual: &Sample) -> Standing {
        let tried = self.attempts[index].sample();
        if tried.mean > usual.mean + half_width(usual) {
            return Standing::Refused;
        }
        if !is_enough(&tried) {
            return Standing::Tried;
        }
        if tried.mean + half_width(&tried).hypot(half_width(usual)) >= usual.mean {
            return Standing::Refused;
        }
        self.attempts[self.kept].standing = Standing::Refused;
        self.kept = index;
        Standing::Tried
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ways(predicted: &[f64]) -> Vec<Candidate> {
        let way = |local| Way { local, ..Way::default() };
        predicted
            .iter()
            .enumerate()
            .map(|(local, &seconds)| Candidate { way: way(local), seconds, again: seconds })
            .collect()
    }

    fn spent(making: f64, moving: f64) -> Spent {
        Spent { making, moving: Some(moving) }
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
        trials.learn(Lesson::Made, spent(making, seconds(0, 0)));
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
                true => trials.learn(Lesson::Began(way), spent(making, moving)),
                false => trials.learn(Lesson::Went(way), spent(0.0, moving)),
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
        let due = 2 + 1 + LEAST as usize;
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
            (Lesson::Refused as fn(Way) -> Lesson, Some(1.0), 0.5),
            (Lesson::Began, None, 0.5),
            (Lesson::Went, None, 0.5),
            (Lesson::Began, Some(COLD * 1.1), 0.5 + COLD * 1.1 - 1.0),
        ];
        for (lesson, moving, lost) in bad {
            let mut trials = Trials::new(&ways(&[1.0, 1.0]));
            trials.learn(Lesson::Made, spent(0.0, 1.0));
            (0..100).for_each(|_| trials.learn(Lesson::Went(Way::default()), spent(0.0, 1.0)));
            let other = trials.next().unwrap();
            trials.learn(lesson(other), Spent { making: 0.5, moving });
            assert!(trials.has_refused(other) && (trials.lost - lost).abs() < 1e-9, "{moving:?}: {trials:?}");
            trials.learn(Lesson::Went(Way::default()), spent(0.0, 1.0));
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
            assert!(tried.len() <= 1 + MOST as usize, "{tried:?}");
            assert!(trials.lost <= SHARE * trials.total);
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
        /// As long as nothing takes more than CAUTION times as long as predicted, trials never lose more than their share, and
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
                prop_assert!(trials.lost <= SHARE * trials.total + 1e-9, "{trials:?}");
                if calls == 5000 {
                    let best = trials.attempts.iter().map(|one| seconds[one.candidate.way.local]).fold(f64::INFINITY, f64::min);
                    prop_assert_eq!(seconds[trials.kept().unwrap().local], best);
                }
            }
        }
    }
}
