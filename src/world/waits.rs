//! All functions by which a thread gives up its core: spin, yield, sleep, park, and wait for a change.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::Duration;

use super::{TaskId, entered};

/// A thread, as other threads need it to wake it.
#[derive(Debug, Clone)]
pub enum Sleeper {
    /// A thread of the system.
    Thread(Thread),
    /// A task of a world, which is woken by tasks of that world.
    Task(TaskId),
}

impl Sleeper {
    /// Ends the current or the next [`park`] of the thread.
    pub fn unpark(&self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Task(task) => drop(entered().map(|world| world.unpark(*task))),
        }
    }
}

const PAGE: usize = 4096;
/// Number above the keys of integers in shared memory.
pub const WORDS_END: usize = 2 * PAGE;

/// Returns true if a key of [`super::World::block`] is that of an integer in shared memory. Then a world adds the host, and lets a
/// message for a rank end the wait. (Odd keys are those of jobs.)
pub fn is_word(key: usize) -> bool {
    (PAGE..WORDS_END).contains(&key) && key.is_multiple_of(4)
}

/// Number of polls of a thread with a core of its own: about a millisecond.
const SPINS: u32 = 20_000;
/// Number of polls after which this thread yields between polls, in case others need the core.
const POLITE: u32 = 2_000;

/// Polls `word` for about a millisecond while it is `seen`, and returns true if it has changed. In a world, looks once: there
/// [`sleep_while`] ends as soon as the word changes, and how many processors this machine has must not matter.
pub fn spin_while(word: &AtomicU32, seen: u32) -> bool {
    let has_changed = || word.load(Ordering::Acquire) != seen;
    if entered().is_some() {
        return has_changed();
    }
    (0..SPINS).any(|spin| {
        if has_changed() {
            return true;
        }
        if spin < POLITE {
            std::hint::spin_loop()
        } else {
            thread::yield_now()
        }
        false
    })
}

/// Lets another thread run on this core, if one is ready.
pub fn yield_core() {
    match entered() {
        None => thread::yield_now(),
        Some(world) => world.yield_now(),
    }
}

/// Sleeps for this time.
pub fn sleep(time: Duration) {
    match entered() {
        None => thread::sleep(time),
        // No task wakes the key 0.
        Some(world) => drop(world.block(0, Some(time))),
    }
}

/// Returns the calling thread; [`Sleeper::unpark`] ends its [`park`].
pub fn this_thread() -> Sleeper {
    entered().map_or_else(|| Sleeper::Thread(thread::current()), |world| Sleeper::Task(world.task()))
}

/// Sleeps until another thread wakes this one, at most for `longest`. Returns at once if the wake-up came before.
pub fn park(longest: Option<Duration>) {
    match (entered(), longest) {
        (Some(world), _) => world.park(longest),
        (None, Some(longest)) => thread::park_timeout(longest),
        (None, None) => thread::park(),
    }
}

/// Returns true if a message for a rank ends [`sleep_while`] of the rank's thread, as in a world.
pub fn end_with_messages() -> bool {
    entered().is_some()
}

/// Sleeps while `word` is `seen`, until [`wake_all`] or the end of `time`. (Not FUTEX_PRIVATE: other processes wake
/// it.)
#[cfg(target_os = "linux")]
pub fn sleep_while(word: &AtomicU32, seen: u32, time: Duration) {
    if let Some(world) = entered() {
        if word.load(Ordering::SeqCst) == seen {
            world.block(key(word), Some(time));
        }
        return;
    }
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the integer is mapped, and the time lives through the call. The result is not needed: the caller checks the integer.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time) };
}

/// Wakes all threads, of this process and of others, that sleep on `word`.
#[cfg(target_os = "linux")]
pub fn wake_all(word: &AtomicU32) {
    if let Some(world) = entered() {
        return world.wake(key(word));
    }
    // SAFETY: a mapped integer.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, libc::c_int::MAX) };
}

