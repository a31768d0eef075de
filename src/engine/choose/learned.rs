//! Learns from the exchanges of a file how to divide the next ones: the size of windows, and the part of the file of each
//! aggregator. All ranks learn the same, because they learn from the agreed outcome of calls; this costs no message.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tributary_base::wire;

use crate::access::AccessStats;
use crate::engine::choose::cost::Ways;
use crate::engine::choose::windows::ExchangeWindows;
use crate::engine::choose::{
    CLEARLY_SLOW, FIRST_PART, LEARNED_FROM, SLOW_TIMES, WORTH_CHANGING, WORTH_DIVIDING, WORTH_LEARNING,
};
use crate::topology::Rank;
use crate::world::process::own_state;

/// The times that aggregators spent in the file in a call, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileTimes {
    /// Number of aggregators that spent time in the file.
    pub count: u64,
    /// Sum of their times.
    pub sum: u64,
    /// Longest time of one aggregator.
    pub most: u64,
    /// Rank of the aggregator with the longest time.
    pub slowest: Option<Rank>,
    /// Shortest time of one aggregator.
    pub least: u64,
    /// Rank of the aggregator with the shortest time.
    pub fastest: Option<Rank>,
}

wire::fields!(struct FileTimes { count, sum, most, slowest, least, fastest });

impl FileTimes {
    /// Returns the times of a call in which only `rank` spent time in the file; none if `micros` is 0.
    pub fn of(rank: Rank, micros: u64) -> Self {
        match micros {
            0 => Self::default(),
            sum => Self { count: 1, sum, most: sum, slowest: Some(rank), least: sum, fastest: Some(rank) },
        }
    }

    /// Merges the times of other ranks.
    pub fn merge(&mut self, other: &Self) {
        if other.most > self.most {
            (self.most, self.slowest) = (other.most, other.slowest);
        }
        if self.count == 0 || (other.count > 0 && other.least < self.least) {
            (self.least, self.fastest) = (other.least, other.fastest);
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Returns the rank whose time was far from the mean of the others, its time and this mean, in microseconds. Prefers the
    /// slowest rank to the fastest. `None` if no time was far from the mean.
    fn outlier(&self) -> Option<(Rank, u64, u64)> {
        let others = |own: u64| (self.sum.saturating_sub(own) / self.count.saturating_sub(1).max(1)).max(1);
        let is_far = |more: u64, less: u64| 2 * u128::from(more) > u128::from(SLOW_TIMES) * u128::from(less);
        let (slow, fast) = ((self.most, others(self.most)), (self.least, others(self.least)));
        match (self.slowest, self.fastest) {
            _ if self.count < 2 => None,
            (Some(rank), _) if is_far(slow.0, slow.1) => Some((rank, slow.0, slow.1)),
            (_, Some(rank)) if is_far(fast.1, fast.0) => Some((rank, fast.0, fast.1)),
            _ => None,
        }
    }
}

/// Times of an exchange in microseconds, agreed by all ranks.
#[derive(Debug, Clone, Copy)]
pub struct CallTimes {
    /// Time of the call without the wait for the file.
    pub exchange: u64,
    /// Times of the aggregators in the file.
    pub file: FileTimes,
    /// Time of the whole call.
    pub total: u64,
}

/// Nanoseconds that one aggregator takes for each KiB, in messages and in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paces {
    /// Nanoseconds for each KiB in messages.
    pub exchange: u64,
    /// Nanoseconds for each KiB in the file.
    pub file: u64,
}

wire::fields!(struct Paces { exchange, file });

impl Paces {
    /// Returns the nanoseconds in messages, and those in the file, that one aggregator takes for `bytes` bytes.
    pub fn nanos(&self, bytes: u64) -> (u64, u64) {
        let of = |pace: u64| u64::try_from((u128::from(pace) * u128::from(bytes)) >> 10).unwrap_or(u64::MAX);
        (of(self.exchange), of(self.file))
    }
}

/// Value in [`Learned::shares`] of an aggregator that is as fast as the others.
const WHOLE: u32 = 1 << 16;

/// Rates of an aggregator and shares of the file, learned from the exchanges of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    /// Paces of an aggregator, if the size of windows follows from them.
    pub paces: Option<Paces>,
    /// Share of the file of each aggregator, in proportion to [`WHOLE`]; empty if all get the same.
    pub shares: Vec<u32>,
    /// Number of changes so far. A plan fits only calls with the number that was valid when the plan was made.
    pub changes: u32,
    /// True if every rank has sent messages to aggregators, so that it is connected with them.
    pub connected: bool,
    /// True if the times of the aggregators in the file are known from a call.
    pub timed: bool,
    /// Times of the ways of a call of which each host has its own part. Unlike the rest, only rank 0 learns and uses it.
    pub ways: Ways,
    /// Rank that was slow or fast in the last call, without being clearly so.
    suspect: Option<Rank>,
}

