//! The event queue: a hierarchical timing wheel.
//!
//! Eight levels of 256 slots; a slot of level l spans 256^l picoseconds. An event lies on the level of the highest digit
//! (base 256) in which its time differs from the wheel's. The next slot with few events is sorted and served; one with
//! many is dealt to the levels below. Events of one time leave in the order in which they came, so a run is determined
//! by its input. O(1) amortised.

use std::collections::VecDeque;

use super::Time;

const SLOTS: usize = 256;
const LEVELS: usize = 8;
/// Slots of at most so many events are sorted and not dealt out.
const SORTED: usize = 24;
/// A slot that held more events gives its memory back.
const KEPT: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Event<T> {
    time: Time,
    what: T,
}

/// A queue of events by time.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    slots: Vec<Vec<Event<T>>>,
    /// A bit for each slot with events.
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// All events outside `current` lie at this time or later, and are filed by where they differ from it.
    start: Time,
    /// The slot that is being served, sorted.
    current: VecDeque<Event<T>>,
    /// The end of its span.
    end: Time,
}

impl<T: Copy> Wheel<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: (0..SLOTS * LEVELS).map(|_| Vec::new()).collect(),
            occupied: [[0; SLOTS / 64]; LEVELS],
            start: 0,
            current: VecDeque::new(),
            end: 0,
        }
    }

    /// Adds an event; not before the one that left last.
    #[inline]
    pub(super) fn push(&mut self, time: Time, what: T) {
        let event = Event { time, what };
        if time >= self.end {
            return self.file(event);
        }
        if self.current.back().is_none_or(|last| last.time <= time) {
            return self.current.push_back(event);
        }
        let at = self.current.partition_point(|other| other.time <= time);
        self.current.insert(at, event);
    }

    /// The earliest event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Time, T)> {
        loop {
            if let Some(event) = self.current.pop_front() {
                return Some((event.time, event.what));
            }
            self.open_next()?;
        }
    }

    #[inline]
    fn file(&mut self, event: Event<T>) {
        let differs = (event.time ^ self.start) | 1;
        let level = (63 - differs.leading_zeros() as usize) / 8;
        let slot = (event.time >> (8 * level)) as usize % SLOTS;
        self.occupied[level][slot / 64] |= 1 << (slot % 64);
        self.slots[level * SLOTS + slot].push(event);
    }

    /// Serves the earliest slot, or deals it out.
    fn open_next(&mut self) -> Option<()> {
        let (level, slot) = self.first_slot()?;
        self.occupied[level][slot / 64] &= !(1 << (slot % 64));
        let mut events = std::mem::take(&mut self.slots[level * SLOTS + slot]);
        let span = 8 * level as u32;
        let above = self.start.checked_shr(span + 8).unwrap_or(0).checked_shl(span + 8).unwrap_or(0);
        self.start = above + ((slot as Time) << span);
        if level == 0 || events.len() <= SORTED {
            events.sort_by_key(|event| event.time);
            self.end = self.start.saturating_add(1 << span);
            self.current.extend(events.drain(..));
        } else {
            self.end = self.start;
            events.drain(..).for_each(|event| self.file(event));
        }
        if events.capacity() <= KEPT {
            self.slots[level * SLOTS + slot] = events;
        }
        Some(())
    }

    fn first_slot(&self) -> Option<(usize, usize)> {
        self.occupied.iter().enumerate().find_map(|(level, words)| {
            let (index, word) = words.iter().enumerate().find(|(_, word)| **word != 0)?;
            Some((level, index * 64 + word.trailing_zeros() as usize))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a sorted list: pushes in several rounds, each at or after the time that left last.
        #[test]
        fn leaves_by_time_then_by_arrival(rounds in prop::collection::vec((prop::collection::vec(0u64..1 << 20, 0..80), 0usize..60), 1..12), scale in 0u32..40) {
            let (mut wheel, mut list, mut now, mut number) = (Wheel::new(), Vec::new(), 0, 0usize);
            for (delays, pops) in rounds {
                for delay in delays {
                    let time = now + (delay >> 4 << scale);
                    wheel.push(time, number);
                    list.push((time, number));
                    number += 1;
                }
                list.sort();
                for expected in list.drain(..pops.min(list.len())) {
                    prop_assert_eq!(wheel.pop(), Some(expected));
                    now = expected.0;
                }
            }
            for expected in list {
                prop_assert_eq!(wheel.pop(), Some(expected));
            }
            prop_assert_eq!(wheel.pop(), None);
        }
    }
}
