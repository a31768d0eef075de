//! The memory of the windows of ranks that share memory: a ring of windows, a bit for every byte, and the position of
//! every rank.
//!
//! Window k of a call has the bytes of the file from `base + k * window` on. It lies at index `k mod ring` of the ring.
//! A rank may access window k when window `k - ring` is finished.
//!
//! The ranks of a host change the control integers ([`Control`]) while they write and read windows. Integers that different
//! ranks change at the same time are on different cache lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::ring::Ring;
use crate::access::Extent;
use crate::engine::choose::windows::{CallWindows, LARGEST_RING, PLACES};
use crate::fabric::shared::{Line, MOST_RANKS, Shared, SharedMemory, Signal, shareable};
use crate::world::waits;

shareable! {
    /// All control integers.
    pub struct Control {
        /// State of the current call.
        pub call: Line<CallControl>,
        /// State of each rank, by its index among the ranks that share the memory.
        pub ranks: [Line<RankControl>; MOST_RANKS],
        /// State of each window in memory, by its index in the ring.
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
        /// Number of calls on the file that wrote windows.
        pub calls: AtomicU64,
        /// Sum of the times of all writes of windows in microseconds.
        pub spent: AtomicU64,
        /// Time in the file system in microseconds. If n ranks write at a time, each of them adds 1/n of the time of its
        /// write.
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
        /// 0, or 1 + the nanoseconds of a call on the file, if the last write or read took so long that several ranks write at a
        /// time; survives the call.
        pub slow: AtomicU64,
    }
}

const PAGE: usize = 4096;
/// Number of bytes that are reserved before the first call.
pub const CONTROL: usize = size_of::<Control>().next_multiple_of(PAGE);
/// Maximum number of bytes of shared memory for windows and their state.
pub const AREA: usize = CONTROL + LARGEST_RING / 8 + LARGEST_RING;
/// Number of bytes around an accessed byte that a page fault maps.
const AROUND: usize = 64 << 10;

/// Number of the signal that advances when a window was written, read or passed.
pub const PROGRESS: usize = 0;
/// Number of the signal that counts the turns of ranks, if ranks place one after the other.
pub const TURN: usize = 1;

/// The shared memory of windows, as one rank sees it.
pub struct Arena {
    shared: Arc<Shared>,
    /// Number of bytes of the ring that this rank has mapped.
    touched: AtomicUsize,
}