wire::fields!(struct Learned { paces, shares, changes, connected, timed, ways, suspect });

own_state! {
    /// Rates and shares learned on the last file on each file system, on rank 0 of the file's ranks.
    static KEPT: Mutex<BTreeMap<FileSystemKey, Learned>> = Mutex::new(BTreeMap::new());
}

/// Hash of a file system, its driver, and the number of ranks that use it. 0: nothing is kept for the next file.
pub type FileSystemKey = u64;

impl Learned {
    /// Returns what was learned on the last file on a file system. Local.
    pub fn kept(key: FileSystemKey) -> Self {
        KEPT.with(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()).unwrap_or_default()
    }

    /// Keeps this for the next file on a file system, except what follows from stated times. Local.
    pub fn keep(&self, key: FileSystemKey) {
        if key != 0 {
            KEPT.with(|kept| {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let before = kept.entry(key).or_default();
                let ways = if self.ways.speed.is_stated { before.ways } else { self.ways };
                *before = Self { ways, ..self.clone() };
            });
        }
    }

    /// Notes that ranks have sent messages to aggregators. Unless the messages were `layered`, all ranks have. Returns true
    /// if all ranks are connected now and were not before.
    pub fn connect(&mut self, layered: bool) -> bool {
        let is_new = !layered && !self.connected;
        self.connected |= is_new;
        is_new
    }

    /// Learns from a call, which took `took` and moved `bytes` bytes through `aggregators`. `windows` has a function that
    /// returns the windows of such a call for given paces, and the cost of a window in nanoseconds; `None` if a hint sets the
    /// windows. Returns true if something changed.
    pub fn learn(
        &mut self,
        took: &CallTimes,
        bytes: u64,
        aggregators: &[Rank],
        windows: Option<(impl Fn(Option<Paces>) -> ExchangeWindows, u64)>,
    ) -> bool {
        let part = bytes / aggregators.len() as u64;
        if took.total < WORTH_LEARNING || part < LEARNED_FROM {
            return false;
        }
        self.timed = true;
        let divided = self.divide(&took.file, aggregators);
        let paced = windows.is_some_and(|(windows, cost)| {
            let pace =
                |micros: u64| u64::try_from(u128::from(micros) * 1_024_000 / u128::from(part)).unwrap_or(u64::MAX);
            // Do not learn paces from a call in which one aggregator delayed the others.
            let seen = Paces { exchange: pace(took.exchange), file: pace(took.file.most) };
            let predicted = |paces| predicted(seen.nanos(part), part.div_ceil(windows(paces).window), cost);
            let (now, then) = (predicted(self.paces), predicted(Some(seen)));
            let is_worth = !divided && then < now - now / WORTH_CHANGING;
            if is_worth {
                self.paces = Some(seen);
            }
            is_worth
        });
        self.changes += u32::from(divided || paced);
        divided || paced
    }

