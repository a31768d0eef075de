//! A limit of file size (`ulimit -f`) is an error of a call, and not the end of the process.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Keeps the signal of the file-size limit (SIGXFSZ, which ends the process by default) from this thread while it is
/// held: write(2) then fails with EFBIG, an error that can be agreed. The process's disposition stays as it is. For the time
/// of a call: where there is no limit now, the signal is not sent, and one call of the system does instead of three.
#[must_use]
pub fn without_size_signal() -> Option<SizeSignalBlocked> {
    let is_limited = getrlimit(Resource::RLIMIT_FSIZE).map_or(true, |(soft, _)| soft != RLIM_INFINITY);
    is_limited.then(block_size_signal)
}

/// Returns the limit of the size of files, in bytes; none if there is none.
pub fn size_limit() -> Option<u64> {
    getrlimit(Resource::RLIMIT_FSIZE).ok().map(|(soft, _)| soft).filter(|&soft| soft != RLIM_INFINITY)
}

/// Returns the same for a thread's life, in which a limit may be set.
#[must_use]
pub fn block_size_signal() -> SizeSignalBlocked {
    let mut signal = SigSet::empty();
    signal.add(Signal::SIGXFSZ);
    let before = signal.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok().filter(|mask| !mask.contains(Signal::SIGXFSZ));
    SizeSignalBlocked { signal, before }
}

/// See [`block_size_signal`].
pub struct SizeSignalBlocked {
    signal: SigSet,
    /// The mask to go back to; none if the signal was blocked already.
    before: Option<SigSet>,
}

impl Drop for SizeSignalBlocked {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // One that came in the meantime is ours: it is taken, not passed on.
        // SAFETY: both pointers are to live values of the right type; a null siginfo is allowed.
        while unsafe { libc::sigtimedwait(self.signal.as_ref(), std::ptr::null_mut(), &now) } > 0 {}
        // A mask that cannot be set back leaves the signal blocked, which is what it was for.
        let _ = before.thread_set_mask();
    }
}
