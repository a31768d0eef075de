//! `trib run --compare`: runs a command without the library and with it, in turns, and prints the gain in a line.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{RunPlan, child, not_started};
use crate::Failure;
use crate::cli::run::RunOptions;
use crate::compare::{self, statistics::median};

/// Maximum number of pairs of runs.
const PAIRS: usize = 50;
/// Time after which no pair of runs begins.
const BUDGET: Duration = Duration::from_secs(20);
/// A ratio is stable if the confidence interval of its median is no wider than this fraction of the ratio.
const WIDTH: f64 = 0.1;
/// An interval that contains 1 and is wider than this fraction of the median shows no result.
const USELESS: f64 = 0.5;
/// Probability that the true median lies outside of the interval.
const DOUBT: f64 = 0.05;

/// Times of one run in seconds.
#[derive(Debug, Clone, Copy)]
struct CallTimes {
    /// Seconds inside MPI_File_* on the rank with the longest time there; none if no rank called MPI_File_*.
    inside: Option<f64>,
    whole: f64,
    ranks: usize,
}

/// Runs the command without the library and with it, until the ratio of their times is stable. The first two runs print
/// what the program prints, and the process ends as the second one ended, or as the first if that failed. Later runs
/// print nothing. If one of them fails, for example because the program cannot run a third time, the pairs before it
/// count.
///
/// # Errors
/// Mistakes in the options that are found before anything is started; records that cannot be read.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let inside = compare::inside()?;
    let begin = Instant::now();
    eprintln!("trib: first without the library");
    let (status, without) = once(options, &inside, false, true)?;
    if !status.success() {
        eprintln!("trib: run: it ended like this without the library: {status}");
        child::end_as(status);
    }
    let (status, with) = once(options, &inside, true, true)?;
    let mut pairs = vec![(without, with)];
    if status.success() {
        repeat(options, &inside, begin, &mut pairs)?;
    }
    eprintln!("trib: {}", line(&pairs));
    child::end_as(status)
}

/// Adds pairs of runs until the ratio is stable, the time is over, or the command fails. The last run is with the
/// library, so that its files stay.
fn repeat(
    options: &RunOptions,
    inside: &Path,
    begin: Instant,
    pairs: &mut Vec<(CallTimes, CallTimes)>,
) -> Result<(), Failure> {
    while pairs.len() < PAIRS && !Gain::from_pairs(pairs).stands() {
        // Another pair begins only if it would end within the time.
        let (without, with) = pairs[0];
        if begin.elapsed() + Duration::from_secs_f64(without.whole + with.whole) > BUDGET {
            break;
        }
        if pairs.len() == 1 {
            eprintln!("trib: the program is short: it runs again, in turns, for {} s at most", BUDGET.as_secs());
        }
        let (first, without) = once(options, inside, false, false)?;
        let (second, with) = once(options, inside, true, false)?;
        if let Some(status) = [first, second].into_iter().find(|status| !status.success()) {
            eprintln!("trib: run: it does not run again ({status}); the runs before count");
            break;
        }
        pairs.push((without, with));
    }
    Ok(())
}

/// Runs the command once. It prints and reads as this process does if `is_shown`; otherwise it prints nothing.
fn once(
    options: &RunOptions,
    inside: &Path,
    is_with: bool,
    is_shown: bool,
) -> Result<(ExitStatus, CallTimes), Failure> {
    let folder = tempfile::tempdir()?;
    let plan = RunPlan::measured(options, inside, is_with, folder.path())?;
    let mut command = plan.ready.command();
    if !is_shown {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    } else if is_with {
        eprintln!("trib: {}", plan.line);
    }
    let begin = Instant::now();
    let status = child::run(&mut command).unwrap_or_else(|cause| not_started(&command, &cause));
    let whole = begin.elapsed().as_secs_f64();
    let (inside, ranks) = compare::seconds_inside(folder.path())?;
    Ok((status, CallTimes { inside, whole, ranks }))
}

