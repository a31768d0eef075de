//! Makes a limit of file size (`ulimit -f`) an error of a call instead of the end of the process.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Blocks the signal of the file-size limit (SIGXFSZ, which ends the process by default) in this thread while the
/// result is held: write(2) then fails with EFBIG, an error on which ranks can agree. The process's signal handlers
/// stay as they are. For the duration of one call: if there is no limit now, the signal is not sent, so this returns
/// `None` and saves two of three system calls.
#[must_use]
pub fn without_size_signal() -> Option<SizeSignalBlocked> {
    let is_limited = getrlimit(Resource::RLIMIT_FSIZE).map_or(true, |(soft, _)| soft != RLIM_INFINITY);
    is_limited.then(block_size_signal)
}

/// Returns the process's limit of file size, in bytes; None if there is none.
pub fn size_limit() -> Option<u64> {
    getrlimit(Resource::RLIMIT_FSIZE).ok().map(|(soft, _)| soft).filter(|&soft| soft != RLIM_INFINITY)
}

/// Blocks the signal of the file-size limit in this thread while the result is held, also if there is no limit yet:
/// for a thread's whole life, in which a limit may be set.
#[must_use]
pub fn block_size_signal() -> SizeSignalBlocked {
    let mut signal = SigSet::empty();
    signal.add(Signal::SIGXFSZ);
    let before = signal.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok().filter(|mask| !mask.contains(Signal::SIGXFSZ));
    SizeSignalBlocked { signal, before }
}

/// Guard that blocks the signal of the file-size limit in a thread: see [`block_size_signal`].
pub struct SizeSignalBlocked {
    signal: SigSet,
    /// Signal mask that is restored at the end; None if the signal was blocked already.
    before: Option<SigSet>,
}

impl Drop for SizeSignalBlocked {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // A signal that came in the meantime was caused by our write: it is consumed, not passed on.
        // SAFETY: both pointers point to live values of the right type; a null siginfo is allowed.
        while unsafe { libc::sigtimedwait(self.signal.as_ref(), std::ptr::null_mut(), &now) } > 0 {}
        // If the mask cannot be restored, the signal stays blocked, as during the call.
        let _ = before.thread_set_mask();
    }
}
