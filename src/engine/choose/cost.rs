//! Expected times of the ways in which a call can move its bytes, from what was measured in this job.
//!
//! A way takes the time of its calls on the file, of which some are in flight at the same time, and of its bytes. What a call
//! costs on a file system is not known before the first calls: a rank writes a first piece and measures it.

use tributary_base::wire;

use crate::access::AccessStats;
use crate::engine::choose::{
    CHANGE_AT_ONCE, GAIN_OF_CHANGE, GAIN_OF_TRIAL, MOST_WRITERS, PRIOR_EXCHANGE, PRIOR_FILE, SLOW_WRITE, WINDOW,
    WORTH_PROBING,
};
use crate::machine::FileCosts;

/// What calls on a file system take: a time for each call, and a time for each byte. The two follow from the calls so far, by
/// least squares of the relative errors; older calls count less.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileSpeed {
    /// Sums over calls, each divided by the time squared: rounds squared.
    rr: f64,
    /// Rounds times bytes.
    rb: f64,
    /// Bytes squared.
    bb: f64,
    /// Rounds times time.
    rt: f64,
    /// Bytes times time.
    bt: f64,
    /// True if the times were stated; they do not change then.
    pub is_stated: bool,
}

wire::fields!(struct FileSpeed { rr, rb, bb, rt, bt, is_stated });

/// Part of the weight of earlier calls that stays after another one.
const KEPT: f64 = 0.8;
/// Part that stays after a call that took at least [`FAR`] times as long as they show, or as short: the file is another one now.
/// (Short calls weigh more, because errors are relative; so many long ones would be needed to outweigh them.)
const KEPT_IF_FAR: f64 = 0.3;
/// See [`KEPT_IF_FAR`].
const FAR: f64 = 3.0;
/// Relative error of a measured time.
const ERROR: f64 = 0.1;
/// Weight of stated times: far more than that of what is known before any call.
const STATED: f64 = 1e9;
/// Standard deviations of what is known before any call: nanoseconds of a call, and of a byte.
const PLAUSIBLE: [f64; 2] = [10e6, 10.0];

/// What moved bytes in and out of the file in a call, as one of its writers saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileWork {
    /// Number of calls, one after the other: if several are in flight, their number divided by that of calls in flight.
    pub rounds: f64,
    /// Number of bytes.
    pub bytes: f64,
    /// Time in nanoseconds.
    pub nanos: f64,
}

impl FileSpeed {
    /// Returns the times that a machine file states. They do not change.
    pub fn stated(FileCosts { call_seconds, byte_seconds }: FileCosts) -> Self {
        let (rt, bt) = (STATED * call_seconds * 1e9, STATED * byte_seconds * 1e9);
        Self { rr: STATED, rb: 0.0, bb: STATED, rt, bt, is_stated: true }
    }

    /// Learns from the calls of one writer. Ignores times too short to be measured.
    pub fn observe(&mut self, FileWork { rounds, bytes, nanos }: FileWork) {
        if nanos < 1000.0 || rounds <= 0.0 || self.is_stated {
            return;
        }
        let weight = 1.0 / (nanos * ERROR).powi(2);
        let (of_call, of_byte) = self.nanos();
        let times = nanos / (rounds * of_call + bytes * of_byte);
        let kept = if (1.0 / FAR..FAR).contains(&times) { KEPT } else { KEPT_IF_FAR };
        let add = |sum: &mut f64, seen: f64| *sum = *sum * kept + seen * weight;
        add(&mut self.rr, rounds * rounds);
        add(&mut self.rb, rounds * bytes);
        add(&mut self.bb, bytes * bytes);
        add(&mut self.rt, rounds * nanos);
        add(&mut self.bt, bytes * nanos);
    }

    /// Returns true if a call was measured.
    pub fn is_known(&self) -> bool {
        self.rr > 0.0
    }

