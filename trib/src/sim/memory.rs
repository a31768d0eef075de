//! The memory that a run may need, and that there is.

use crate::Failure;
use crate::limits::{self, line};

/// Bytes per message in flight, with its event and its queue entry.
const MESSAGE: u64 = 120;
/// Bytes per rank.
const RANK: u64 = 260;

/// Refuses a run that may need more memory than there is.
pub fn check(ranks: u64, messages: u64) -> Result<(), Failure> {
    let needed = messages.checked_mul(MESSAGE).and_then(|messages| messages.checked_add(ranks.checked_mul(RANK)?));
    let what = format!("{ranks} ranks with {messages} messages in flight (a throttle or synchronous sends need less)");
    limits::in_memory(&what, needed)
}

/// Peak memory of this process in bytes; `None` if the system does not report it.
pub fn peak() -> Option<u64> {
    line("/proc/self/status", "VmHWM:")
}

/// Resets the peak, if the system allows it.
pub fn forget_peak() {
    // Otherwise the next peak is that of the whole process, an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
