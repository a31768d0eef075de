//! Finds out whether a file is slow: whether calls on it wait for something else than a core or a copy.

use std::time::{Duration, Instant};

use crate::engine::policy::{SLOW_FILE, SLOW_WRITE};

/// Measures calls on a file of the calling thread.
pub struct Pace {
    begin: Instant,
    sleeps: std::ffi::c_long,
}

impl Pace {
    /// Begins to measure.
    pub fn begin() -> Self {
        Self { begin: Instant::now(), sleeps: sleeps() }
    }

    /// Returns the begin of the calls.
    pub fn since(&self) -> Instant {
        self.begin
    }

    /// Ends the calls, which moved windows of `bytes` bytes in all. Returns their time, and true if the file is slow: the
    /// thread has slept, and not only lost its core.
    pub fn end(self, bytes: u64) -> (Duration, bool) {
        let took = self.begin.elapsed();
        let is_long = took > SLOW_WRITE && took.as_nanos() > u128::from(bytes) * u128::from(SLOW_FILE);
        (took, is_long && sleeps() > self.sleeps)
    }
}

/// Returns how often the calling thread has waited for something other than a core; 0 if the system does not count.
#[cfg(target_os = "linux")]
fn sleeps() -> std::ffi::c_long {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.voluntary_context_switches())
}

#[cfg(not(target_os = "linux"))]
fn sleeps() -> std::ffi::c_long {
    0
}