    /// Returns these sums with the weight of what is known before any call: a weak one.
    fn with_prior(&self) -> Self {
        let [call, byte] = PLAUSIBLE.map(|range| 1.0 / (range * range));
        let (rt, bt) = (self.rt + call * PRIOR_FILE.0, self.bt + byte * PRIOR_FILE.1);
        Self { rr: self.rr + call, bb: self.bb + byte, rt, bt, ..*self }
    }

    /// Returns the standard error of the nanoseconds of a byte: large if all calls had about as many bytes.
    fn error_of_byte(&self) -> f64 {
        let Self { rr, rb, bb, .. } = self.with_prior();
        (rr / (rr * bb - rb * rb).max(f64::MIN_POSITIVE)).sqrt()
    }

    /// Returns the nanoseconds of a call, and those of a byte.
    pub fn nanos(&self) -> (f64, f64) {
        let Self { rr, rb, bb, rt, bt, .. } = self.with_prior();
        let scale = (rr * bb - rb * rb).max(f64::MIN_POSITIVE);
        let (of_call, of_byte) = ((rt * bb - bt * rb) / scale, (bt * rr - rt * rb) / scale);
        // No time is negative: then the other one explains all.
        match (of_call > 0.0, of_byte > 0.0) {
            (true, true) => (of_call, of_byte),
            (false, _) => (0.0, (bt / bb).max(0.0)),
            (_, false) => ((rt / rr).max(0.0), 0.0),
        }
    }

    /// Returns the number of bytes that could be moved during a call. As far as the time of a byte is not known it is taken to be
    /// long.
    pub fn bytes_in_call(&self) -> u64 {
        let (of_call, of_byte) = self.nanos();
        (of_call / (of_byte + 2.0 * self.error_of_byte())) as u64
    }

    /// Returns the expected nanoseconds of `calls` calls that move `bytes` bytes, with `writers` calls in flight if each takes
    /// long. As far as the time of a byte is not known it is taken to be long: then fewer calls save less.
    fn expected(&self, calls: f64, bytes: f64, writers: f64) -> f64 {
        let (of_call, of_byte) = self.nanos();
        let in_flight = if of_call > SLOW_WRITE.as_nanos() as f64 { writers.min(calls).max(1.0) } else { 1.0 };
        calls / in_flight * of_call + bytes * (of_byte + 2.0 * self.error_of_byte())
    }
}

/// The part of a call that one host has, if each host moves its own bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostPart {
    /// Number of ranges of the file, each with small gaps.
    pub runs: u64,
    /// Number of bytes of these ranges.
    pub bytes: u64,
}

wire::fields!(struct HostPart { runs, bytes });

impl HostPart {
    /// Returns the maxima of two parts.
    pub fn max(self, other: Self) -> Self {
        Self { runs: self.runs.max(other.runs), bytes: self.bytes.max(other.bytes) }
    }
}

/// The ranks that can move the bytes of a call between hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Movers {
    /// Number of ranks of one host.
    pub local: usize,
    /// Number of aggregators.
    pub aggregators: usize,
    /// Number of bytes of a window of an aggregator, at most.
    pub window: u64,
}

/// The expected times of the two ways of a call of which each host has its own part, in microseconds, and the choice of the
/// rank that decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Expected {
    /// Each host moves its own bytes.
    pub hosts: u64,
    /// Aggregators move the bytes, which other ranks send them.
    pub exchange: u64,
    /// True if aggregators are chosen.
    pub by_exchange: bool,
}

wire::fields!(struct Expected { hosts, exchange, by_exchange });

/// Chooses between hosts by themselves and an exchange, call after call. Only the rank that decides uses it, and sends the
/// choice to the others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ways {
    /// What calls on the file take.
    pub speed: FileSpeed,
    /// Nanoseconds that an aggregator takes for each byte in messages; `None` before the first exchange.
    pub exchange: Option<f64>,
    /// The choice in the last call.
    by_exchange: bool,
    /// True if a choice was made by measured times.
    has_chosen: bool,
    /// True if the other way was expected to be faster in the last call, by less than [`CHANGE_AT_ONCE`].
    is_in_doubt: bool,
}

