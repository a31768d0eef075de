//! How much memory there is, and how much this process has had.
#![allow(dead_code, reason = "each test file uses what it needs")]

/// Whether so many bytes of memory are to be had; says so when they are not.
pub fn is_there(bytes: u64) -> bool {
    let available = kilobytes("/proc/meminfo", "MemAvailable:") << 10;
    if available < bytes {
        eprintln!("skipped: {} MiB of memory are there, {} MiB are needed", available >> 20, bytes >> 20);
    }
    available >= bytes
}

/// The most memory this process has held at any time, in bytes.
pub fn peak() -> u64 {
    kilobytes("/proc/self/status", "VmHWM:") << 10
}

fn kilobytes(file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
