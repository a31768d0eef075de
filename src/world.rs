//! What the engine asks of the place where it runs. Each of these is reached through one module: the time ([`clock`]), threads
//! beside the rank ([`jobs`]), waits ([`waits`]), and state of the process ([`process`]). A test forbids them elsewhere.

/// The clock: every time in reports, captures, learned rates and time-outs comes from here.
pub mod clock {
    use std::time::{Duration, Instant, SystemTime};

    /// Returns the time now, for differences.
    #[inline]
    pub fn now() -> Instant {
        Instant::now()
    }

    /// Returns the time since `begin`.
    #[inline]
    pub fn since(begin: Instant) -> Duration {
        now().saturating_duration_since(begin)
    }

    /// Returns the time since the beginning of 1970, or 0 if the system's clock is earlier.
    pub fn date() -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}

/// Threads of this process: helper threads beside a rank, and ranks that are threads.
pub mod jobs {
    use std::io;
    use std::thread::{Builder, Scope};

    /// A thread; what a thread of a scope ended with, and the thread.
    pub use std::thread::{JoinHandle, Result as Ended, ScopedJoinHandle as Scoped, scope};

    /// Starts a thread of this name, which works until `work` returns.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        Builder::new().name(name.to_string()).spawn(work)
    }

    /// Starts a thread of this name, which ends before `scope` does.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start_in<'scope, T: Send + 'scope>(
        scope: &'scope Scope<'scope, '_>,
        name: String,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<Scoped<'scope, T>> {
        Builder::new().name(name).spawn_scoped(scope, work)
    }

    /// Returns true while a panic unwinds this thread.
    pub fn is_panicking() -> bool {
        std::thread::panicking()
    }

    /// Returns the number of cores that this process may use.
    pub fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }
}

/// Waits: all ways in which a thread gives up its core.
pub mod waits {
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
}

/// State that outlives a file: what the process keeps, and what a thread keeps. Each such value is declared by one of these
/// macros, so that all of them are known and a world of its own can have its own.
pub mod process {
    /// Declares values of the process.
    macro_rules! per_process {
        ($($(#[$attribute:meta])* $visible:vis static $name:ident: $kind:ty = $first:expr;)*) => {
            $($(#[$attribute])* $visible static $name: $kind = $first;)*
        };
    }

    /// Declares values of each thread, as `thread_local` does. It is for buffers that a function fills and empties, never for
    /// what a call remembers.
    macro_rules! per_thread {
        ($($values:tt)*) => {
            thread_local! { $($values)* }
        };
    }

    pub(crate) use {per_process, per_thread};
}
