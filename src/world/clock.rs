//! The clock: every time in reports, captures, learned rates and time-outs comes from here.

use std::time::{Duration, Instant, SystemTime};

/// Returns the time now, for differences.
#[inline]
pub fn now() -> Instant {
    if super::is_any_entered() { elsewhere() } else { Instant::now() }
}

#[cold]
#[inline(never)]
fn elsewhere() -> Instant {
    super::entered().map_or_else(Instant::now, |world| world.now())
}

/// Returns the time since `begin`.
#[inline]
pub fn since(begin: Instant) -> Duration {
    now().saturating_duration_since(begin)
}

/// Returns the time since the beginning of 1970, or 0 if the system's clock is earlier.
pub fn date() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
