//! Decides whether collective writes may buffer bytes, and how many; and finds out, from this rank's own writes,
//! whether a file is so fast that write-behind only costs a copy. Ranks need not agree on that, because each rank shows
//! the bytes that it has, whatever the others do.

use std::collections::BTreeMap;
use std::sync::{Mutex, Once, PoisonError};

use nix::unistd::{SysconfVar, sysconf};
use tributary_base::wire;

use crate::drivers::FileSystem;
use crate::engine::choose::learned::FileSystemKey;
use crate::engine::choose::{FAST_BYTES, FAST_WRITES, LEAST_BUDGET, SLOW_WRITES};
use crate::engine::io::{Storage, calls};
use crate::topology::Rank;
use crate::world::process::{own_state, per_process};

/// Who sees the locks of a rank on parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenLocks {
    /// Nobody: the file system has no such locks.
    None,
    /// The ranks of its host, as far as is known.
    OnHost,
    /// All ranks.
    Everywhere,
}

wire::fields!(enum SeenLocks { 0 None, 1 OnHost, 2 Everywhere, });

impl SeenLocks {
    /// Returns who sees the locks on an open file of a file system. Takes one for a moment.
    pub fn on(found: Option<FileSystem>, file: &dyn Storage) -> Self {
        let is_regular = calls::size(file).is_ok_and(|size| size < u64::MAX);
        match is_regular && calls::hold(file, 0, 0..1).and_then(|()| calls::hold(file, 0, 0..0)).is_ok() {
            false => Self::None,
            true if found.is_some_and(|found| found.shares_locks()) => Self::Everywhere,
            true => Self::OnHost,
        }
    }

    /// Returns why ranks of one host, or of `several`, cannot buffer bytes.
    pub fn why_not(self, several: bool) -> Option<&'static str> {
        match self {
            Self::None => Some("the file has no locks on its parts (F_OFD_SETLK)"),
            Self::OnHost if several => Some("locks on this file system may hold on one host only"),
            Self::OnHost | Self::Everywhere => None,
        }
    }
}

/// Returns the budget of each rank for `trib_write_behind=each`: 0, which means off, or at least [`LEAST_BUDGET`]. Rank
/// 0 prints a line, once in a process, if that is more than `each`.
pub fn usable_budget(each: u64, rank: Rank) -> u64 {
    per_process! {
        static SAID: Once = Once::new();
    }
    if each == 0 || each >= LEAST_BUDGET {
        return each;
    }
    if rank == 0 {
        SAID.call_once(|| {
            crate::say(format_args!(
                "trib_write_behind={each} is taken as {LEAST_BUDGET} bytes for each rank, the minimum"
            ));
        });
    }
    LEAST_BUDGET
}

/// Returns the budget of each of `ranks` ranks of this host for `trib_write_behind=auto`.
pub fn automatic_budget(ranks: usize) -> u64 {
    let of = |name| sysconf(name).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
    share(of(SysconfVar::_PHYS_PAGES).saturating_mul(of(SysconfVar::PAGE_SIZE)), ranks)
}

/// Returns the budget of each of `ranks` ranks of a host with `memory` bytes.
fn share(memory: u64, ranks: usize) -> u64 {
    (memory / 16 / ranks.max(1) as u64).min(256 << 20)
}

/// Limits of the bytes that a rank buffers.
#[derive(Debug, Clone, Copy)]
pub struct WriteBehindLimits {
    /// Maximum number of bytes in its memory.
    pub bytes: u64,
    /// Maximum number of threads that write at a time.
    pub threads: u32,
    /// Key of the file system, if the rank writes at once where the file is fast; `None` if it buffers bytes anyway.
    pub adapts_on: Option<FileSystemKey>,
}

own_state! {
    /// True for a file system on which this rank's last file was fast, by key.
    static KEPT: Mutex<BTreeMap<FileSystemKey, bool>> = Mutex::new(BTreeMap::new());
}

/// The speed of the last writes of this rank.
#[derive(Default)]
pub struct FileSpeed {
    is_fast: bool,
    /// Number of writes in a row that were fast, and of their bytes.
    fast: (u32, u64),
    /// Number of writes in a row that were slow.
    slow: u32,
}

impl FileSpeed {
    /// Returns the speed of this rank's last file on a file system. One slow write is then enough to make the file
    /// slow.
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

    /// Notes a write of `bytes` bytes. `is_slow` comes from [`Pace`](crate::engine::io::worker::Pace).
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
    fn ranks_of_a_host_share_a_sixteenth_of_its_memory() {
        const GIB: u64 = 1 << 30;
        for (memory, ranks, budget) in [(GIB, 1, GIB / 16), (16 * GIB, 4, 256 << 20), (16 * GIB, 8, 128 << 20)] {
            assert_eq!(share(memory, ranks), budget, "{memory} bytes, {ranks} ranks");
        }
        for none in [share(0, 4), share(GIB, usize::MAX)] {
            assert_eq!(none, 0, "no write-behind without memory");
        }
        assert!((1..=256 << 20).contains(&automatic_budget(2)), "{}", automatic_budget(2));
    }

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
