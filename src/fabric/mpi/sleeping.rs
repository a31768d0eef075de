//! Whether this MPI sleeps while a rank waits in it.
//!
//! MPI libraries and their settings differ: MPICH 4.0.2 sleeps on ch3:sock and spins on ch4, Open MPI spins, or yields and
//! spins. A rank that spins may hold the core of the rank that it waits for: 16 ranks of BTIO on 2 cores take 3 times as long
//! in an MPI_Wait of ch4 as when they poll and back off, and polling loses nothing where each has a core. So a rank waits in
//! MPI only where that sleeps, which the first waits tell: a thread that slept gave its core away of its own accord, one
//! that spun has used time without that.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Waits in which MPI slept, less those in which it spun; of the whole process.
static SCORE: AtomicI32 = AtomicI32::new(0);
/// From here on, either way, waits are no longer looked at.
const SURE: i32 = 3;
/// Processor time that says that a wait has spun. (A short wait says nothing: a message may just have come.)
const SPUN: Duration = Duration::from_millis(1);

/// Whether a rank that waits in MPI is known to hold its core.
pub(super) fn never() -> bool {
    SCORE.load(Ordering::Relaxed) <= -SURE
}

/// Waits, and learns from it.
pub(super) fn observed<T>(wait: impl FnOnce() -> T) -> T {
    if SCORE.load(Ordering::Relaxed).abs() >= SURE {
        return wait();
    }
    let before = Usage::now();
    let outcome = wait();
    if let (Some(before), Some(after)) = (before, Usage::now()) {
        SCORE.fetch_add(verdict(&before, &after), Ordering::Relaxed);
    }
    outcome
}

/// 1: slept, -1: spun, 0: cannot be told.
fn verdict(before: &Usage, after: &Usage) -> i32 {
    match () {
        () if after.given_away > before.given_away => 1,
        () if after.time.saturating_sub(before.time) >= SPUN => -1,
        () => 0,
    }
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
        assert_eq!(verdict(&before, &Usage::now().unwrap()), 1);
        let before = Usage::now().unwrap();
        let spent = || Usage::now().unwrap().time - before.time;
        while spent() < SPUN {
            std::thread::yield_now();
        }
        assert_eq!(verdict(&before, &Usage::now().unwrap()), -1);
        let before = Usage::now().unwrap();
        assert_eq!(verdict(&before, &before), 0);
    }
}
