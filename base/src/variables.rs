//! Reads environment variables. A program with more rights than its user does not read them.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

/// Returns the value of a variable, like secure_getenv(3). Returns `None` if the program [has more rights than its
/// user](has_more_rights): otherwise the user could make the program write, read or load any file. Local.
pub fn variable(name: &str) -> Option<OsString> {
    if has_more_rights() { None } else { std::env::var_os(name) }
}

/// Returns all variables with their values, or nothing if the program has more rights than its user. Local.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    (!has_more_rights()).then(std::env::vars_os).into_iter().flatten()
}

/// Environment variables that hold the number of the job, for each scheduler.
const JOBS: [&str; 4] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"];

/// Returns the number of the scheduler's job that this process belongs to; `None` without a scheduler. Local.
pub fn job() -> Option<String> {
    JOBS.iter().find_map(|name| variable(name)?.into_string().ok())
}

/// Returns true if `TRIB_DISABLE` switches the library off: it is set, not empty, and not `0`. Local.
pub fn is_disabled() -> bool {
    variable("TRIB_DISABLE").is_some_and(|value| switches_off(&value))
}

/// Returns true if this value of `TRIB_DISABLE` switches the library off.
fn switches_off(value: &OsStr) -> bool {
    !value.is_empty() && value != "0"
}

/// Returns true if the program has more rights than the user who started it: it is setuid, setgid, or has
/// capabilities (AT_SECURE). Local.
pub fn has_more_rights() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    // SAFETY: callable at any time; it reads a value that the kernel gave the process at its start.
    *ASKED.get_or_init(|| unsafe { libc::getauxval(libc::AT_SECURE) } != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_switch_the_library_off() {
        for (value, off) in [("", false), ("0", false), ("1", true), ("yes", true), ("00", true)] {
            assert_eq!(switches_off(OsStr::new(value)), off, "{value}");
        }
    }
}
