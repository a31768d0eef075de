//! Finds out whether a file is so fast that write-behind only costs a copy: from this rank's own writes. Ranks need not agree on
//! it, because each rank shows the bytes that it has, whatever the others do.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::engine::policy::learned::FileSystemKey;
use crate::engine::policy::{FAST_BYTES, FAST_WRITES, SLOW_WRITES};
use crate::world::process::own_state;

own_state! {
    /// File systems on which this rank's last file was fast, or not.
    static KEPT: Mutex<BTreeMap<FileSystemKey, bool>> = Mutex::new(BTreeMap::new());
}

/// The speed that the last writes of this rank have shown.
#[derive(Default)]
pub struct FileSpeed {
    is_fast: bool,
    /// Number of writes in a row that were fast, and of their bytes.
    fast: (u32, u64),
    /// Number of writes in a row that were slow.
    slow: u32,
}

impl FileSpeed {
    /// Returns what this rank's last file on a file system has shown. One slow write then shows the contrary.
    pub fn kept(key: FileSystemKey) -> Self {
        let kept = KEPT.with(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied());
        match kept {
            Some(true) => Self { is_fast: true, slow: SLOW_WRITES - 1, ..Self::default() },
            _ => Self::default(),
        }
    }

    /// Keeps this for the next file on a file system; not if `key` is 0.
    pub fn keep(&self, key: FileSystemKey) {
        if key != 0 {
            KEPT.with(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).insert(key, self.is_fast));
        }
    }

    /// Notes a write of `bytes` bytes. `is_slow` is that of [`Pace`](crate::engine::storage::worker::Pace).
    pub fn note(&mut self, bytes: u64, is_slow: bool) {
        if is_slow {
            (self.fast, self.slow) = ((0, 0), self.slow.saturating_add(1));
            self.is_fast &= self.slow < SLOW_WRITES;
            return;
        }
        self.fast = (self.fast.0.saturating_add(1), self.fast.1.saturating_add(bytes));
        if self.fast.0 >= FAST_WRITES || self.fast.1 >= FAST_BYTES {
            (self.is_fast, self.slow) = (true, 0);
        }
    }

    /// Returns true if the file is fast.
    pub fn is_fast(&self) -> bool {
        self.is_fast
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_fast_until_it_is_slow_again() {
        let mut speed = FileSpeed::default();
        (1..FAST_WRITES).for_each(|_| speed.note(10, false));
        speed.note(10, true);
        assert!(!speed.is_fast(), "not in a row");
        (0..FAST_WRITES).for_each(|_| speed.note(10, false));
        assert!(speed.is_fast());
        speed.note(10, true);
        assert!(speed.is_fast(), "one write may wait for others");
        speed.note(10, true);
        assert!(!speed.is_fast());
        speed.note(FAST_BYTES, false);
        assert!(speed.is_fast(), "one long write is enough");
    }

    #[test]
    fn the_next_file_begins_with_what_the_last_one_showed() {
        let mut speed = FileSpeed::default();
        speed.note(FAST_BYTES, false);
        speed.keep(0);
        speed.keep(1 << 60);
        assert!(!FileSpeed::kept(0).is_fast());
        let mut next = FileSpeed::kept(1 << 60);
        assert!(next.is_fast());
        next.note(1, true);
        assert!(!next.is_fast(), "a slow write");
    }
}