wire::fields!(struct Ways { speed, exchange, by_exchange, has_chosen, is_in_doubt });

impl Ways {
    /// Returns the ways over a file whose times a machine file states.
    pub fn stated(costs: FileCosts) -> Self {
        Self { speed: FileSpeed::stated(costs), ..Self::default() }
    }

    /// Learns from the messages of an exchange in which an aggregator got `bytes` bytes.
    pub fn exchanged(&mut self, bytes: f64, nanos: f64) {
        let seen = nanos / bytes.max(1.0);
        self.exchange = Some(self.exchange.map_or(seen, |known| (known + seen) / 2.0));
    }

    /// Returns true if the speed of the file should be measured before a call in which each host has `part`.
    pub fn is_worth_probing(&self, part: HostPart) -> bool {
        !self.speed.is_known() && part.runs >= WORTH_PROBING && part.runs > part.bytes.div_ceil(WINDOW)
    }

    /// Chooses the way of a call over `amount` of which no host has more than `part`. The choice changes if that saves
    /// [`GAIN_OF_CHANGE`] of the time in two calls one after the other, or [`CHANGE_AT_ONCE`] in one; [`GAIN_OF_TRIAL`] if
    /// the other way was never measured. The first choice changes no plan, so one call is enough.
    pub fn weigh(&mut self, part: HostPart, amount: &AccessStats, movers: Movers) -> Expected {
        let each = amount.bytes as f64 / movers.aggregators.max(1) as f64;
        let windows = (amount.span() as f64 / movers.aggregators.max(1) as f64 / movers.window.max(1) as f64).ceil();
        let speed = &self.speed;
        let file = speed.expected(windows, each, f64::from(MOST_WRITERS));
        let messages = each * self.exchange.unwrap_or(PRIOR_EXCHANGE);
        let exchange = file.max(messages) + file.min(messages) / windows.max(1.0);
        let calls = (part.runs as f64).max((part.bytes as f64 / WINDOW as f64).ceil());
        let hosts = speed.expected(calls, part.bytes as f64, movers.local.min(MOST_WRITERS as usize) as f64);
        if speed.is_known() {
            self.change(if self.by_exchange { exchange / hosts } else { hosts / exchange });
        }
        let micros = |nanos: f64| (nanos / 1000.0) as u64;
        Expected { hosts: micros(hosts), exchange: micros(exchange), by_exchange: self.by_exchange }
    }

