//! Event queue of the simulator: a hierarchical timing wheel.
//!
//! Eight levels of 256 slots; a slot of level l spans 256^l picoseconds. An event lies on the level of the highest
//! digit (base 256) in which its time differs from the wheel's. If the next slot has few events, they are sorted and
//! served; otherwise they are distributed to the levels below. Events of equal time leave in the order of their
//! insertion, so a run is deterministic. O(1) amortised. Slots keep their events in blocks of one pool, so growing
//! copies nothing and memory is reused.

use std::cmp::Reverse;

use super::Time;
use super::pool::{Pool, Queue};

const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;
const LEVELS: usize = 8;
/// Maximum number of events of a slot that is sorted and not distributed.
const SORTED: usize = 160;

#[derive(Debug, Clone, Copy)]
struct WheelEvent<T> {
    time: Time,
    what: T,
}

/// Queue of events by time.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    slots: Vec<Queue>,
    pool: Pool<WheelEvent<T>>,
    /// One bit for each slot with events.
    occupied: [[u64; WORDS]; LEVELS],
    /// One bit for each level with events.
    levels: u8,
    /// Time in picoseconds that no event outside `current` precedes. An event lies on the level of the highest digit in
    /// which its time differs from `start`.
    start: Time,
    /// Events of the slot that is being served, the latest first.
    current: Vec<WheelEvent<T>>,
    /// End of the time that the served slot covers.
    end: Time,
    /// Time of the event that left last.
    now: Time,
}

impl<T: Copy> Wheel<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![Queue::EMPTY; SLOTS * LEVELS],
            pool: Pool::new(),
            occupied: [[0; WORDS]; LEVELS],
            levels: 0,
            start: 0,
            current: Vec::new(),
            end: 0,
            now: 0,
        }
    }

    /// Adds an event. Its time must not be before the event that left last.
    #[inline]
    pub(super) fn push(&mut self, time: Time, what: T) {
        debug_assert!(time >= self.now, "an event at {time} is before {}, the time of the last event", self.now);
        let event = WheelEvent { time, what };
        if time >= self.end {
            return self.file(event);
        }
        let at = self.current.partition_point(|other| other.time > time);
        self.current.insert(at, event);
    }

    /// Removes and returns the earliest event. Calls `soon` before with events that will be next, if many follow each
    /// other closely.
    #[inline]
    pub(super) fn pop(&mut self, mut soon: impl FnMut(&T)) -> Option<(Time, T)> {
        loop {
            if let Some(event) = self.current.pop() {
                self.now = event.time;
                return Some((event.time, event.what));
            }
            self.open_next()?;
            self.current.iter().rev().for_each(|event| soon(&event.what));
        }
    }

    /// Returns the time of the earliest event.
    pub(super) fn peek(&mut self) -> Option<Time> {
        loop {
            if let Some(event) = self.current.last() {
                return Some(event.time);
            }
            self.open_next()?;
        }
    }

    #[inline]
    fn file(&mut self, event: WheelEvent<T>) {
        let differs = (event.time ^ self.start) | 1;
        let level = (63 - differs.leading_zeros() as usize) / 8;
        let slot = (event.time >> (8 * level)) as usize % SLOTS;
        self.levels |= 1 << level;
        self.occupied[level][slot / 64] |= 1 << (slot % 64);
        self.pool.push(&mut self.slots[level * SLOTS + slot], event);
    }

    /// Sorts the events of the earliest slot to serve them, or distributes them to lower levels.
    fn open_next(&mut self) -> Option<()> {
        let (level, slot) = self.first_slot()?;
        let mut events = std::mem::replace(&mut self.slots[level * SLOTS + slot], Queue::EMPTY);
        let span = 8 * level as u32;
        let above = self.start.checked_shr(span + 8).unwrap_or(0).checked_shl(span + 8).unwrap_or(0);
        self.start = above + ((slot as Time) << span);
        let sorted = level == 0 || events.len() <= SORTED;
        self.end = if sorted { self.start.saturating_add(1 << span) } else { self.start };
        while let Some(block) = self.pool.pop(&mut events) {
            if sorted {
                self.current.extend_from_slice(&self.pool.items[block.clone()]);
            } else {
                block.clone().for_each(|index| self.file(self.pool.items[index]));
            }
            self.pool.give_back(block);
        }
        // Reversed first, so that of equal times the first inserted is the last in the list, and leaves first.
        self.current.reverse();
        self.current.sort_by_key(|event| Reverse(event.time));
        Some(())
    }

    /// Returns level and number of the earliest slot with events, and clears its bits.
    #[inline]
    fn first_slot(&mut self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let words = &mut self.occupied[level];
        let index = words.iter().position(|word| *word != 0)?;
        let bit = words[index].trailing_zeros() as usize;
        words[index] &= words[index] - 1;
        if words.iter().all(|word| *word == 0) {
            self.levels &= self.levels - 1;
        }
        Some((level, index * 64 + bit))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with a sorted list. Pushes in several rounds, each at or after the time of the last removed event.
        #[test]
        fn leaves_by_time_then_by_arrival(rounds in prop::collection::vec((prop::collection::vec(0u64..1 << 20, 0..200), 0usize..160), 1..12), scale in 0u32..40) {
            let (mut wheel, mut list, mut now, mut number) = (Wheel::new(), Vec::new(), 0, 0usize);
            for (delays, pops) in rounds {
                for delay in delays {
                    let time = now + (delay >> 4 << scale);
                    wheel.push(time, number);
                    list.push((time, number));
                    number += 1;
                }
                list.sort();
                prop_assert_eq!(wheel.peek(), list.first().map(|event| event.0));
                for expected in list.drain(..pops.min(list.len())) {
                    prop_assert_eq!(wheel.pop(|_| ()), Some(expected));
                    now = expected.0;
                }
            }
            for expected in list {
                prop_assert_eq!(wheel.pop(|_| ()), Some(expected));
            }
            prop_assert_eq!(wheel.pop(|_| ()), None);
        }
    }
}
