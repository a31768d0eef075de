//! Decides which rank may use a window of the ring, and when: the part of a call through windows in which ranks change
//! the same integers without a lock.
//!
//! Every rank publishes the first window that it may still access. Windows that all ranks have passed are complete. A
//! rank that has passed some windows checks if they can be written now: it takes them under a lock, writes them without
//! it, and gives their memory back. So no window stays unwritten, and no rank accesses a window while another writes
//! it. The tests try every order of these accesses.

use std::sync::atomic::Ordering;

use crate::fabric::shared::atom::Atom;

/// The integers of a ring of windows.
pub trait Ring {
    /// An integer of 32 bits.
    type U32: Atom<u32>;
    /// An integer of 64 bits.
    type U64: Atom<u64>;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Returns the index of this rank among them.
    fn place(&self) -> usize;

    /// Returns the number of the first window that a rank may still access.
    fn position(&self, place: usize) -> &Self::U64;

    /// Returns the number of the first window that a rank is writing; [`u64::MAX`] if it is not writing.
    fn writing(&self, place: usize) -> &Self::U64;

    /// Returns the number of the first window that no rank has taken to write.
    fn taken(&self) -> &Self::U64;

    /// Returns the number of the first window that is not written yet.
    fn unwritten(&self) -> &Self::U64;

    /// Returns the lock for taking windows and for giving them back: 1 while a rank holds it.
    fn lock(&self) -> &Self::U32;

    /// Returns the number of ranks that are writing windows.
    fn writers(&self) -> &Self::U32;

    /// Wakes the ranks that wait for a change of the ring.
    fn advance(&self);

    /// Yields the core, so that other ranks can run.
    fn yield_core(&self);
}

/// Publishes that this rank has passed all windows before `number`.
pub fn pass(ring: &impl Ring, number: u64) {
    ring.position(ring.place()).store(number, Ordering::SeqCst);
}

/// Returns the number of the first window that not all ranks have passed.
pub fn passed(ring: &impl Ring) -> u64 {
    (0..ring.ranks()).map(|place| ring.position(place).load(Ordering::SeqCst)).min().unwrap_or(0)
}

/// Returns true if this rank may access window `number` of a ring of `len` windows: the earlier window at its place is
/// written.
pub fn is_free(ring: &impl Ring, number: u64, len: u64) -> bool {
    number < ring.unwritten().load(Ordering::SeqCst) + len
}

/// Writes the complete windows of `count`, unless `most()` other ranks are writing. `take(from, to)` takes some of
/// these windows, and returns also the first that it has not taken; the rank then has the lock. `write` writes them,
/// without the lock. Every rank that completes a window calls this, or is about to, or its thread does for it; who has
/// written looks for further windows. So no window stays unwritten.
pub fn write_complete<R: Ring, T>(
    ring: &R,
    (count, len): (u64, u64),
    most: impl Fn() -> u32,
    take: impl Fn(u64, u64) -> (u64, T),
    write: impl Fn(T),
) {
    while ring.taken().load(Ordering::SeqCst) < passed(ring).min(count) {
        let most = most();
        if ring.writers().load(Ordering::SeqCst) >= most {
            return;
        }
        if ring.lock().swap(1, Ordering::SeqCst) != 0 {
            // The rank that has the lock looks for further windows, at the latest after its write.
            if most == 1 {
                return;
            }
            ring.yield_core();
            continue;
        }
        let taken = take_complete(ring, (count, len), &take);
        ring.lock().store(0, Ordering::SeqCst);
        if let Some(taken) = taken {
            write(taken);
            give_back(ring);
        }
    }
}

/// Takes complete windows; `None` if there are none any more. This rank has the lock.
fn take_complete<R: Ring, T>(ring: &R, (count, len): (u64, u64), take: impl Fn(u64, u64) -> (u64, T)) -> Option<T> {
    let from = ring.taken().load(Ordering::SeqCst);
    let passed = passed(ring).min(count);
    if from >= passed {
        return None;
    }
    // Windows past the ring have no data yet.
    let to = passed.min(ring.unwritten().load(Ordering::SeqCst) + len);
    let (next, taken) = take(from, to);
    ring.taken().store(if next >= to { passed } else { next }, Ordering::SeqCst);
    ring.writing(ring.place()).store(from, Ordering::SeqCst);
    ring.writers().fetch_add(1, Ordering::SeqCst);
    Some(taken)
}

/// Gives back the windows that this rank has written: others may use their memory.
fn give_back(ring: &impl Ring) {
    while ring.lock().swap(1, Ordering::SeqCst) != 0 {
        ring.yield_core();
    }
    ring.writing(ring.place()).store(u64::MAX, Ordering::SeqCst);
    let mut unwritten = ring.taken().load(Ordering::SeqCst);
    if ring.writers().fetch_sub(1, Ordering::SeqCst) > 1 {
        let others = (0..ring.ranks()).map(|place| ring.writing(place).load(Ordering::SeqCst));
        unwritten = others.fold(unwritten, u64::min);
    }
    ring.unwritten().store(unwritten, Ordering::SeqCst);
    ring.lock().store(0, Ordering::SeqCst);
    ring.advance();
}

#[cfg(test)]
mod tests {
    use loom::cell::UnsafeCell;

    use super::*;
    use crate::fabric::shared::atom::orders::{U32, U64};

    const DONE: u64 = u64::MAX;

