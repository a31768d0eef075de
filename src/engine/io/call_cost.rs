//! What a call on the files of a file system costs a process, from its own calls. Each process chooses by it for itself which gaps
//! it moves with the bytes around them, and whether it writes many large pieces before the ranks agree. The rank that decides for
//! ranks that share memory chooses by its own costs, and sends the choice. (Between hosts, rank 0 chooses by the times of all
//! ranks: [`Ways`](crate::engine::choose::cost::Ways).)

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::access::Direction;
use crate::engine::choose::cost::{FileSpeed, FileWork};
use crate::engine::choose::learned::FileSystemKey;
use crate::engine::choose::{LOCAL_CALL, REMOTE_CALL, SLOW_WRITE, WORTH_PROBING};
use crate::engine::io::Moved;
use crate::machine::FileCosts;
use crate::world::clock;
use crate::world::process::own_state;
use crate::world::waits::SleepCount;

/// Time after which calls are learned from: clocks and locks take a small part of it.
const BATCH: Duration = Duration::from_micros(50);

/// The cost of a call on a file system, in bytes that could be moved meanwhile.
#[derive(Debug)]
pub struct CallCost {
    /// Cost of a call that is always assumed: its cost on the servers does not show in its time.
    least: u64,
    /// Cost that follows from the calls so far.
    bytes: AtomicU64,
    /// Nanoseconds of a call, without its bytes.
    nanos: AtomicU64,
    /// What the calls so far took; `None` if nothing is learned.
    speed: Option<Mutex<FileSpeed>>,
    /// True if a call was measured, here or in another process.
    is_known: AtomicBool,
}

own_state! {
    /// Costs on the file systems of earlier files, for writes and for reads, by the cost that is always assumed.
    static KEPT: Mutex<BTreeMap<(FileSystemKey, bool, u64), Arc<CallCost>>> = Mutex::new(BTreeMap::new());
}

impl CallCost {
    /// Returns the cost on a file system that locks `unit` bytes together, which does not change.
    pub fn fixed(unit: u64) -> Self {
        let least = if unit == 1 { LOCAL_CALL } else { REMOTE_CALL };
        Self { least, bytes: least.into(), nanos: 0.into(), speed: None, is_known: false.into() }
    }

    /// Returns a stated cost on a file system that locks `unit` bytes together, which does not change.
    pub fn known(unit: u64, costs: FileCosts) -> Self {
        let speed = FileSpeed::stated(costs);
        let fixed = Self::fixed(unit);
        let bytes = speed.bytes_in_call().max(fixed.least);
        Self { bytes: bytes.into(), nanos: (speed.nanos().0 as u64).into(), is_known: true.into(), ..fixed }
    }

    /// Returns the cost of calls of this process in a direction, on a file system that locks `unit` bytes together. All files on
    /// the file system share it; a file with key 0 has its own.
    pub fn of(file_system: FileSystemKey, direction: Direction, unit: u64) -> Arc<Self> {
        let new = Self { speed: Some(Mutex::default()), ..Self::fixed(unit) };
        if file_system == 0 {
            return new.into();
        }
        let key = (file_system, direction == Direction::Read, new.least);
        KEPT.with(|kept| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.entry(key).or_insert_with(|| new.into()).clone()
        })
    }

    /// Returns the number of bytes that could be moved during a call.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the cost that is always assumed, in bytes.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// Returns the time of a call in nanoseconds, without its bytes; 0 if it is unknown.
    pub fn nanos(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }

    /// Returns the time of a call in nanoseconds, without its bytes, if calls take long.
    pub fn slow_call(&self) -> Option<u64> {
        Some(self.nanos()).filter(|&nanos| u128::from(nanos) > SLOW_WRITE.as_nanos())
    }

    /// Returns true if nothing is known of calls, so that a first one is worth its time before a call in which a rank moves `pieces`
    /// pieces by itself.
    pub fn is_worth_probing(&self, pieces: u64) -> bool {
        !self.is_known.load(Ordering::Relaxed) && self.speed.is_some() && pieces >= WORTH_PROBING
    }

    /// Takes the time of a call in nanoseconds from another process, if this one has measured none; 0 if it is short.
    pub fn suppose(&self, nanos: u64) {
        if !self.is_known.swap(true, Ordering::Relaxed) && nanos > 0 {
            self.learn(FileWork { rounds: 1.0, bytes: 0.0, nanos: nanos as f64 });
        }
    }

    /// Begins to measure calls. Costs nothing if nothing is learned.
    pub fn measure(&self) -> Measure<'_> {
        let begin = self.speed.as_ref().map(|_| (clock::now(), SleepCount::begin()));
        Measure { cost: self, begin, moved: Moved::default() }
    }

    /// Learns from calls, one after the other.
    pub fn learn(&self, work: FileWork) {
        let Some(speed) = &self.speed else { return };
        self.is_known.store(true, Ordering::Relaxed);
        let mut speed = speed.lock().unwrap_or_else(PoisonError::into_inner);
        speed.observe(work);
        self.bytes.store(speed.bytes_in_call().max(self.least), Ordering::Relaxed);
        self.nanos.store(speed.nanos().0 as u64, Ordering::Relaxed);
    }
}

