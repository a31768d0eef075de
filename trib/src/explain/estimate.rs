//! Estimates how long calls would take if ranks made them together, from the costs of the path: calls on the file, its bytes,
//! copies in memory, messages between hosts and agreements.

use serde::Serialize;

use super::file_speed::FileSpeed;
use crate::numbers::brief as time;

/// Seconds that a host takes to copy a byte into a window and out of it, with two cores or more.
const COPY: f64 = 0.3e-9;
/// Seconds that a host takes for a byte in messages to another host: 1 GB/s.
const MESSAGE: f64 = 1e-9;
/// Seconds that ranks take to agree on a call, on one host and on several.
const AGREEMENT: [f64; 2] = [20e-6, 100e-6];
/// A call on the file that takes this number of seconds or more is made while others are in flight, at most [`IN_FLIGHT`] of
/// one host.
const SLOW_CALL: f64 = 1e-3;
const IN_FLIGHT: f64 = 4.0;
/// An estimate counts if it saves at least this share of the time.
const WORTH: f64 = 0.2;

/// Expected times of calls, if ranks make them together. All times are in seconds.
#[derive(Debug, Clone, Serialize)]
pub struct Estimate {
    /// Time of a rank in the calls as they were: the mean over ranks.
    pub now_seconds: f64,
    /// Expected time if ranks make all calls together in a few collective calls.
    pub joined_seconds: f64,
    /// Expected time if each call becomes a collective call.
    pub each_seconds: f64,
    /// The costs of the file that the estimate assumes.
    #[serde(flatten)]
    pub file: FileSpeed,
}

/// The ranks that make calls together.
#[derive(Debug, Clone, Copy)]
pub struct Together {
    /// Number of ranks.
    pub ranks: usize,
    /// Number of hosts.
    pub nodes: usize,
    /// Number of bytes of a window.
    pub window: u64,
}

/// What ranks move.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    /// Number of calls of all ranks.
    pub calls: u64,
    /// Number of bytes of all ranks.
    pub bytes: u64,
    /// Time of a rank in these calls in seconds: the mean over ranks.
    pub seconds: f64,
}

impl Estimate {
    /// Estimates the time of calls that move `amount` to or from a file.
    pub fn of(Together { ranks, nodes, window }: Together, amount: Amount, file: FileSpeed) -> Self {
        let Amount { calls, bytes, seconds } = amount;
        let bytes = bytes.div_ceil(nodes.max(1) as u64) as f64;
        let messages = if nodes > 1 { MESSAGE } else { 0.0 };
        let (moving, agreement) = (bytes * (COPY + messages), AGREEMENT[usize::from(nodes > 1)]);
        let windows = (bytes / window.max(1) as f64).ceil().max(1.0);
        let in_flight = if file.call_seconds >= SLOW_CALL { IN_FLIGHT.min(windows) } else { 1.0 };
        let writing = windows / in_flight * file.call_seconds + bytes * file.byte_seconds;
        // While a window is written the next one is filled.
        let joined_seconds = writing.max(moving) + writing.min(moving) / windows + agreement;
        let calls = calls.div_ceil(ranks.max(1) as u64) as f64;
        let each = calls * (file.call_seconds + agreement) + bytes * file.byte_seconds + moving;
        Self { now_seconds: seconds, joined_seconds, each_seconds: each.max(joined_seconds), file }
    }

    /// Returns true if the calls would take clearly less time together.
    pub fn is_worth(&self) -> bool {
        self.saves(self.joined_seconds)
    }

    fn saves(&self, seconds: f64) -> bool {
        seconds < (1.0 - WORTH) * self.now_seconds
    }

    /// Returns the estimate as text.
    pub fn text(&self) -> String {
        let each = time(self.each_seconds);
        let each = match self.saves(self.each_seconds) {
            _ if self.each_seconds <= 1.1 * self.joined_seconds => String::new(),
            true => format!(", and {each} if each stays a call of its own"),
            false => format!(", but {each} if each stays a call of its own, which gains little"),
        };
        format!(
            "An estimate: in a few collective calls of all ranks they would take {} instead of {}{each}. It holds if {}.",
            time(self.joined_seconds),
            time(self.now_seconds),
            self.file.text()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(nodes: usize, calls: u64, bytes: u64, call_seconds: f64, rate: f64) -> Estimate {
        let file = FileSpeed { call_seconds, byte_seconds: 1.0 / rate, from: String::new() };
        let amount = Amount { calls, bytes, seconds: 1.0 };
        Estimate::of(Together { ranks: 4 * nodes, nodes, window: 16 << 20 }, amount, file)
    }

    fn is_near(seconds: f64, due: f64) -> bool {
        (seconds / due - 1.0).abs() < 0.1
    }

    #[test]
    fn bytes_take_the_time_of_the_file_or_of_messages() {
        let slow = estimate(1, 4000, 100_000_000, 1e-3, 100e6);
        assert!(is_near(slow.joined_seconds, 1.0) && is_near(slow.each_seconds, 2.0), "{slow:?}");
        assert!(
            !slow.is_worth() && slow.text().contains("2.05 s if each stays a call of its own, which gains little"),
            "{}",
            slow.text()
        );
        let hosts = estimate(4, 4000, 400_000_000, 0.0, 1e12);
        assert!(is_near(hosts.joined_seconds, 0.13) && hosts.is_worth(), "{hosts:?}");
    }

    #[test]
    fn small_bytes_take_an_agreement() {
        let few = estimate(1, 4, 4, 0.0, 1e12);
        assert!(is_near(few.joined_seconds, AGREEMENT[0]) && is_near(few.each_seconds, AGREEMENT[0]), "{few:?}");
    }
}
