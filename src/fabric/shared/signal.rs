//! A word in shared memory that ranks wait on. Ranks spin if each has a core, otherwise they sleep until the word
//! changes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::memory::shareable;
use crate::world::waits;

/// Number of polls before a rank with a core of its own sleeps: about a millisecond.
const SPINS: u32 = 20_000;
/// Number of polls after which a rank with a core of its own yields between polls, in case other ranks need the core.
const POLITE: u32 = 2_000;
/// Maximum time of the first sleep. Afterwards the rank progresses its messages, as MPI's progress rule demands.
const SHORTEST: Duration = Duration::from_millis(1);
/// Maximum time of a sleep.
const LONGEST: Duration = Duration::from_millis(16);
/// For a rank that also waits for messages: number of polls before it sleeps.
const LOOKS: u32 = 50;
/// For a rank that also waits for messages: time of a sleep.
const BRIEF: Duration = Duration::from_micros(50);

shareable! {
    /// The integers of a signal in shared memory.
    pub struct SignalState {
        value: AtomicU32,
        /// Number of ranks that sleep until the value changes.
        sleepers: AtomicU32,
    }
}

impl SignalState {
    /// Returns the signal.
    #[inline]
    pub fn signal(&self) -> Signal<'_> {
        Signal { value: &self.value, sleepers: &self.sleepers }
    }
}

/// A counter that ranks wait on; 8 bytes of shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Signal<'a> {
    value: &'a AtomicU32,
    sleepers: &'a AtomicU32,
}

impl Signal<'_> {
    /// Returns the value of the counter.
    #[inline]
    pub fn get(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    /// Increments the counter and wakes all waiting ranks.
    #[inline]
    pub fn advance(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            waits::wake_all(self.value);
        }
    }

    /// Returns a watch that waits until the counter is no longer `seen`. `spins` is true if the rank has a core of its
    /// own.
    pub fn watch(&self, seen: u32, spins: bool) -> Watch {
        let [value, sleepers] = [self.value, self.sleepers].map(|word| std::ptr::from_ref(word).expose_provenance());
        Watch { value, sleepers, seen, spins, brief: false }
    }
}

/// A wait for a change of a word. The caller of [`Watch::wait`] ensures that the word is still mapped.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// Addresses of two `AtomicU32`; as integers, they may go to the thread that waits.
    value: usize,
    sleepers: usize,
    seen: u32,
    spins: bool,
    brief: bool,
}

impl Watch {
    /// Returns the watch for a rank that also waits for messages: its wait yields the core and returns soon.
    pub fn briefly(self) -> Self {
        Self { brief: true, ..self }
    }

    /// Returns when the word has changed, or after a short time. `round` counts the waits without progress.
    ///
    /// # Safety
    /// The words are still mapped.
    pub unsafe fn wait(&self, round: u32) {
        let [value, sleepers] = [self.value, self.sleepers]
            // SAFETY: the caller's promise.
            .map(|word| unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(word) });
        if self.brief && round < LOOKS {
            return waits::yield_core();
        }
        if self.spins && round == 0 {
            for spin in 0..SPINS {
                if value.load(Ordering::Acquire) != self.seen {
                    return;
                }
                if spin < POLITE { waits::spin() } else { waits::yield_core() }
            }
        }
        sleepers.fetch_add(1, Ordering::SeqCst);
        let longest = if self.brief { BRIEF } else { LONGEST };
        waits::sleep_while(value, self.seen, (SHORTEST * 2u32.pow(round.min(4))).min(longest));
        sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_sleeper_is_woken() {
        let state = SignalState { value: AtomicU32::new(0), sleepers: AtomicU32::new(0) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while state.signal().get() == 0 {
                    // SAFETY: both words live through the scope.
                    unsafe { state.signal().watch(0, false).wait(4) };
                }
            });
            std::thread::sleep(Duration::from_millis(5));
            state.signal().advance();
        });
        assert_eq!(state.sleepers.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let state = SignalState { value: AtomicU32::new(0), sleepers: AtomicU32::new(0) };
        let begin = Instant::now();
        // SAFETY: both words live.
        unsafe { state.signal().watch(0, false).wait(0) };
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}