    /// A ring of `LEN` windows. Loom finds it if two ranks access one of its cells at a time, and one of them changes it.
    struct State<const RANKS: usize, const LEN: usize, const IS_WEAK: bool> {
        positions: [U64<IS_WEAK>; RANKS],
        writing: [U64<IS_WEAK>; RANKS],
        taken: U64<IS_WEAK>,
        unwritten: U64<IS_WEAK>,
        lock: U32<IS_WEAK>,
        writers: U32<IS_WEAK>,
        /// Number of ranks whose bytes are in each window.
        placed: [U64<IS_WEAK>; LEN],
        /// The bytes of each rank in each window.
        bytes: [[UnsafeCell<u64>; LEN]; RANKS],
        /// How often each window was written.
        written: Vec<UnsafeCell<u32>>,
    }

    struct OfRank<const RANKS: usize, const LEN: usize, const IS_WEAK: bool>(
        &'static State<RANKS, LEN, IS_WEAK>,
        usize,
    );

    impl<const RANKS: usize, const LEN: usize, const IS_WEAK: bool> Ring for OfRank<RANKS, LEN, IS_WEAK> {
        type U32 = U32<IS_WEAK>;
        type U64 = U64<IS_WEAK>;

        fn ranks(&self) -> usize {
            RANKS
        }

        fn place(&self) -> usize {
            self.1
        }

        fn position(&self, place: usize) -> &Self::U64 {
            &self.0.positions[place]
        }

        fn writing(&self, place: usize) -> &Self::U64 {
            &self.0.writing[place]
        }

        fn taken(&self) -> &Self::U64 {
            &self.0.taken
        }

        fn unwritten(&self) -> &Self::U64 {
            &self.0.unwritten
        }

        fn lock(&self) -> &Self::U32 {
            &self.0.lock
        }

        fn writers(&self) -> &Self::U32 {
            &self.0.writers
        }

        fn advance(&self) {}

        fn yield_core(&self) {
            loom::thread::yield_now();
        }
    }

    impl<const RANKS: usize, const LEN: usize, const IS_WEAK: bool> OfRank<RANKS, LEN, IS_WEAK> {
        fn write_complete(&self, most: u32) {
            let state = self.0;
            let of = |number: u64| number as usize % LEN;
            // One window if several ranks write, otherwise all.
            let take = |from: u64, to: u64| {
                let next = if most > 1 { from + 1 } else { to };
                let placed = |number| state.placed[of(number)].swap(0, Ordering::AcqRel);
                assert!((from..next).all(|number| placed(number) == RANKS as u64));
                (next, from..next)
            };
            let write = |taken: std::ops::Range<u64>| {
                for number in taken {
                    for bytes in &state.bytes {
                        // SAFETY: loom checks it.
                        bytes[of(number)].with(|bytes| assert_eq!(unsafe { *bytes }, number + 1));
                    }
                    // SAFETY: loom checks it.
                    state.written[number as usize].with_mut(|times| unsafe { *times += 1 });
                }
            };
            let count = state.written.len() as u64;
            super::write_complete(self, (count, LEN as u64), || most, take, write);
        }

        /// Acts like [`place`](super::super::window_writer::place), with data in every window.
        fn run(&self, most: u32) {
            let state = self.0;
            for number in 0..state.written.len() as u64 {
                pass(self, number);
                self.write_complete(most);
                while !is_free(self, number, LEN as u64) {
                    self.write_complete(most);
                    self.yield_core();
                }
                let window = number as usize % LEN;
                // SAFETY: loom checks it.
                state.bytes[self.1][window].with_mut(|bytes| unsafe { *bytes = number + 1 });
                state.placed[window].fetch_add(1, Ordering::AcqRel);
            }
            pass(self, DONE);
            self.write_complete(most);
        }
    }

    /// Writes `count` windows with up to `most` writers, in all orders in which ranks lose their core `times` times at most.
    fn all_windows_are_written<const RANKS: usize, const LEN: usize, const IS_WEAK: bool>(
        times: usize,
        (count, most): (usize, u32),
    ) {
        let mut orders = loom::model::Builder::new();
        orders.preemption_bound = Some(times);
        orders.max_branches = 20_000;
        orders.check(move || {
            let state: &State<RANKS, LEN, IS_WEAK> = Box::leak(Box::new(State {
                positions: [(); RANKS].map(|()| U64::new(0)),
                writing: [(); RANKS].map(|()| U64::new(DONE)),
                taken: U64::new(0),
                unwritten: U64::new(0),
                lock: U32::new(0),
                writers: U32::new(0),
                placed: [(); LEN].map(|()| U64::new(0)),
                bytes: [(); RANKS].map(|()| [(); LEN].map(|()| UnsafeCell::new(0))),
                written: (0..count).map(|_| UnsafeCell::new(0)).collect(),
            }));
            let others: Vec<_> =
                (1..RANKS).map(|place| loom::thread::spawn(move || OfRank(state, place).run(most))).collect();
            OfRank(state, 0).run(most);
            others.into_iter().for_each(|other| other.join().unwrap());
            for times in &state.written {
                // SAFETY: loom checks it.
                times.with(|times| assert_eq!(unsafe { *times }, 1, "each window is written once"));
            }
            assert_eq!(state.unwritten.load(Ordering::SeqCst), count as u64);
        });
    }

    #[test]
    fn all_windows_are_written_once_in_any_order() {
        all_windows_are_written::<2, 1, false>(3, (2, 1));
        all_windows_are_written::<2, 2, false>(3, (3, 1));
    }

    #[test]
    fn several_ranks_write_windows_in_any_order() {
        all_windows_are_written::<2, 1, false>(3, (2, 2));
        all_windows_are_written::<2, 2, false>(3, (2, 2));
        all_windows_are_written::<3, 2, false>(2, (2, 2));
    }

    /// With weaker orders a window stays unwritten: the tests above can fail.
    #[test]
    #[should_panic(expected = "each window is written once")]
    fn a_weaker_order_forgets_a_window() {
        all_windows_are_written::<2, 2, true>(3, (2, 1));
    }
}
