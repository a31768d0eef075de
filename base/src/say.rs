//! Prints lines on standard error.

use std::fmt::Display;
use std::io::Write;

/// Prints `tributary: ` and the text as one line on standard error, with one write(2), so that lines of several ranks do not mix.
/// Ignores errors of standard error. Local.
pub fn say(text: impl Display) {
    let line = format!("tributary: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
