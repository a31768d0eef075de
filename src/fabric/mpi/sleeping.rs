//! Measures whether this MPI library sleeps or spins while a rank waits in it.
//!
//! MPI libraries and their settings differ: MPICH 4.0.2 sleeps on ch3:sock and spins on ch4; Open MPI spins, or yields
//! and spins. A rank that spins may occupy the core of the rank that it waits for: 16 ranks of BTIO on 2 cores take 3
//! times as long in an MPI_Wait of ch4 as when they poll and back off. Polling costs nothing if each rank has a core.
//! So a rank waits in MPI only if that MPI sleeps. The first waits show it: a thread that slept has voluntary context
//! switches; one that spun has used processor time without any.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Number of waits of this process in which MPI slept.
static SLEPT: AtomicU32 = AtomicU32::new(0);
/// Processor time of the waits of this process in which MPI spun, in microseconds.
static SPUN: AtomicU64 = AtomicU64::new(0);
/// Number of waits in which MPI slept after which it counts as sleeping, and waits are no longer measured.
const SLEEPS: u32 = 3;
/// Processor time in which MPI spun after which it counts as spinning.
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn sleeping_and_spinning_are_distinguished() {
        let before = Usage::now().unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(spun(&before, &Usage::now().unwrap()), None);
        let before = Usage::now().unwrap();
        while Usage::now().unwrap().time - before.time < SPIN {
            std::thread::yield_now();
        }
        assert!(spun(&before, &Usage::now().unwrap()).is_some_and(|time| time >= SPIN));
    }
}
