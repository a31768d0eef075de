//! Trials of other kernels in calls that repeat.
//!
//! All kernels write the same bytes, so a call whose plan comes again may go another way to see whether it is faster. Every
//! decision is a pure function of numbers that all ranks agree on at the end of each call, so it costs no message and is the
//! same on all ranks. A trial begins only if what it is expected to lose, and all that trials have lost so far, is at most
//! [`SHARE`] of the time of all calls so far.
//!
//! A way that was slower is not tried again. One that was faster is tried until its mean is known well enough, by the rule of
//! measurements (Hasanov, thesis, 3.1.3: the half-width of the mean's confidence interval), and is then kept.

use crate::engine::plan::choice::{Candidate, Way};
use crate::tuned::{STUDENT, Sample};

/// Trials may lose this part of the time.
const SHARE: f64 = 0.05;
/// Ways are tried whose predicted time is at most so many times that of the way that is predicted to be the fastest.
const NEAR: f64 = 1.5;
/// What is tried may take so many times as long as predicted.
const CAUTION: f64 = 1.5;
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
    /// What comes after: the exchange of data, and the file.
    pub moving: f64,
}

/// Where a way stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Untried,
    /// It was faster so far.
    Tried,
    /// It was slower.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Attempt {
    candidate: Candidate,
    moving: Sample,
    standing: Standing,
}

/// The trials of a plan.
#[derive(Debug, Clone)]
pub struct Trials {
    /// The way that is kept, then those that may be tried.
    attempts: Vec<Attempt>,
    /// The index of the way that is kept.
    kept: usize,
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
        let attempt = |&candidate| Attempt { candidate, moving: Sample::default(), standing: Standing::Untried };
        let attempts = ways.iter().take(1).chain(others).map(attempt).collect();
        Self { attempts, kept: 0, making: 0.0, total: 0.0, lost: 0.0 }
    }

    /// The way that is kept; `None` if there is nothing to choose.
    pub fn kept(&self) -> Option<Way> {
        self.attempts.get(self.kept).map(|kept| kept.candidate.way)
    }

    /// Whether a way was slower, or cannot be gone.
    pub fn has_refused(&self, way: Way) -> bool {
        self.attempts.iter().any(|one| one.candidate.way == way && one.standing == Standing::Refused)
    }

    /// The other way that the next call should go, if it should.
    pub fn next(&self) -> Option<Way> {
        let kept = self.attempts.get(self.kept)?;
        if kept.moving.count < LEAST {
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
        match tried.standing {
            // A second plan is there already, and its way is faster so far.
            Standing::Tried => 0.0,
            Standing::Untried | Standing::Refused => {
                let predicted = tried.candidate.again / kept.candidate.again.max(f64::MIN_POSITIVE);
                self.making + kept.moving.mean * (predicted * CAUTION - 1.0).max(0.0)
            }
        }
    }

    /// Counts the first call, whose plan was made.
    pub fn made(&mut self, spent: Spent) {
        self.making = spent.making;
        self.total += spent.making + spent.moving;
    }

    /// Counts a call that went `way`.
    pub fn went(&mut self, way: Way, spent: Spent) {
        let seconds = spent.making + spent.moving;
        self.total += seconds;
        let Some(index) = self.attempts.iter().position(|one| one.candidate.way == way) else { return };
        self.attempts[index].moving.add(spent.moving);
        if index == self.kept {
            return;
        }
        let kept = self.attempts[self.kept].moving;
        self.lost += (seconds - kept.mean).max(0.0);
        let tried = &mut self.attempts[index];
        tried.standing = if tried.moving.mean < kept.mean { Standing::Tried } else { Standing::Refused };
        if tried.standing == Standing::Tried && is_enough(&tried.moving) {
            self.attempts[self.kept].standing = Standing::Refused;
            self.kept = index;
        }
    }

    /// A way that cannot be gone.
    pub fn refuse(&mut self, way: Way) {
        for one in self.attempts.iter_mut().filter(|one| one.candidate.way == way) {
            one.standing = Standing::Refused;
        }
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

    /// Makes calls; each way takes `seconds(call, way)`. Gives the trials, and the calls in which another way was tried.
    fn run(
        predicted: &[f64],
        making: f64,
        calls: usize,
        seconds: impl Fn(usize, usize) -> f64,
    ) -> (Trials, Vec<usize>) {
        let (mut trials, mut tried, mut known) = (Trials::new(&ways(predicted)), Vec::new(), vec![0]);
        trials.made(Spent { making, moving: seconds(0, 0) });
        for call in 1..calls {
            let kept = trials.kept().unwrap();
            let way = trials.next().unwrap_or(kept);
            if way != kept {
                tried.push(call);
            }
            let is_new = !known.contains(&way.local);
            known.push(way.local);
            trials.went(way, Spent { making: if is_new { making } else { 0.0 }, moving: seconds(call, way.local) });
        }
        (trials, tried)
    }

    #[test]
    fn the_fastest_way_is_found_and_slower_ones_are_tried_once() {
        let (trials, tried) = run(&[1.0, 1.1, 1.2, 9.0], 2.0, 400, |_, way| [1.0, 1.3, 0.5, 0.1][way]);
        assert_eq!(trials.kept().unwrap().local, 2);
        assert_eq!(tried.len(), 1 + LEAST as usize, "the way that is predicted to be 9 times as slow is not tried");
        assert!(tried[0] > 40, "making a plan takes as long as 2 calls: after 40 that is 5 %: {tried:?}");
    }

    #[test]
    fn few_calls_try_nothing_and_one_way_has_no_other() {
        assert!(run(&[1.0, 1.0], 1.0, 20, |_, _| 1.0).1.is_empty());
        assert!(run(&[1.0], 0.0, 1000, |_, _| 1.0).1.is_empty());
        assert!(Trials::new(&[]).next().is_none());
    }

    #[test]
    fn a_way_that_cannot_be_gone_is_not_asked_for_again() {
        let mut trials = Trials::new(&ways(&[1.0, 1.0]));
        trials.made(Spent { making: 0.0, moving: 1.0 });
        (0..100).for_each(|_| trials.went(Way::default(), Spent { making: 0.0, moving: 1.0 }));
        let other = trials.next().unwrap();
        trials.refuse(other);
        assert_eq!(trials.next(), None);
    }

    /// A way that is as fast in the mean is not kept for a lucky call: its mean must stay below through enough calls.
    #[test]
    fn noise_alone_rarely_changes_the_way() {
        let noise = |call: usize, way: usize| 1.0 + 0.1 * (((call * 7919 + way * 104_729) % 1000) as f64 / 1000.0);
        let (trials, tried) = run(&[1.0, 1.0], 0.1, 1000, noise);
        assert!(tried.len() <= MOST as usize, "{tried:?}");
        assert!(trials.lost <= SHARE * trials.total);
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
