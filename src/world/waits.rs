//! Waits: all ways in which a thread gives up its core.

use std::sync::atomic::AtomicU32;
#[cfg(not(target_os = "linux"))]
use std::sync::atomic::Ordering;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A thread, to wake it.
pub use std::thread::Thread;

/// Waits for a moment, without giving up the core.
#[inline]
pub fn spin() {
    std::hint::spin_loop();
}

/// Lets another thread run on this core, if one is ready.
pub fn yield_core() {
    thread::yield_now();
}

/// Sleeps for this time.
pub fn sleep(time: Duration) {
    thread::sleep(time);
}

/// Returns the calling thread; [`Thread::unpark`] ends its [`park`].
pub fn this_thread() -> Thread {
    thread::current()
}

/// Sleeps until another thread wakes this one, at most for `longest`. A wake-up before is not lost.
pub fn park(longest: Option<Duration>) {
    match longest {
        Some(longest) => thread::park_timeout(longest),
        None => thread::park(),
    }
}

/// Sleeps while `word` is `seen`, until [`wake_all`] or the end of `time`. (Not FUTEX_PRIVATE: other processes wake
/// it.)
#[cfg(target_os = "linux")]
pub fn sleep_while(word: &AtomicU32, seen: u32, time: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the word is mapped and the time lives through the call; the caller checks the word whatever is returned.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time) };
}

/// Wakes all threads, of this process and of others, that sleep on `word`.
#[cfg(target_os = "linux")]
pub fn wake_all(word: &AtomicU32) {
    // SAFETY: a mapped word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, libc::c_int::MAX) };
}

/// Sleeps a little if `word` is `seen`.
#[cfg(not(target_os = "linux"))]
pub fn sleep_while(word: &AtomicU32, seen: u32, _time: Duration) {
    if word.load(Ordering::Acquire) == seen {
        sleep(Duration::from_micros(50));
    }
}

/// Does nothing: sleepers look often.
#[cfg(not(target_os = "linux"))]
pub fn wake_all(_word: &AtomicU32) {}

/// A condition that threads of this process wait for.
#[derive(Debug, Default)]
pub struct Condition(Condvar);

impl Condition {
    /// Sleeps until [`Condition::changed`].
    pub fn wait<'a, T>(&self, state: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until [`Condition::changed`], at most for `longest`. Returns true too if the time has passed.
    pub fn wait_at_most<'a, T>(&self, state: MutexGuard<'a, T>, longest: Duration) -> (MutexGuard<'a, T>, bool) {
        let (state, waited) = self.0.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner);
        (state, waited.timed_out())
    }

    /// Wakes all threads that wait.
    pub fn changed(&self) {
        self.0.notify_all();
    }
}