    /// Changes the way if it takes `times` times as long as the other.
    fn change(&mut self, times: f64) {
        let is_trial = !self.by_exchange && self.exchange.is_none();
        let is_worth = times > if is_trial { GAIN_OF_TRIAL } else { GAIN_OF_CHANGE };
        let changes = is_worth && (self.is_in_doubt || !self.has_chosen || times > CHANGE_AT_ONCE);
        self.has_chosen = true;
        self.by_exchange ^= changes;
        self.is_in_doubt = is_worth && !changes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: f64 = 1024.0;

    fn speed(of_call: f64, of_byte: f64, calls: &[(f64, f64)]) -> FileSpeed {
        let mut speed = FileSpeed::default();
        for &(rounds, bytes) in calls {
            speed.observe(FileWork { rounds, bytes, nanos: rounds * of_call + bytes * of_byte });
        }
        speed
    }

    #[test]
    fn time_of_a_call_and_of_a_byte_follow_from_calls_of_two_sizes() {
        let (of_call, of_byte) = speed(5e6, 10.0, &[(64.0, 64.0 * 40.0 * KIB), (10.0, 2560.0 * KIB)]).nanos();
        assert!((of_call / 5e6 - 1.0).abs() < 0.1 && (of_byte / 10.0 - 1.0).abs() < 0.3, "{of_call}, {of_byte}");
    }

    #[test]
    fn calls_of_one_size_show_latency_if_they_are_short() {
        let (of_call, of_byte) = speed(5e6, 10.0, &[(1.0, 40.0 * KIB)]).nanos();
        assert!(of_call > 4.5e6 && of_byte < 20.0, "{of_call}, {of_byte}");
        let (of_call, of_byte) = speed(0.0, 40.0, &[(1.0, 8192.0 * KIB)]).nanos();
        assert!(of_call < 20e6 && of_byte > 20.0, "{of_call}, {of_byte}");
        let (of_call, _) = speed(5e3, 0.5, &[(1.0, 40.0 * KIB)]).nanos();
        assert!(of_call < 30e3, "{of_call}");
    }

    #[test]
    fn a_slow_call_makes_an_exchange_and_a_fast_one_does_not() {
        let part = HostPart { runs: 64, bytes: 64 * (40 << 10) };
        let amount = AccessStats { start: 0, end: 10 << 20, bytes: 10 << 20, ..AccessStats::NONE };
        let movers = Movers { local: 4, aggregators: 4, window: 256 << 10 };
        let chosen = |speed| Ways { speed, ..Ways::default() }.weigh(part, &amount, movers).by_exchange;
        assert!(chosen(speed(5e6, 10.0, &[(1.0, 1.0 * KIB)])));
        assert!(!chosen(speed(5e3, 0.5, &[(1.0, 1.0 * KIB)])));
        assert!(!chosen(speed(0.3e6, 40.0, &[(1.0, 1.0 * KIB)])), "the time of a byte is not known");
        assert!(!chosen(FileSpeed::default()), "nothing is known");
        assert!(!chosen(speed(0.3e6, 40.0, &[(64.0, 64.0 * 40.0 * KIB), (10.0, 2560.0 * KIB)])), "the rate decides");
    }

    /// Hosts have 64 runs of 40 KiB each; a call on the file takes 1 ms and 5 ms in turns.
    #[test]
    fn a_file_that_alternates_changes_the_way_a_few_times() {
        let part = HostPart { runs: 64, bytes: 64 * (40 << 10) };
        let amount = AccessStats { start: 0, end: 10 << 20, bytes: 10 << 20, ..AccessStats::NONE };
        let movers = Movers { local: 4, aggregators: 4, window: 256 << 10 };
        for of_message in [1.0, 20.0, 40.0, 60.0] {
            let (mut ways, mut changes, mut before) = (Ways::default(), 0, false);
            for call in 0..1000 {
                let of_call = if call % 2 == 0 { 1e6 } else { 5e6 };
                let Expected { by_exchange, .. } = ways.weigh(part, &amount, movers);
                changes += usize::from(by_exchange != before);
                before = by_exchange;
                let bytes = part.bytes as f64;
                let rounds = if by_exchange { 3.0 } else { 16.0 };
                ways.speed.observe(FileWork { rounds, bytes, nanos: rounds * of_call + bytes * 10.0 });
                if by_exchange {
                    ways.exchanged(bytes, bytes * of_message);
                }
            }
            assert!(changes <= 6, "{changes} changes with {of_message} ns for a byte of messages");
        }
    }

    #[test]
    fn stated_times_do_not_change() {
        let mut speed = FileSpeed::stated(FileCosts { call_seconds: 5e-3, byte_seconds: 1e-8 });
        speed.observe(FileWork { rounds: 1.0, bytes: 0.0, nanos: 1e9 });
        let (of_call, of_byte) = speed.nanos();
        assert!((of_call / 5e6 - 1.0).abs() < 1e-3 && (of_byte / 10.0 - 1.0).abs() < 1e-3, "{of_call}, {of_byte}");
        assert!((450 << 10..550 << 10).contains(&speed.bytes_in_call()), "{}", speed.bytes_in_call());
    }

    #[test]
    fn a_small_gain_changes_nothing_before_it_is_seen_twice() {
        let mut ways = Ways { exchange: Some(1.0), has_chosen: true, ..Ways::default() };
        for (times, by_exchange) in [(1.1, false), (1.3, false), (1.1, false), (1.3, false), (1.3, true)] {
            ways.change(times);
            assert_eq!(ways.by_exchange, by_exchange, "{times}");
        }
        ways.change(2.5);
        assert!(!ways.by_exchange, "clearly slower");
    }
}
