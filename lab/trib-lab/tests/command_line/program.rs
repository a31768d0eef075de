//! Starts the program in tests, and returns its output.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::path::Path;
use std::process::{Command, Output};

pub const TRIB_LAB: &str = env!("CARGO_BIN_EXE_trib-lab");

/// Returns the path of `trib`, which `lab/test` builds beside this program.
pub fn trib() -> String {
    let trib = Path::new(TRIB_LAB).with_file_name("trib");
    assert!(trib.exists(), "{} is not there; `cargo build -p trib` makes it", trib.display());
    trib.display().to_string()
}

pub fn trib_lab(arguments: &[impl AsRef<OsStr>]) -> Output {
    let mut command = Command::new(TRIB_LAB);
    command.env_remove("TRIB_HINTS").env_remove("TRIB_HINTS_FILE");
    command.args(arguments).output().unwrap()
}

/// Runs a command that must succeed, and returns its output.
pub fn said(arguments: &[&str]) -> String {
    let output = trib_lab(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&said(arguments)).unwrap()
}

/// Runs a command that must fail with one line of error and nothing on standard output, and returns the line.
pub fn error(arguments: &[impl AsRef<OsStr> + Debug]) -> String {
    let output = trib_lab(arguments);
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    assert!(line.starts_with("trib-lab: ") && line.trim_end().lines().count() == 1, "{line}");
    line
}
