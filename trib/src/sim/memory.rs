//! Memory: what a run may need, and what there is.

use crate::Failure;

/// Bytes of a message under way, with its event and its place in a queue.
const MESSAGE: u64 = 120;
/// Bytes of a rank.
const RANK: u64 = 260;

/// Refuses a run that may need more memory than there is.
pub fn check(ranks: u64, messages: u64) -> Result<(), Failure> {
    let needed = ranks * RANK + messages.saturating_mul(MESSAGE);
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    match line("/proc/meminfo", "MemAvailable:") {
        Some(there) if needed > there => Err(Failure::new(format!(
            "memory: {ranks} ranks with {messages} messages under way may need {:.1} GB; available: {:.1} GB; a throttle \
             or synchronous sends need less",
            gigabytes(needed),
            gigabytes(there)
        ))),
        _ => Ok(()),
    }
}

/// The most memory that this process ever had, in bytes; `None` where the system does not say.
pub fn peak() -> Option<u64> {
    line("/proc/self/status", "VmHWM:")
}

/// Forgets the peak so far, where the system lets us.
pub fn forget_peak() {
    // Where it cannot be forgotten, the next peak is that of the whole process: an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn line(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    value.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