    /// Changes the share of an aggregator that is slower or faster than the others. Returns true if it did.
    fn divide(&mut self, file: &FileTimes, aggregators: &[Rank]) -> bool {
        let before = self.suspect.take();
        let Some((rank, own, others)) = file.outlier() else { return false };
        let Ok(at) = aggregators.binary_search(&rank) else { return false };
        let is_clear = own.max(others) / own.min(others).max(1) >= CLEARLY_SLOW;
        if before != Some(rank) && !is_clear {
            self.suspect = Some(rank);
            return false;
        }
        if self.shares.len() != aggregators.len() {
            self.shares = vec![WHOLE; aggregators.len()];
        }
        let share = u64::from(self.shares[at]) * others / own.max(1);
        // An aggregator keeps a share large enough that later calls show its speed.
        self.shares[at] = share.clamp(u64::from(WHOLE) / 64, u64::from(WHOLE) * 64) as u32;
        true
    }
}

/// Rates and shares learned from the exchanges of a file, for reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LearnedFacts {
    /// Bytes a second of an aggregator in messages, if the size of windows follows from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange_rate: Option<u64>,
    /// Bytes a second of the slowest aggregator in the file, if the size of windows follows from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_rate: Option<u64>,
    /// Share of the file of each aggregator that is slower or faster than others, by rank; 1.0 is an equal share.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<Rank, f64>,
}

impl LearnedFacts {
    /// Returns what was learned about `aggregators`; `None` if nothing was.
    pub fn of(learned: &Learned, aggregators: &[Rank]) -> Option<Self> {
        let all: u64 = learned.shares.iter().map(|&share| u64::from(share)).sum();
        let part = |share: u32| f64::from(share) * aggregators.len() as f64 / all as f64;
        // Shares of other aggregators have no effect.
        let own = learned.shares.iter().filter(|_| learned.shares.len() == aggregators.len());
        let shares: BTreeMap<_, _> = aggregators
            .iter()
            .zip(own)
            .filter(|(_, share)| **share != WHOLE)
            .map(|(rank, share)| (*rank, part(*share)))
            .collect();
        let rate = |pace: u64| 1_024_000_000_000 / pace.max(1);
        let rates = learned.paces.map(|paces| (rate(paces.exchange), rate(paces.file)));
        let (exchange_rate, file_rate) = rates.unzip();
        (rates.is_some() || !shares.is_empty()).then_some(Self { exchange_rate, file_rate, shares })
    }
}

impl Display for LearnedFacts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mib = |rate: u64| rate as f64 / f64::from(1 << 20);
        let rates = self.exchange_rate.zip(self.file_rate).map(|(exchange, file)| {
            format!(
                "windows for {:.0} MiB/s of an aggregator in messages and {:.0} in the file",
                mib(exchange),
                mib(file)
            )
        });
        let shares = self.shares.iter().map(|(rank, part)| format!("rank {rank} gets {part:.2} of an equal part"));
        f.write_str(&rates.into_iter().chain(shares).collect::<Vec<_>>().join("; "))
    }
}

/// Predicts the nanoseconds of a call in which messages take the first number of the tuple and the file the second, with
/// `windows` windows of an aggregator, each at `cost`. Messages and file overlap in time, except in the first window and the
/// last.
fn predicted((exchange, file): (u64, u64), windows: u64, cost: u64) -> u64 {
    let (long, short) = (exchange.max(file), exchange.min(file));
    long.saturating_add(short / windows.max(1)).saturating_add(windows.saturating_mul(cost))
}

/// Returns the number of windows for which [`predicted`] is least.
pub fn best_windows((exchange, file): (u64, u64), cost: u64) -> u64 {
    (exchange.min(file) / cost.max(1)).isqrt().max(1)
}