impl Arena {
    /// Returns the arena in the shared memory of an endpoint.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, touched: AtomicUsize::new(0) }
    }

    /// Returns the ranks that share the memory.
    pub fn team(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn memory(&self) -> &SharedMemory {
        self.shared.memory()
    }

    #[inline]
    fn control(&self) -> &Control {
        self.memory().get(self.shared.area())
    }

    /// Returns the signal with number [`PROGRESS`] or [`TURN`].
    pub fn signal(&self, number: usize) -> Signal<'_> {
        self.shared.signal(number)
    }

    /// Returns the state of the call.
    #[inline]
    pub fn call(&self) -> &CallControl {
        &self.control().call
    }

    /// Returns the state of the writers of windows, and of the parts of a repeated call.
    #[inline]
    pub fn parts(&self) -> &PartControl {
        &self.control().parts
    }

    /// Returns the nanoseconds of a call on the file, without its bytes, if the last write or read of windows was slow; 0 if they
    /// are unknown.
    pub fn slow_call(&self) -> Option<u64> {
        self.parts().slow.load(Ordering::SeqCst).checked_sub(1)
    }

    /// Returns true if the last write or read of windows was slow.
    pub fn is_slow(&self) -> bool {
        self.slow_call().is_some()
    }

    /// Records whether a write or read of windows was slow: [`Arena::slow_call`].
    pub fn set_slow(&self, nanos: Option<u64>) {
        self.parts().slow.store(nanos.map_or(0, |nanos| nanos.saturating_add(1)), Ordering::SeqCst);
    }

    /// Returns the state of a rank. `place` is its index among the ranks that share the memory.
    #[inline]
    pub fn rank(&self, place: usize) -> &RankControl {
        &self.control().ranks[place]
    }

    /// Returns the state of this rank.
    #[inline]
    pub fn own(&self) -> &RankControl {
        self.rank(self.shared.place())
    }

    /// Returns the state of window `number`.
    #[inline]
    pub fn window(&self, windows: &CallWindows, number: u64) -> &WindowControl {
        &self.control().windows[(number % windows.ring) as usize]
    }

    /// Reserves memory for a ring and its bits, and resets the state for a call. The last rank to arrive at the
    /// agreement calls it.
    ///
    /// # Errors
    /// The system has no memory left.
    pub fn prepare(&self, windows: &CallWindows) -> std::io::Result<()> {
        let (call, parts) = (self.call(), self.parts());
        let (have, bytes) = (call.reserved.load(Ordering::Acquire), windows.bytes());
        if bytes > have {
            let bits = self.shared.area() + CONTROL;
            // Reserve whole integers of bits, including the integer of the last byte.
            let (from, to) = (have / 64 * 8, bytes.div_ceil(64) * 8);
            self.memory().reserve(bits + from as usize, (to - from) as usize)?;
            self.memory().reserve(bits + LARGEST_RING / 8 + have as usize, (bytes - have) as usize)?;
            call.reserved.store(bytes, Ordering::Release);
        }
        parts.part.store(0, Ordering::Relaxed);
        parts.upcoming.store(u64::MAX, Ordering::Relaxed);
        for rank in &self.control().ranks[..self.shared.ranks().len()] {
            rank.position.store(0, Ordering::Relaxed);
            rank.writing.store(u64::MAX, Ordering::Relaxed);
        }
        for window in &self.control().windows[..windows.ring as usize] {
            window.sum.store(0, Ordering::Relaxed);
            window.placed.store(0, Ordering::Relaxed);
        }
        call.lock.store(0, Ordering::Relaxed);
        parts.writers.store(0, Ordering::Relaxed);
        call.taken.store(0, Ordering::Relaxed);
        call.is_repeated.store(0, Ordering::Relaxed);
        call.failed.store(0, Ordering::Relaxed);
        call.unwritten.store(0, Ordering::Relaxed);
        call.written.store(0, Ordering::Relaxed);
        call.calls.store(0, Ordering::Relaxed);
        call.spent.store(0, Ordering::Relaxed);
        call.busy.store(0, Ordering::Release);
        Ok(())
    }

    /// Maps the memory of a window with few page faults before its pieces are copied: reading one byte maps the bytes
    /// around it.
    pub fn touch(&self, windows: &CallWindows, number: u64) {
        let end = ((number % windows.ring + 1) * windows.window) as usize;
        let mut at = self.touched.load(Ordering::Relaxed);
        while at < end {
            // SAFETY: reserved memory of the ring; the value is ignored.
            unsafe { self.ring().add(at).read_volatile() };
            at += AROUND;
        }
        self.touched.store(at, Ordering::Relaxed);
    }

    fn ring(&self) -> *mut u8 {
        self.memory().at(self.shared.area() + CONTROL + LARGEST_RING / 8)
    }

    /// Returns the address of a position of the ring. The rank must be allowed to access the window there.
    #[inline]
    pub fn at(&self, place: u64) -> *mut u8 {
        self.ring().wrapping_add(place as usize)
    }

    /// Returns the bytes of an extent of the file, in windows that are adjacent in the ring.
    ///
    /// # Safety
    /// No rank writes the bytes while the slice is used.
    pub unsafe fn bytes(&self, windows: &CallWindows, extent: Extent) -> &[u8] {
        // SAFETY: within the ring, which is mapped and reserved; the caller's promise.
        unsafe { std::slice::from_raw_parts(self.at(windows.place(extent.offset)), extent.len as usize) }
    }

    /// Returns the bytes of an extent like [`Arena::bytes`], for writing.
    ///
    /// # Safety
    /// No rank accesses the bytes otherwise while the slice is used.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, windows: &CallWindows, extent: Extent) -> &mut [u8] {
        // SAFETY: within the ring, which is mapped and reserved; the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.at(windows.place(extent.offset)), extent.len as usize) }
    }

    /// Returns the map of the bytes of the ring that ranks have copied, by their positions in the ring.
    pub fn present(&self, windows: &CallWindows) -> &[AtomicU64] {
        self.memory().list(self.shared.area() + CONTROL, windows.bytes().div_ceil(64) as usize)
    }
}

impl Ring for Arena {
    type U32 = AtomicU32;
    type U64 = AtomicU64;

    fn ranks(&self) -> usize {
        self.shared.ranks().len()
    }

    fn place(&self) -> usize {
        self.shared.place()
    }

    fn position(&self, place: usize) -> &AtomicU64 {
        &self.rank(place).position
    }

    fn writing(&self, place: usize) -> &AtomicU64 {
        &self.rank(place).writing
    }

    fn taken(&self) -> &AtomicU64 {
        &self.call().taken
    }

    fn unwritten(&self) -> &AtomicU64 {
        &self.call().unwritten
    }

    fn lock(&self) -> &AtomicU32 {
        &self.call().lock
    }

    fn writers(&self) -> &AtomicU32 {
        &self.parts().writers
    }

    fn advance(&self) {
        self.signal(PROGRESS).advance();
    }

    fn yield_core(&self) {
        waits::yield_core();
    }
}
