//! A counter in shared memory that ranks wait on: they spin if each has a core, otherwise they sleep until it changes.
//!
//! The rank that advances the counter calls the system only if a rank sleeps. So neither rank may miss the other. A rank
//! counts itself as a sleeper before it reads the counter for the last time. The other rank reads the number of sleepers
//! after it has advanced the counter. The tests try every order of these accesses.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::atom::Atom;
use super::memory::shareable;
use crate::world::waits;

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
    /// Returns the counter, to wait for it or to advance it.
    #[inline]
    pub fn signal(&self) -> Signal<'_> {
        Signal { value: &self.value, sleepers: &self.sleepers }
    }
}

/// A counter that ranks wait on; 8 bytes of shared memory.
#[derive(Debug)]
pub struct Signal<'a, A = AtomicU32> {
    value: &'a A,
    sleepers: &'a A,
}

impl<A> Clone for Signal<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Signal<'_, A> {}

impl<'a, A: Atom<u32>> Signal<'a, A> {
    /// Returns the value of the counter.
    #[inline]
    pub fn get(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    /// Increments the counter, and calls `wake` if a rank sleeps.
    #[inline]
    fn advance_and(&self, wake: impl FnOnce(&'a A)) {
        self.value.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            wake(self.value);
        }
    }

    /// Calls `sleep`, which looks at the counter once more before it sleeps.
    fn sleep(&self, sleep: impl FnOnce(&'a A)) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        sleep(self.value);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Signal<'_> {
    /// Increments the counter and wakes all waiting ranks.
    #[inline]
    pub fn advance(&self) {
        self.advance_and(waits::wake_all);
    }

    /// Returns a watch that waits until the counter is no longer `seen`. `spins` is true if the rank has a core of its
    /// own.
    pub fn watch(&self, seen: u32, spins: bool) -> Watch {
        let [value, sleepers] = [self.value, self.sleepers].map(|word| std::ptr::from_ref(word).expose_provenance());
        Watch { value, sleepers, seen, spins, brief: false }
    }
}

/// A wait for a change of a counter. The caller of [`Watch::wait`] ensures that the counter is still mapped.
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

    /// Returns when the counter has changed, or after a short time. `round` counts the waits without progress.
    ///
    /// # Safety
    /// The counter is still mapped.
    pub unsafe fn wait(&self, round: u32) {
        let [value, sleepers] = [self.value, self.sleepers]
            // SAFETY: the caller's promise.
            .map(|word| unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(word) });
        let is_brief = self.brief && !waits::end_with_messages();
        if is_brief && round < LOOKS {
            return waits::yield_core();
        }
        if self.spins && round == 0 && waits::spin_while(value, self.seen) {
            return;
        }
        let longest = if is_brief { BRIEF } else { LONGEST };
        let time = (SHORTEST * 2u32.pow(round.min(4))).min(longest);
        Signal { value, sleepers }.sleep(|value| waits::sleep_while(value, self.seen, time));
    }
}

#[cfg(test)]
mod tests {

    use loom::sync::{Condvar, Mutex};

    use super::super::atom::orders::U32;
    use super::*;

    /// Replaces the system's sleep while an integer has a value; this sleep has no time-out.
    #[derive(Default)]
    struct Futex(Mutex<()>, Condvar);

    impl Futex {
        fn sleep_while(&self, value: &impl Atom<u32>, seen: u32) {
            let looks = self.0.lock().unwrap();
            if value.load(Ordering::SeqCst) == seen {
                drop(self.1.wait(looks).unwrap());
            }
        }

        fn wake_all(&self) {
            let _looks = self.0.lock().unwrap();
            self.1.notify_all();
        }
    }

    /// One rank advances the counter twice; the other waits for each.
    fn nobody_sleeps_for_ever<const IS_WEAK: bool>() {
        loom::model(|| {
            // Never dropped: a value of loom cannot be dropped once loom has found a deadlock.
            let state = Box::leak(Box::new((U32::<IS_WEAK>::new(0), U32::<IS_WEAK>::new(0), Futex::default())));
            let (value, sleepers, futex) = &*state;
            let signal = Signal { value, sleepers };
            let waits = loom::thread::spawn(move || {
                for seen in 0..2 {
                    while signal.get() <= seen {
                        let now = signal.get();
                        if now <= seen {
                            signal.sleep(|value| futex.sleep_while(value, now));
                        }
                    }
                }
            });
            for _ in 0..2 {
                signal.advance_and(|_| futex.wake_all());
            }
            waits.join().unwrap();
        });
    }

    #[test]
    fn nobody_sleeps_for_ever_in_any_order() {
        nobody_sleeps_for_ever::<false>();
    }

    /// With weaker orders a rank sleeps for ever: the test above can fail.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_weaker_order_loses_a_wake_up() {
        nobody_sleeps_for_ever::<true>();
    }

    #[test]
    fn a_sleeper_is_woken() {
        let state = SignalState { value: AtomicU32::new(0), sleepers: AtomicU32::new(0) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while state.signal().get() == 0 {
                    // SAFETY: both integers live through the scope.
                    unsafe { state.signal().watch(0, false).wait(4) };
                }
            });
            while state.sleepers.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            state.signal().advance();
        });
        assert_eq!(state.sleepers.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let state = SignalState { value: AtomicU32::new(0), sleepers: AtomicU32::new(0) };
        // SAFETY: both integers live.
        unsafe { state.signal().watch(0, false).wait(0) };
    }
}
