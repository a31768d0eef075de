//! The control words of windows in shared memory: what ranks of a host change while they write and read windows.
//!
//! What different ranks change at a time is on different cache lines.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::engine::policy::windows::PLACES;
use crate::fabric::shared::{Line, MOST_RANKS, shareable};

shareable! {
    /// All control words.
    pub struct Control {
        /// The call.
        pub call: Line<CallControl>,
        /// Each rank, by its index among the ranks that share the memory.
        pub ranks: [Line<RankControl>; MOST_RANKS],
        /// Each window in memory, by its index in the ring.
        pub windows: [Line<WindowControl>; PLACES],
        /// The writers of windows, and the parts of a repeated call.
        pub parts: Line<PartControl>,
    }
}

shareable! {
    /// The state of a call, which ranks that write windows change.
    pub struct CallControl {
        /// Number of bytes of the ring that are reserved; survives the call.
        pub reserved: AtomicU64,
        /// Number of the first window that is not written yet.
        pub unwritten: AtomicU64,
        /// Number of the first window that no rank has taken to write.
        pub taken: AtomicU64,
        /// Number of bytes written by all ranks.
        pub written: AtomicU64,
        /// Time in the file system in microseconds. What several ranks write at a time counts as if they wrote one after
        /// the other, each with its share of the time.
        pub busy: AtomicU64,
        /// Lock for taking windows to write, and for giving them back as written: 1 while a rank holds it. No rank
        /// accesses the file meanwhile.
        pub lock: AtomicU32,
        /// Not 0 if the call must be repeated with one rank after the other.
        pub is_repeated: AtomicU32,
        /// 1 + the rank whose write failed first; 0 without a failure. Later windows are dropped.
        pub failed: AtomicU32,
    }
}

shareable! {
    /// The state of a rank.
    pub struct RankControl {
        /// Number of the first window that the rank may still access.
        pub position: AtomicU64,
        /// Number of the first window that the rank is writing; [`u64::MAX`] if it is not writing.
        pub writing: AtomicU64,
    }
}

shareable! {
    /// The state of a window in memory.
    pub struct WindowControl {
        /// Sum of the hashes of the pieces in the window.
        pub sum: AtomicU64,
        /// In a write, the number of bytes that ranks have copied to the window. In a read, the state of the window's
        /// memory: see [`super::window_reader`].
        pub placed: AtomicU64,
    }
}

shareable! {
    /// The writers of windows, and the parts of a repeated call.
    pub struct PartControl {
        /// In a repeated call: number of the first window of the current part.
        pub part: AtomicU64,
        /// In a repeated call: number of the first window past the current part for which a rank has data.
        pub upcoming: AtomicU64,
        /// Number of ranks that are writing windows.
        pub writers: AtomicU32,
        /// Not 0 if the last write took so long that several ranks write at a time; survives the call.
        pub is_slow: AtomicU32,
    }
}
