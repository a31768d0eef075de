//! A matching queue: posted receives, or unexpected messages, in the order of their arrival.
//!
//! MPI libraries keep both as linear lists; what a search costs is how many entries it looks at. Here the entry is found
//! by its key and the entries before it are counted, so that the time to simulate a search does not grow with its length.

use rustc_hash::FxHashMap;

use super::live::Live;

const NONE: u32 = u32::MAX;

/// What must be equal for a message and a receive to match: the sender and the stage (the receiver owns the queue).
pub(super) type Key = u64;

/// The key of a message.
#[inline]
pub(super) fn key(from: u32, stage: u8) -> Key {
    u64::from(from) << 8 | u64::from(stage)
}

/// A search: what was found, and how many entries were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) found: Option<u32>,
    pub(super) walked: usize,
}

/// Queues of at most so many entries are searched as they are.
const FEW: usize = 32;

/// A first-in, first-out queue a key, all in one order.
#[derive(Debug, Default)]
pub(super) struct MatchQueue {
    /// All entries, while they are few.
    few: Vec<(Key, u32)>,
    /// All entries, from when they are more until none is left.
    many: Indexed,
}

impl MatchQueue {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    /// Adds an entry at the end.
    #[inline]
    pub(super) fn push(&mut self, key: Key, payload: u32) {
        if self.many.len() == 0 {
            if self.few.len() < FEW {
                return self.few.push((key, payload));
            }
            self.few.drain(..).for_each(|(key, payload)| self.many.push(key, payload));
        }
        self.many.push(key, payload);
    }

    /// Takes the first entry of that key out. A search without success looks at all entries.
    #[inline]
    pub(super) fn take(&mut self, key: Key) -> Search {
        if self.few.is_empty() {
            return self.many.take(key);
        }
        match self.few.iter().position(|(other, _)| *other == key) {
            Some(at) => Search { found: Some(self.few.remove(at).1), walked: at + 1 },
            None => Search { found: None, walked: self.few.len() },
        }
    }
}

/// Entries found by their key, and counted by [`Live`].
#[derive(Debug, Default)]
struct Indexed {
    /// First and last entry of every key.
    ends: FxHashMap<Key, (u32, u32)>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    live: Live,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    number: u32,
    payload: u32,
    next: u32,
}

impl Indexed {
    fn len(&self) -> usize {
        self.live.len()
    }

    #[inline]
    fn push(&mut self, key: Key, payload: u32) {
        let entry = Entry { number: self.live.push(), payload, next: NONE };
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
        let ends = self.ends.entry(key).or_insert((index, NONE));
        if ends.1 != NONE {
            self.entries[ends.1 as usize].next = index;
        }
        ends.1 = index;
    }

    fn take(&mut self, key: Key) -> Search {
        if self.live.len() == 0 {
            return Search { found: None, walked: 0 };
        }
        let std::collections::hash_map::Entry::Occupied(mut ends) = self.ends.entry(key) else {
            return Search { found: None, walked: self.live.len() };
        };
        let index = ends.get().0;
        let entry = self.entries[index as usize];
        if entry.next == NONE {
            ends.remove();
        } else {
            ends.get_mut().0 = entry.next;
        }
        self.free.push(index);
        Search { found: Some(entry.payload), walked: self.live.remove(entry.number) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain list, searched entry by entry.
        #[test]
        fn searches_as_a_list_does(steps in prop::collection::vec((any::<bool>(), 0u64..40), 0..2000)) {
            let (mut queue, mut list) = (MatchQueue::default(), Vec::new());
            for (payload, (push, key)) in steps.into_iter().enumerate() {
                if push {
                    queue.push(key, payload as u32);
                    list.push((key, payload as u32));
                } else {
                    let at = list.iter().position(|(other, _)| *other == key);
                    let walked = at.map_or(list.len(), |at| at + 1);
                    let found = at.map(|at| list.remove(at).1);
                    prop_assert_eq!(queue.take(key), Search { found, walked });
                }
                prop_assert_eq!(queue.len(), list.len());
            }
        }

        #[test]
        fn long_queues_too(takes in prop::collection::vec(0usize..20_000, 1..50)) {
            let mut queue = MatchQueue::default();
            (0..20_000).for_each(|key| queue.push(key, key as u32));
            let mut gone = std::collections::BTreeSet::new();
            for key in takes {
                let search = queue.take(key as Key);
                if gone.insert(key) {
                    prop_assert_eq!(search.walked, key - gone.range(..key).count() + 1);
                } else {
                    prop_assert_eq!(search, Search { found: None, walked: 20_000 - gone.len() });
                }
            }
        }
    }
}
