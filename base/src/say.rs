//! Lines on standard error.

use std::fmt::Display;
use std::io::Write;

/// Writes `tributary: ` and the text to standard error as one line, in one write(2), so that lines of several ranks are not torn.
/// Where standard error is gone, nothing happens. Local.
pub fn say(text: impl Display) {
    let line = format!("tributary: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