/// Divides the first write of a file in two, so that the times of the first part divide the rest between the aggregators.
/// Returns the parts of `amount` before and after an offset, a multiple of `unit`; `None` if the write is too short for that,
/// or if one aggregator writes all. The parts of each rank are not known, so all numbers except the range are in proportion
/// to the length. The same on all ranks.
pub fn probe_then_divide(amount: &AccessStats, aggregators: usize, unit: u64) -> Option<[AccessStats; 2]> {
    let aggregators = aggregators as u64;
    if aggregators < 2 || amount.bytes / aggregators < WORTH_DIVIDING {
        return None;
    }
    let bytes = (amount.bytes / FIRST_PART).max(LEARNED_FROM.checked_mul(aggregators)?);
    let len = (u128::from(amount.span()) * u128::from(bytes)).div_ceil(u128::from(amount.bytes));
    let at = amount.start.checked_add(u64::try_from(len).ok()?)?.checked_next_multiple_of(unit.max(1))?;
    (at < amount.end).then(|| [amount.within(amount.start, at), amount.within(at, amount.end)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[u64]) -> FileTimes {
        let mut merged = FileTimes::default();
        all.iter().enumerate().for_each(|(at, micros)| merged.merge(&FileTimes::of(4 * at, *micros)));
        merged
    }

    const RANKS: [Rank; 4] = [0, 4, 8, 12];

    fn by(learned: &mut Learned, all: &[u64]) -> bool {
        let none = None::<(fn(Option<Paces>) -> ExchangeWindows, u64)>;
        learned.learn(&CallTimes { exchange: 0, file: times(all), total: 1_000_000 }, 4 << 20, &RANKS, none)
    }

    #[test]
    fn a_slow_aggregator_gets_less_and_gets_it_back() {
        let mut learned = Learned::default();
        assert!(by(&mut learned, &[1000, 1000, 10_000, 1000]), "clearly slow");
        assert_eq!((learned.shares.as_slice(), learned.changes), ([WHOLE, WHOLE, WHOLE / 10, WHOLE].as_slice(), 1));
        let facts = LearnedFacts::of(&learned, &RANKS).map(|facts| facts.to_string());
        assert_eq!(facts.as_deref(), Some("rank 8 gets 0.13 of an equal part"));
        assert_eq!(LearnedFacts::of(&learned, &[0]), None, "of other aggregators");
        assert!(!by(&mut learned, &[1000, 1000, 1000, 1000]), "all take the same time");
        assert!(by(&mut learned, &[1000, 1000, 100, 1000]), "it is fast again");
        assert_eq!((learned.shares[2] / 1000, learned.changes), (WHOLE / 1000, 2));
    }

    #[test]
    fn noise_changes_nothing() {
        let mut learned = Learned::default();
        for calls in [[1000, 1700, 1000, 1000], [1800, 1000, 1000, 1000], [1000, 1300, 1000, 1000], [0, 1700, 0, 0]] {
            assert!(!by(&mut learned, &calls), "{calls:?}");
        }
        let slow = [1000, 1000, 1700, 1000];
        assert!(!by(&mut learned, &slow) && by(&mut learned, &slow), "slow in two calls");
    }

    #[test]
    fn windows_follow_from_both_times() {
        assert_eq!(best_windows((100_000_000, 80_000_000), 500_000), 12);
        assert_eq!(best_windows((100_000_000, 0), 500_000), 1, "nothing to overlap");
        let least = best_windows((90_000, 70_000), 100);
        let at = |windows| predicted((90_000, 70_000), windows, 100);
        assert!(at(least) <= at(least - 2) && at(least) <= at(least + 2));
    }

    #[test]
    fn a_long_write_has_a_short_first_part() {
        let amount =
            |start, span, bytes| AccessStats { start, end: start + span, bytes, requests: 600, most: 40, touched: 60 };
        let dense = amount(5, 1 << 30, 1 << 30);
        let [first, rest] = probe_then_divide(&dense, 4, 4 << 10).unwrap();
        assert_eq!((first.start, first.end, rest.end), (5, (32 << 20) + (4 << 10), dense.end));
        assert_eq!((first.bytes, rest.bytes), (first.span(), rest.span()), "without holes");
        assert!(first.requests < 20 && rest.requests > 580 && first.most >= 1);
        let holes = amount(0, 1 << 40, 256 << 20);
        let [first, rest] = probe_then_divide(&holes, 4, 1).unwrap();
        assert!(first.has_holes() && rest.has_holes() && first.bytes >= 4 * LEARNED_FROM, "{first:?}");
        assert_eq!(probe_then_divide(&dense, 1, 1), None, "nothing to divide");
        assert_eq!(probe_then_divide(&amount(0, 256 << 20, (256 << 20) - 4), 4, 1), None, "too short");
        assert_eq!(probe_then_divide(&amount(0, 256 << 20, 256 << 20), 4, 1 << 30), None, "a unit has all");
    }
}
