//! How a rank waits if it cannot block in MPI: for any of several messages, for a message of an MPI that spins on a
//! core that others need, or for a window's helper thread. It yields the core, then sleeps a little; later, if every
//! rank of the host has a core.
//!
//! 16 ranks of MPICH 4.0.2 on 2 cores, each waiting 2 ms for rank 0 and then sending it 64 KiB: 17 ms when ranks only
//! yield, 2.5 ms when they sleep 50 us after 20 yields, 3.4 ms after 100. 2 ranks on 2 cores lose nothing to sleeping
//! while messages flow (a 4 KiB exchange takes 9 us either way), and up to 0.15 ms at the end of a long wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use crate::fabric::Idle;

/// Number of polls without progress after which the rank sleeps instead of yielding.
const YIELDS: u32 = 50;
/// Number of polls without progress after which a rank sleeps, if each rank has a core: about a millisecond, so that
/// only long waits sleep.
const YIELDS_ALONE: u32 = 1_000;
/// Time that a rank sleeps between polls.
const SLEEP: Duration = Duration::from_micros(50);

/// Yields and sleeps of the thread of one rank, which made this value.
pub(super) struct Backoff {
    rank: Thread,
    woken: AtomicBool,
    crowded: AtomicBool,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { rank: std::thread::current(), woken: AtomicBool::new(false), crowded: AtomicBool::new(true) }
    }

    fn yields(&self) -> u32 {
        if self.crowded.load(Ordering::Relaxed) { YIELDS } else { YIELDS_ALONE }
    }
}

impl Idle for Backoff {
    fn idle(&self, rounds: u32) {
        if self.woken.swap(false, Ordering::Acquire) {
            return;
        }
        if rounds < self.yields() {
            std::thread::yield_now();
        } else {
            std::thread::park_timeout(SLEEP);
            self.woken.store(false, Ordering::Relaxed);
        }
    }

    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.rank.unpark();
    }

    fn set_crowded(&self, crowded: bool) {
        self.crowded.store(crowded, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_sleep_soon_unless_each_is_known_to_have_a_core() {
        let backoff = Backoff::new();
        assert_eq!(backoff.yields(), YIELDS);
        backoff.set_crowded(false);
        assert_eq!(backoff.yields(), YIELDS_ALONE);
        backoff.set_crowded(true);
        assert_eq!(backoff.yields(), YIELDS);
    }
}
