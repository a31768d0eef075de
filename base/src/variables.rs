//! The variables of the environment, which a program with more rights than its user does not read.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The value of a variable, as secure_getenv(3) has it: nothing where the program [has more rights than its
/// user](has_more_rights), who could otherwise have it write, read or load a file of their choice. Local.
pub fn variable(name: &str) -> Option<OsString> {
    if has_more_rights() { None } else { std::env::var_os(name) }
}

/// All variables with their values; none where [`variable`] has none. Local.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    (!has_more_rights()).then(std::env::vars_os).into_iter().flatten()
}

/// Whether the program has more rights than the user who started it: it is setuid, setgid, or has capabilities (AT_SECURE). Asked
/// once. Local.
pub fn has_more_rights() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    // SAFETY: callable at any time; it reads what the kernel has told the process.
    *ASKED.get_or_init(|| unsafe { libc::getauxval(libc::AT_SECURE) } != 0)
}
