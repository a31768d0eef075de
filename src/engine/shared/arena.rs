//! The memory of the windows of ranks that share memory: a ring of windows, a bit for every byte, and the position of
//! every rank.
//!
//! Window k of a call has the bytes of the file from `base + k * window` on. It lies at index `k mod ring` of the ring.
//! A rank may access window k when window `k - ring` is finished.

use std::mem::{offset_of, size_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::access::Extent;
use crate::engine::policy::call_windows::{CallWindows, LARGEST_RING, PLACES};
use crate::fabric::shared::{Shared, SharedMemory, Signal};

const LINE: usize = 64;
/// Maximum number of ranks that share the memory.
const RANKS: usize = 1024;
const PAGE: usize = 4096;
/// Number of bytes that are reserved before the first call.
pub const CONTROL: usize = ((2 + RANKS + PLACES) * LINE).next_multiple_of(PAGE);
/// Maximum number of bytes of shared memory for windows and their state.
pub const AREA: usize = CONTROL + LARGEST_RING / 8 + LARGEST_RING;
/// Number of bytes around an accessed byte that a page fault maps.
const AROUND: usize = 64 << 10;

/// Number of the signal that advances when a window was written, read or passed.
pub const PROGRESS: usize = 0;
/// Number of the signal that counts the turns of ranks, if ranks place one after the other.
pub const TURN: usize = 1;

/// Line 0: what ranks that write windows change. This type and the next ones only give places to the integers of a line,
/// so that no two share bytes; ranks access each integer atomically.
#[repr(C)]
struct CallLine {
    _unused: u64,
    lock: u32,
    is_repeated: u32,
    unwritten: u64,
    written: u64,
    failed: u32,
    _also_unused: u32,
    busy: u64,
    reserved: u64,
    taken: u64,
}

/// The line of a rank, one for each place after line 0.
#[repr(C)]
struct RankLine {
    position: u64,
    writing: u64,
}

/// The line of a window in memory, after those of ranks.
#[repr(C)]
struct WindowLine {
    sum: u64,
    placed: u64,
}

/// The last line.
#[repr(C)]
struct PartLine {
    part: u64,
    upcoming: u64,
    writers: u32,
    is_slow: u32,
}

const _: () = assert!(size_of::<CallLine>() <= LINE && size_of::<RankLine>() <= LINE);
const _: () = assert!(size_of::<WindowLine>() <= LINE && size_of::<PartLine>() <= LINE);
/// Numbers of the first line of a rank, of a window in memory, and of the last line.
const RANK_LINES: usize = 1;
const WINDOW_LINES: usize = RANK_LINES + RANKS;
const PART_LINE: usize = WINDOW_LINES + PLACES;
const _: () = assert!((PART_LINE + 1) * LINE <= CONTROL);

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

    fn line(&self, number: usize) -> usize {
        self.shared.area() + number * LINE
    }

    /// Returns the signal with number [`PROGRESS`] or [`TURN`].
    pub fn signal(&self, number: usize) -> Signal<'_> {
        self.shared.signal(number)
    }

    /// Lock for taking windows to write, and for giving them back as written: 1 while a rank holds it. No rank accesses the
    /// file meanwhile.
    pub fn lock(&self) -> &AtomicU32 {
        self.memory().word(self.line(0) + offset_of!(CallLine, lock))
    }

    /// Not 0 if the call must be repeated with one rank after the other.
    pub fn again(&self) -> &AtomicU32 {
        self.memory().word(self.line(0) + offset_of!(CallLine, is_repeated))
    }

    /// Number of the first window that is not written yet.
    pub fn unwritten(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + offset_of!(CallLine, unwritten))
    }

    /// Number of the first window that no rank has taken to write.
    pub fn taken(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + offset_of!(CallLine, taken))
    }

    /// Number of ranks that are writing windows.
    pub fn writers(&self) -> &AtomicU32 {
        self.memory().word(self.line(PART_LINE) + offset_of!(PartLine, writers))
    }

    /// Not 0 if the last write took so long that several ranks write at a time; survives the call.
    pub fn is_slow(&self) -> &AtomicU32 {
        self.memory().word(self.line(PART_LINE) + offset_of!(PartLine, is_slow))
    }

    /// Number of the first window that a rank is writing; [`u64::MAX`] if it is not writing. `place` is the index of the
    /// rank among the ranks that share the memory.
    pub fn writing(&self, place: usize) -> &AtomicU64 {
        self.memory().long(self.line(RANK_LINES + place) + offset_of!(RankLine, writing))
    }

    /// Number of bytes written by all ranks.
    pub fn written(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + offset_of!(CallLine, written))
    }

    /// 1 + the rank whose write failed first; 0 without a failure. Later windows are dropped.
    pub fn failed(&self) -> &AtomicU32 {
        self.memory().word(self.line(0) + offset_of!(CallLine, failed))
    }

    /// Time in the file system in microseconds. What several ranks write at a time counts as if they wrote one after the
    /// other, each with its share of the time.
    pub fn busy(&self) -> &AtomicU64 {
        self.memory().long(self.line(0) + offset_of!(CallLine, busy))
    }

    /// In a repeated call: number of the first window of the current part.
    pub fn part(&self) -> &AtomicU64 {
        self.memory().long(self.line(PART_LINE) + offset_of!(PartLine, part))
    }

    /// In a repeated call: number of the first window behind the current part for which a rank has data.
    pub fn upcoming(&self) -> &AtomicU64 {
        self.memory().long(self.line(PART_LINE) + offset_of!(PartLine, upcoming))
    }

    /// Number of the first window that a rank may still access. `place` is the index of the rank among the ranks that
    /// share the memory.
    pub fn position(&self, place: usize) -> &AtomicU64 {
        self.memory().long(self.line(RANK_LINES + place) + offset_of!(RankLine, position))
    }

    /// Position of this rank, as in [`Arena::position`].
    pub fn own_position(&self) -> &AtomicU64 {
        self.position(self.shared.place())
    }

    /// Sum of the hashes of the pieces in window `number`.
    pub fn sum(&self, windows: &CallWindows, number: u64) -> &AtomicU64 {
        self.memory().long(self.line(WINDOW_LINES + (number % windows.ring) as usize) + offset_of!(WindowLine, sum))
    }

    /// In a write, the number of bytes that ranks have copied to window `number`. In a read, the state of the window's
    /// memory: see [`super::window_reader`].
    pub fn placed(&self, windows: &CallWindows, number: u64) -> &AtomicU64 {
        self.memory().long(self.line(WINDOW_LINES + (number % windows.ring) as usize) + offset_of!(WindowLine, placed))
    }

    /// Returns the number of the first window that not all ranks have passed.
    pub fn passed(&self) -> u64 {
        (0..self.shared.ranks().len()).map(|place| self.position(place).load(Ordering::SeqCst)).min().unwrap_or(0)
    }

    /// Reserves memory for a ring and its bits, and resets the state for a call. The last rank to arrive at the
    /// agreement calls it.
    ///
    /// # Errors
    /// The system has no memory left.
    pub fn prepare(&self, windows: &CallWindows) -> std::io::Result<()> {
        let reserved = self.memory().long(self.line(0) + offset_of!(CallLine, reserved));
        let (have, bytes) = (reserved.load(Ordering::Acquire), windows.bytes());
        if bytes > have {
            let bits = self.shared.area() + CONTROL;
            // Reserve whole words of bits, including the word of the last byte.
            let (from, to) = (have / 64 * 8, bytes.div_ceil(64) * 8);
            self.memory().reserve(bits + from as usize, (to - from) as usize)?;
            self.memory().reserve(bits + LARGEST_RING / 8 + have as usize, (bytes - have) as usize)?;
            reserved.store(bytes, Ordering::Release);
        }
        self.part().store(0, Ordering::Relaxed);
        self.upcoming().store(u64::MAX, Ordering::Relaxed);
        for place in 0..self.shared.ranks().len() {
            self.position(place).store(0, Ordering::Relaxed);
            self.writing(place).store(u64::MAX, Ordering::Relaxed);
        }
        for number in 0..windows.ring {
            self.sum(windows, number).store(0, Ordering::Relaxed);
            self.placed(windows, number).store(0, Ordering::Relaxed);
        }
        self.lock().store(0, Ordering::Relaxed);
        self.writers().store(0, Ordering::Relaxed);
        self.taken().store(0, Ordering::Relaxed);
        self.again().store(0, Ordering::Relaxed);
        self.failed().store(0, Ordering::Relaxed);
        self.unwritten().store(0, Ordering::Relaxed);
        self.written().store(0, Ordering::Relaxed);
        self.busy().store(0, Ordering::Release);
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
        self.memory().longs(self.shared.area() + CONTROL, windows.bytes().div_ceil(64) as usize)
    }
}