/// Measures calls of one thread.
pub struct Measure<'a> {
    cost: &'a CallCost,
    /// Begin of the calls that are not learned from yet; `None` if nothing is learned.
    begin: Option<(Instant, SleepCount)>,
    moved: Moved,
}

impl Measure<'_> {
    /// Adds calls that have just ended, and learns from them if they took long enough.
    #[inline]
    pub fn add(&mut self, moved: Moved) {
        let Some((begin, sleeps)) = &self.begin else { return };
        self.moved.add_all(moved);
        let took = clock::since(*begin);
        if took >= BATCH && self.moved.calls > 0 {
            let took = sleeps.without_waits_for_cores(took);
            let (rounds, bytes, nanos) = (self.moved.calls as f64, self.moved.bytes as f64, took.as_nanos() as f64);
            self.cost.learn(FileWork { rounds, bytes, nanos });
            self.restart();
        }
    }

    /// Leaves out the time since the calls that were learned from last.
    pub fn restart(&mut self) {
        *self = self.cost.measure();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_more_where_it_takes_long() {
        let of = |nanos_of_call: f64, nanos_of_byte: f64| {
            let cost = CallCost::of(0, Direction::Write, 1);
            for bytes in [4096.0, 65536.0, 4096.0] {
                cost.learn(FileWork { rounds: 1.0, bytes, nanos: nanos_of_call + bytes * nanos_of_byte });
            }
            cost.bytes()
        };
        assert!((200 << 10..600 << 10).contains(&of(5e6, 10.0)), "{}", of(5e6, 10.0));
        assert_eq!(of(2e3, 0.5), LOCAL_CALL);
        assert!(of(0.3e6, 40.0) < 16 << 10);
    }

    #[test]
    fn one_call_is_enough_to_know_that_calls_take_long() {
        let cost = CallCost::of(0, Direction::Write, 1);
        cost.learn(FileWork { rounds: 1.0, bytes: 4096.0, nanos: 5e6 });
        assert!(cost.bytes() > 64 << 10, "{}", cost.bytes());
    }

    #[test]
    fn files_of_a_file_system_share_a_cost_and_fixed_ones_learn_nothing() {
        let [first, second] = [0; 2].map(|_| CallCost::of(7, Direction::Read, 1));
        let other = CallCost::of(7, Direction::Write, 1);
        first.learn(FileWork { rounds: 1.0, bytes: 4096.0, nanos: 5e6 });
        assert_eq!(first.bytes(), second.bytes());
        assert_eq!(other.bytes(), LOCAL_CALL);
        let stated = CallCost::known(1, FileCosts { call_seconds: 5e-3, byte_seconds: 1e-8 });
        assert!(
            stated.slow_call() > Some(4_900_000) && stated.bytes() > 400 << 10 && !stated.is_worth_probing(1 << 20)
        );
        let fixed = CallCost::fixed(1 << 20);
        fixed.learn(FileWork { rounds: 1.0, bytes: 4096.0, nanos: 5e6 });
        assert_eq!(fixed.bytes(), REMOTE_CALL);
    }
}
