//! How much memory this process has had.
#![allow(dead_code, reason = "each test file uses what it needs")]

/// The most memory this process has held at any time, in bytes.
pub fn peak() -> u64 {
    kilobytes("/proc/self/status", "VmHWM:") << 10
}

fn kilobytes(file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
