//! Memory: what a run may need, and what there is.

use crate::Failure;
use crate::means::{self, line};

/// Bytes of a message under way, with its event and its place in a queue.
const MESSAGE: u64 = 120;
/// Bytes of a rank.
const RANK: u64 = 260;

/// Refuses a run that may need more memory than there is.
pub fn check(ranks: u64, messages: u64) -> Result<(), Failure> {
    let needed = messages.checked_mul(MESSAGE).and_then(|messages| messages.checked_add(ranks.checked_mul(RANK)?));
    let what = format!("{ranks} ranks with {messages} messages under way (a throttle or synchronous sends need less)");
    means::in_memory(&what, needed)
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