/// Returns the key of an integer in a world, for which [`is_word`] is true. The key is the integer's offset in its page, because each
/// process of a world has a mapping of its own, at another address. A task that is woken for another integer of the same key looks at
/// its own and sleeps on.
#[cfg(target_os = "linux")]
fn key(word: &AtomicU32) -> usize {
    (word.as_ptr() as usize) % PAGE + PAGE
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

/// A value that threads of this process share: a thread locks it, changes it, or sleeps until another thread has changed it.
#[derive(Debug, Default)]
pub struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Watched<T> {
    /// Returns a shared value that begins as `value`.
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Condvar::new() }
    }

    /// Waits until no other thread uses the value, and returns it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let Some(world) = entered() else {
            return self.value.lock().unwrap_or_else(PoisonError::into_inner);
        };
        loop {
            match self.value.try_lock() {
                Ok(value) => return value,
                Err(TryLockError::Poisoned(value)) => return value.into_inner(),
                Err(TryLockError::WouldBlock) => world.yield_now(),
            }
        }
    }

    /// Sleeps until [`Watched::changed`].
    pub fn wait<'a>(&'a self, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let Some(world) = entered() else {
            return self.changed.wait(value).unwrap_or_else(PoisonError::into_inner);
        };
        drop(value);
        world.block(self.key(), None);
        self.lock()
    }

    /// Sleeps until [`Watched::changed`], at most for `longest`. Returns true too if the time has passed.
    pub fn wait_at_most<'a>(&'a self, value: MutexGuard<'a, T>, longest: Duration) -> (MutexGuard<'a, T>, bool) {
        let Some(world) = entered() else {
            let (value, waited) = self.changed.wait_timeout(value, longest).unwrap_or_else(PoisonError::into_inner);
            return (value, waited.timed_out());
        };
        drop(value);
        let is_over = !world.block(self.key(), Some(longest));
        (self.lock(), is_over)
    }

    /// Wakes all threads that wait.
    pub fn changed(&self) {
        match entered() {
            None => self.changed.notify_all(),
            Some(world) => world.wake(self.key()),
        }
    }

    /// Returns the key of this value in a world: its address, which differs from the keys of shared memory and of tasks.
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr() & !1
    }
}

/// Number of times that the calling thread has slept, that is, waited for something other than a core.
#[derive(Debug, Clone, Copy)]
pub struct SleepCount {
    /// Number of times that the thread has waited for something other than a core; 0 if the system does not count.
    sleeps: std::ffi::c_long,
    /// Time for which the thread has had a core; `None` if the system does not count.
    worked: Option<Duration>,
}

impl SleepCount {
    /// Begins to count the sleeps of the calling thread.
    pub fn begin() -> Self {
        if entered().is_some() { Self { sleeps: 0, worked: None } } else { Self::now() }
    }

    /// Returns true if the thread has slept since [`SleepCount::begin`]. In a world all time passes in sleep.
    pub fn has_slept(self) -> bool {
        entered().is_some() || Self::now().sleeps > self.sleeps
    }

    /// Returns the part of `took`, the time since [`SleepCount::begin`], for which the thread did not only wait for a core.
    pub fn without_waits_for_cores(&self, took: Duration) -> Duration {
        if entered().is_some() {
            return took;
        }
        let now = Self::now();
        match now.worked.zip(self.worked) {
            Some((now_worked, worked)) if now.sleeps == self.sleeps => took.min(now_worked.saturating_sub(worked)),
            _ => took,
        }
    }

    #[cfg(target_os = "linux")]
    fn now() -> Self {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeValLike;
        getrusage(UsageWho::RUSAGE_THREAD).map_or(Self { sleeps: 0, worked: None }, |usage| Self {
            sleeps: usage.voluntary_context_switches(),
            worked: (usage.user_time() + usage.system_time())
                .num_microseconds()
                .try_into()
                .ok()
                .map(Duration::from_micros),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Self {
        Self { sleeps: 0, worked: None }
    }
}
