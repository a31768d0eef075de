//! Matching queue of a rank: posted receives, or unexpected messages, in the order of their arrival.
//!
//! MPI libraries keep both as linear lists, in which the cost of a search is the number of entries inspected. Here the
//! entry is found by its key and the entries before it are counted, so the time to simulate a search does not grow with
//! it.

use super::live::Live;
use super::senders::Senders;

const NONE: u32 = u32::MAX;

/// Values that a message and a receive must share to match, apart from the receiver, which owns the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatchKey {
    pub(super) from: u32,
    /// Stage of the operation in its schedule, or the number of its tag if ranks post operations as they run.
    pub(super) stage: u32,
}

/// Result of a search: the entry, and the number of entries inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Search<T> {
    pub(super) found: Option<T>,
    pub(super) walked: usize,
}

/// Maximum number of entries of a queue that is searched linearly.
const FEW: usize = 32;

/// First-in, first-out queues by key, with one order over all entries.
#[derive(Debug)]
pub(super) struct MatchQueue<T> {
    /// All entries, while the queue is short.
    few: Vec<(MatchKey, T)>,
    /// All entries, from the time when the queue is long until it is empty.
    many: Indexed<T>,
}

impl<T> Default for MatchQueue<T> {
    fn default() -> Self {
        Self { few: Vec::new(), many: Indexed::default() }
    }
}

impl<T: Copy> MatchQueue<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.live.len()
    }

    /// Adds an entry at the end.
    #[inline]
    pub(super) fn push(&mut self, key: MatchKey, payload: T) {
        if self.many.live.len() == 0 {
            if self.few.len() < FEW {
                return self.few.push((key, payload));
            }
            self.few.drain(..).for_each(|(key, payload)| self.many.push(key, payload));
        }
        self.many.push(key, payload);
    }

    /// Removes the first entry with this key. A failed search inspects all entries.
    #[inline]
    pub(super) fn take(&mut self, key: MatchKey) -> Search<T> {
        if self.many.live.len() > 0 {
            return self.many.take(key);
        }
        match self.few.iter().position(|(other, _)| *other == key) {
            Some(at) => Search { found: Some(self.few.remove(at).1), walked: at + 1 },
            None => Search { found: None, walked: self.few.len() },
        }
    }
}

/// Entries of a long queue, found by their key and counted by [`Live`].
#[derive(Debug)]
struct Indexed<T> {
    /// For each stage and sender: the last entry of that key.
    last: Vec<Senders>,
    entries: Vec<QueueEntry<T>>,
    free: Vec<u32>,
    live: Live,
}

#[derive(Debug, Clone, Copy)]
struct QueueEntry<T> {
    payload: T,
    number: u32,
    /// Index of the next entry with this key; for the last entry, the index of the first.
    next: u32,
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self { last: Vec::new(), entries: Vec::new(), free: Vec::new(), live: Live::default() }
    }
}

impl<T: Copy> Indexed<T> {
    #[inline]
    fn push(&mut self, key: MatchKey, payload: T) {
        let entry = QueueEntry { payload, number: self.live.push(), next: NONE };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        let stage = key.stage as usize;
        if stage >= self.last.len() {
            self.last.resize_with(stage + 1, Senders::default);
        }
        let last = self.last[stage].of(key.from);
        let first = match *last {
            Senders::NONE => index,
            last => std::mem::replace(&mut self.entries[last as usize].next, index),
        };
        self.entries[index as usize].next = first;
        *last = index;
    }

    #[inline]
    fn take(&mut self, key: MatchKey) -> Search<T> {
        let missed = Search { found: None, walked: self.live.len() };
        let Some(last) = self.last.get_mut(key.stage as usize).and_then(|senders| senders.get(key.from)) else {
            return missed;
        };
        let index = self.entries[*last as usize].next;
        let entry = self.entries[index as usize];
        if index == *last {
            *last = Senders::NONE;
        } else {
            self.entries[*last as usize].next = entry.next;
        }
        self.free.push(index);
        Search { found: Some(entry.payload), walked: self.live.remove(entry.number) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(number: u64) -> MatchKey {
        MatchKey { from: (number * 7) as u32, stage: (number % 3) as u32 }
    }

    proptest! {
        /// Compares the queue with a plain list that is searched entry by entry.
        #[test]
        fn agrees_with_a_linear_list(steps in prop::collection::vec((0u8..3, 0u64..60), 0..2000)) {
            let (mut queue, mut list) = (MatchQueue::default(), Vec::new());
            for (payload, (push, number)) in steps.into_iter().enumerate() {
                // The queue grows, then shrinks.
                if push == 0 || (push == 1 && payload < 800) {
                    queue.push(key(number), payload);
                    list.push((number, payload));
                } else {
                    let at = list.iter().position(|(other, _)| *other == number);
                    let walked = at.map_or(list.len(), |at| at + 1);
                    let found = at.map(|at| list.remove(at).1);
                    prop_assert_eq!(queue.take(key(number)), Search { found, walked });
                }
                prop_assert_eq!(queue.len(), list.len());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn long_queues_too(takes in prop::collection::vec(0usize..40_000, 1..50)) {
            let mut queue = MatchQueue::default();
            (0..40_000).for_each(|number| queue.push(key(number), number));
            let mut gone = std::collections::BTreeSet::new();
            for number in takes {
                let search = queue.take(key(number as u64));
                if gone.insert(number) {
                    let walked = number - gone.range(..number).count() + 1;
                    prop_assert_eq!(search, Search { found: Some(number as u64), walked });
                } else {
                    prop_assert_eq!(search, Search { found: None, walked: 40_000 - gone.len() });
                }
            }
        }
    }
}