/// Result of the pairs of runs.
#[derive(Debug)]
struct Gain {
    /// Median seconds without the library, and with it.
    seconds: [f64; 2],
    /// Median seconds from start to end, without the library and with it.
    whole: [f64; 2],
    /// Median of the pairs' ratios: seconds without the library divided by seconds with it.
    ratio: f64,
    /// Lower end of the interval in which the true median lies; the least ratio if there are few pairs.
    low: f64,
    high: f64,
    pairs: usize,
    /// Number of ranks that called MPI_File_*, if the seconds are those inside MPI_File_*.
    ranks: Option<usize>,
}

impl Gain {
    /// Computes the gain from the times inside MPI-IO if all runs have them, or else from the whole times.
    fn from_pairs(pairs: &[(CallTimes, CallTimes)]) -> Self {
        let is_inside = pairs.iter().all(|(without, with)| without.inside.is_some() && with.inside.is_some());
        let seconds = |took: &CallTimes| took.inside.filter(|_| is_inside).unwrap_or(took.whole);
        let ratio = |(without, with): &(CallTimes, CallTimes)| match seconds(with) {
            with if with > 0.0 => seconds(without) / with,
            _ => 1.0,
        };
        let mut ratios: Vec<f64> = pairs.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let at = rank_of_interval(ratios.len());
        let middle = |of: &dyn Fn(&(CallTimes, CallTimes)) -> f64| {
            median(&pairs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        Self {
            seconds: [middle(&|pair| seconds(&pair.0)), middle(&|pair| seconds(&pair.1))],
            whole: [middle(&|pair| pair.0.whole), middle(&|pair| pair.1.whole)],
            ratio: median(&ratios).unwrap_or(f64::NAN),
            low: ratios[at],
            high: ratios[ratios.len() - 1 - at],
            pairs: ratios.len(),
            ranks: is_inside.then_some(pairs[0].1.ranks),
        }
    }

    /// Returns true if the ratio is stable, so that more pairs would not change it.
    fn stands(&self) -> bool {
        has_interval(self.pairs) && self.high - self.low <= WIDTH * self.ratio
    }

    /// Returns as text how much faster or slower the program is with the library.
    fn verdict(&self) -> String {
        let several = self.pairs > 1;
        if several && self.low <= 1.0 && self.high >= 1.0 {
            return match self.high - self.low > USELESS * self.ratio || !has_interval(self.pairs) {
                true => {
                    "the runs differ too much to tell: the program is too short, or the machine is busy".to_string()
                }
                false => "with the library as fast as without it".to_string(),
            };
        }
        let (times, word) = if self.ratio < 1.0 { (1.0 / self.ratio, "slower") } else { (self.ratio, "faster") };
        format!("{} times {word} with the library", short(times))
    }

    /// Returns the range of the ratio as text, inverted if the program is slower with the library.
    fn range(&self) -> String {
        let is_slower = self.high < 1.0;
        let (low, high) = if is_slower { (1.0 / self.high, 1.0 / self.low) } else { (self.low, self.high) };
        match self.pairs {
            1 => "one run of each".to_string(),
            pairs if is_slower => format!("{} to {} times slower, in {pairs} pairs of runs", short(low), short(high)),
            pairs => format!("{} to {} times as fast, in {pairs} pairs of runs", short(low), short(high)),
        }
    }
}

/// Returns the line that is printed about the gain.
fn line(pairs: &[(CallTimes, CallTimes)]) -> String {
    let gain = Gain::from_pairs(pairs);
    let ([before, after], [start, end]) = (gain.seconds, gain.whole);
    let what = match gain.ranks {
        Some(ranks) => format!("inside MPI-IO, {ranks} ranks"),
        None => "from start to end, as no rank was seen to call MPI_File_*".to_string(),
    };
    format!(
        "{} ({}): {before:.4} s without it, {after:.4} s with it ({what}); from start to end {start:.2} s and {end:.2} s; \
         `trib compare -- COMMAND` says more",
        gain.verdict(),
        gain.range()
    )
}

/// Returns a ratio as text: two decimals below 10, none above.
fn short(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

/// Returns true if the least and the greatest of `count` numbers enclose the true median with a probability of at least
/// 1 - [`DOUBT`].
fn has_interval(count: usize) -> bool {
    2.0 * 0.5_f64.powi(count as i32) <= DOUBT
}

/// Returns the position, from either end of `count` sorted numbers, of the two numbers that enclose the true median
/// with a probability of at least 1 - [`DOUBT`] (sign test). 0 if `count` is too small.
fn rank_of_interval(count: usize) -> usize {
    let mut probability = 0.5_f64.powi(count as i32);
    let mut below = probability;
    let mut place = 0;
    while 2.0 * below <= DOUBT {
        place += 1;
        probability *= (count - place + 1) as f64 / place as f64;
        below += probability;
    }
    place.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(without: f64, with: f64) -> (CallTimes, CallTimes) {
        let took = |seconds| CallTimes { inside: Some(seconds), whole: seconds + 1.0, ranks: 2 };
        (took(without), took(with))
    }

    #[test]
    fn the_gain_is_of_the_time_inside_where_there_is_one() {
        let said = line(&[pair(3.0, 1.5)]);
        assert!(
            said.starts_with(
                "2.00 times faster with the library (one run of each): 3.0000 s without it, 1.5000 s with it (inside MPI-IO, 2 ranks)"
            ),
            "{said}"
        );
        let took = |whole| CallTimes { inside: None, whole, ranks: 2 };
        let said = line(&[(took(5.0), took(10.0))]);
        assert!(
            said.starts_with("2.00 times slower with the library (one run of each): 5.0000 s without it"),
            "{said}"
        );
    }

    #[test]
    fn the_range_is_turned_round_with_the_verdict() {
        let said = line(&[pair(1.0, 5.0), pair(1.0, 5.6), pair(1.0, 5.8)]);
        assert!(
            said.starts_with("5.60 times slower with the library (5.00 to 5.80 times slower, in 3 pairs of runs)"),
            "{said}"
        );
    }

    #[test]
    fn runs_that_differ_too_much_tell_nothing() {
        let said = line(&[pair(1.0, 25.0), pair(1.32, 1.0), pair(3.84, 1.0), pair(1.0, 1.0)]);
        assert!(said.starts_with("the runs differ too much to tell: the program is too short"), "{said}");
        assert!(said.contains("(0.04 to 3.84 times as fast, in 4 pairs of runs)"), "{said}");
    }

    #[test]
    fn runs_that_differ_little_are_equal() {
        let said = line(&[0.97, 1.01, 0.99, 1.02, 1.0, 0.98, 1.03].map(|ratio| pair(ratio, 1.0)));
        assert!(said.starts_with("with the library as fast as without it (0.97 to 1.03 times as fast, in 7"), "{said}");
    }

    #[test]
    fn a_ratio_stands_when_the_interval_of_its_median_is_narrow() {
        let near = |count: usize| (0..count).map(|turn| pair(2.0 + 0.01 * turn as f64, 1.0)).collect::<Vec<_>>();
        assert!(!Gain::from_pairs(&near(5)).stands() && Gain::from_pairs(&near(6)).stands());
        // One run that was disturbed does not count among many.
        let mut all = near(9);
        assert!(Gain::from_pairs(&all).stands());
        all.push(pair(9.0, 1.0));
        assert!(Gain::from_pairs(&all).stands());
    }

    /// Compares the positions with tables of the sign test, for 5 % on both sides together.
    #[test]
    fn places_of_the_interval() {
        let due = [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (50, 17)];
        assert_eq!(due.map(|(count, _)| (count, rank_of_interval(count))), due);
        assert!(!has_interval(5) && has_interval(6));
    }
}
