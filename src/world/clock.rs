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

/// Returns the time since this process started, to 10 ms; `None` if the system does not say.
pub fn age_of_process() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, which may have blanks, stands in parentheses. The start is the 20th field after it.
    let started: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let up: f64 = std::fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    // SAFETY: it reads a constant of the system.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Duration::try_from_secs_f64((up - started / ticks).max(0.0)).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_is_a_few_minutes_old() {
        let age = super::age_of_process().unwrap();
        assert!(age.as_secs() < 24 * 3600, "{age:?}");
    }
}
