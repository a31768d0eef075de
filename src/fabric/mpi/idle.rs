//! The wait of a rank for messages: in MPI, or by polling with a back-off.
//!
//! **In MPI.** MPI libraries and their settings differ: MPICH 4.0.2 sleeps on ch3:sock and spins on ch4; Open MPI spins, or yields
//! and spins. A rank that spins may occupy the core of the rank that it waits for: 16 ranks of BTIO on 2 cores take 3
//! times as long in an MPI_Wait of ch4 as when they poll and back off. Polling costs nothing if each rank has a core.
//! So a rank waits in MPI only if that MPI sleeps. The first waits show it: a thread that slept has voluntary context
//! switches; one that spun has used processor time without any.
//!
//! **By polling.** A rank polls if it cannot block in MPI. It cannot if it waits for any of several messages, if its MPI
//! spins on a core that others need, or if it waits for a window's helper thread. It yields the core some times, and then
//! sleeps a little between polls. It begins to sleep later if every rank of the host has a core.
//!
//! Measured with 16 ranks of MPICH 4.0.2 on 2 cores, each of which waits 2 ms for rank 0 and then sends it 64 KiB: 17 ms if
//! ranks only yield, 2.5 ms if they sleep 50 us after 20 yields, 3.4 ms after 100. 2 ranks on 2 cores lose nothing by
//! sleeping while messages flow (a 4 KiB exchange takes 9 us either way), and up to 0.15 ms at the end of a long wait.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::fabric::Idle;
use crate::world::process::per_process;
use crate::world::waits::{self, Sleeper};

per_process! {
    /// Number of waits of this process in which MPI slept.
    static SLEPT: AtomicU32 = AtomicU32::new(0);
    /// Processor time of the waits of this process in which MPI spun, in microseconds.
    static SPUN: AtomicU64 = AtomicU64::new(0);
}
/// Number of waits in which MPI must have slept to count as an MPI that sleeps. Later waits are not measured.
const SLEEPS: u32 = 3;
/// Processor time that MPI must have spun to count as an MPI that spins.
const SPIN: Duration = Duration::from_millis(1);

/// Returns true if a rank that waits in MPI is known to spin.
pub(super) fn is_known_to_spin() -> bool {
    SLEPT.load(Ordering::Relaxed) < SLEEPS && u128::from(SPUN.load(Ordering::Relaxed)) >= SPIN.as_micros()
}

/// Runs `wait`, and measures whether MPI slept meanwhile.
pub(super) fn measured<T>(wait: impl FnOnce() -> T) -> T {
    if SLEPT.load(Ordering::Relaxed) >= SLEEPS {
        return wait();
    }
    let before = Usage::now();
    let outcome = wait();
    if let (Some(before), Some(after)) = (before, Usage::now()) {
        match spun(&before, &after) {
            Some(time) => SPUN.fetch_add(time.as_micros() as u64, Ordering::Relaxed),
            None => SLEPT.fetch_add(1, Ordering::Relaxed).into(),
        };
    }
    outcome
}

/// Returns the processor time between two measurements; `None` if the thread slept.
fn spun(before: &Usage, after: &Usage) -> Option<Duration> {
    (after.given_away == before.given_away).then(|| after.time.saturating_sub(before.time))
}

/// Resource usage of this thread.
#[derive(Debug, Clone, Copy)]
struct Usage {
    time: Duration,
    /// Number of voluntary context switches; yields do not count.
    given_away: std::ffi::c_long,
}

impl Usage {
    /// Returns the usage so far; `None` if the system has no such counts.
    #[cfg(target_os = "linux")]
    fn now() -> Option<Self> {
        use nix::sys::resource::{UsageWho, getrusage};
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
        let micros = |time: nix::sys::time::TimeVal| {
            u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap_or_default()
        };
        let time = Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()));
        Some(Self { time, given_away: usage.voluntary_context_switches() })
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<Self> {
        None
    }
}

/// Number of polls without progress after which the rank sleeps instead of yielding.
const YIELDS: u32 = 50;
/// Number of polls without progress after which a rank sleeps, if each rank has a core: about a millisecond, so that
/// only long waits sleep.
const YIELDS_ON_OWN_CORE: u32 = 1_000;
/// Time that a rank sleeps between polls.
const SLEEP: Duration = Duration::from_micros(50);

/// Yields and sleeps of the thread of one rank, which made this value.
pub(super) struct Backoff {
    rank: Sleeper,
    woken: AtomicBool,
    crowded: AtomicBool,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { rank: waits::this_thread(), woken: AtomicBool::new(false), crowded: AtomicBool::new(true) }
    }

    fn yields(&self) -> u32 {
        if self.crowded.load(Ordering::Relaxed) { YIELDS } else { YIELDS_ON_OWN_CORE }
    }
}

impl Idle for Backoff {
    fn idle(&self, rounds: u32) {
        if self.woken.swap(false, Ordering::Acquire) {
            return;
        }
        if rounds < self.yields() {
            waits::yield_core();
        } else {
            waits::park(Some(SLEEP));
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
    fn sleeping_and_spinning_are_distinguished() {
        let before = Usage { time: SPIN, given_away: 7 };
        assert_eq!(spun(&before, &Usage { time: 2 * SPIN, given_away: 8 }), None, "it slept");
        assert_eq!(spun(&before, &Usage { time: 2 * SPIN, given_away: 7 }), Some(SPIN));
        // A sleep is a voluntary context switch, on any machine.
        if let Some(before) = Usage::now() {
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(spun(&before, &Usage::now().unwrap()), None);
        }
    }

    #[test]
    fn ranks_sleep_soon_unless_each_is_known_to_have_a_core() {
        let backoff = Backoff::new();
        assert_eq!(backoff.yields(), YIELDS);
        backoff.set_crowded(false);
        assert_eq!(backoff.yields(), YIELDS_ON_OWN_CORE);
        backoff.set_crowded(true);
        assert_eq!(backoff.yields(), YIELDS);
    }
}
