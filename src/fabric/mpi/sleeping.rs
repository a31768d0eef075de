//! Whether this MPI sleeps while a rank waits in it.
//!
//! MPI libraries and their settings differ: MPICH 4.0.2 sleeps on ch3:sock and spins on ch4, Open MPI spins, or yields and
//! spins. A rank that spins may hold the core of the rank that it waits for: 16 ranks of BTIO on 2 cores take 3 times as long
//! in an MPI_Wait of ch4 as when they poll and back off, and polling loses nothing where each has a core. So a rank waits in
//! MPI only where that sleeps, which the first waits tell: a thread that slept gave its core away of its own accord, one
//! that spun has used time without that.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Waits of this process in which MPI slept.
static SLEPT: AtomicU32 = AtomicU32::new(0);
/// Processor time of those in which it did not, in microseconds.
static SPUN: AtomicU64 = AtomicU64::new(0);
/// So many waits say that MPI sleeps, unless it has spun for `SPIN` before: then it spins. Waits are then no longer looked at.
const SLEEPS: u32 = 3;
const SPIN: Duration = Duration::from_millis(1);

/// Whether a rank that waits in MPI is known to hold its core.
pub(super) fn never() -> bool {
    SLEPT.load(Ordering::Relaxed) < SLEEPS && u128::from(SPUN.load(Ordering::Relaxed)) >= SPIN.as_micros()
}

/// Waits, and learns from it.
pub(super) fn observed<T>(wait: impl FnOnce() -> T) -> T {
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

/// The processor time between the two, if the thread never slept.
fn spun(before: &Usage, after: &Usage) -> Option<Duration> {
    (after.given_away == before.given_away).then(|| after.time.saturating_sub(before.time))
}

/// What this thread has used so far.
#[derive(Debug, Clone, Copy)]
struct Usage {
    time: Duration,
    /// How often it gave its core away of its own accord. Yielding does not count.
    given_away: std::ffi::c_long,
}

impl Usage {
    /// None where the system does not tell.
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
    fn sleeping_and_spinning_are_told_apart() {
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
