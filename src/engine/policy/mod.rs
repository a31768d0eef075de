//! What decides how a call goes: here every threshold of the engine, with its unit and its reason; in [`itself`] and [`paths`]
//! the rules that use them for pieces and for the path of a call; in [`reason`] what they say of it; in [`decision`] what the
//! ranks are told; in [`window_ring`] the windows in shared memory.
//!
//! Sizes of slots, messages and tables are no thresholds; they are with what they lay out. So are what the hints say
//! (`src/hints`) and what a driver says of its file system.

pub mod decision;
mod itself;
pub mod paths;
pub mod reason;
pub mod window_ring;

// Pieces that a rank writes or reads by itself: sizes are means, in bytes; counts are of one rank.

/// Pieces from so many bytes on go directly: that saves a copy, and a system call costs about as much as so many bytes.
pub const LARGE_PIECE: u64 = 16 << 10;
/// The same in a write of few pieces: a few calls more do not matter.
pub const LARGE_OF_FEW: u64 = 4 << 10;
/// The same for a rank that shares memory and reads before it meets the others. Larger than [`LARGE_PIECE`], since a window is
/// read once for all ranks, in large calls and ahead.
pub const LARGE_TO_READ: u64 = 32 << 10;
/// At most so many pieces are few: a system call for each costs less than messages, or a combine.
pub const FEW_PIECES: u64 = 4;
/// The same where ranks share memory, if in a write every rank has a core of its own, or if windows would be mostly empty. More
/// than [`FEW_PIECES`], since in place of messages that saves whole windows, which only one rank at a time writes.
pub const FEW_BESIDE_WINDOWS: u64 = 8;
/// A rank reads its whole span if the gaps in it are at most this part of it (a quarter).
pub const DENSE_PART: u64 = 4;
/// A rank reads pieces by itself if they are so many bytes apart: most bytes of a window would be read in vain.
pub const FAR_APART: u64 = 8 << 10;
/// Most bytes of windows for each byte of data; beyond, few pieces are written or read directly.
pub const MOSTLY_EMPTY: u64 = 64;
/// Windows are read ahead if at least this part of their bytes (a half) is wanted.
pub const WANTED_PART: u64 = 2;
/// A rank opens a file to write so many bytes or more by itself, also where only aggregators would have to open it.
pub const WORTH_OPENING: u64 = 1 << 20;

// What ranks tell each other at the start of a call, so that the cheaper paths are found.

/// The tiling is computed for at most so many pieces of a rank, as it takes time for each; for pieces that the rank has
/// written directly, always.
pub const MAX_CHECKED_PIECES: u64 = 1024;
/// Most ranges of ranks that are kept; with more, it is not known whether they overlap.
pub const MAX_RANGES: usize = 256;
/// Most bytes of a rank's data, with its extents, that go with the first agreement: a slot has room for them.
pub const SMALL_OF_ONE: u64 = 12 << 10;
/// Most bytes of the data of all ranks in the first agreement, with the extents: rank 0 writes them while all wait.
pub const SMALL_OF_ALL: usize = 56 << 10;
/// Gaps below so many bytes belong to what a host holds: a call on the file costs about what copying so many bytes does. Nobody
/// may write a wider gap together with what is around it (data sieving), because another host may write there.
pub const FOOTPRINT_GAP: u64 = 32 << 10;
/// Most bytes of an encoded cover. A longer one is not known to other hosts.
pub const FOOTPRINT_BYTES: usize = 8 << 10;

/// A message of so many bytes or more is sent from the caller's memory, if it is one piece there. To pack a shorter one costs
/// less than a message with memory of its own.
pub const WORTH_ZERO_COPY: u64 = 4 << 10;

// Calls on the file, and windows; all in bytes but for counts.

/// On a local file system a call costs about what copying so many bytes does.
pub const LOCAL_CALL: u64 = 4 << 10;
/// On one that locks stripes or blocks, about what so many bytes do.
pub const REMOTE_CALL: u64 = 256 << 10;
/// So few runs of a window are written one by one: what is in the gaps may have to come from a disk.
pub const FEW_RUNS: u64 = 16;
/// Most bytes that are packed for one call: they fit in a core's cache.
pub const PACKED_FOR_CALL: usize = 512 << 10;
/// A piece of so many bytes or more is written from, or read into, the caller's memory.
pub const WHOLE_PIECE: u64 = 64 << 10;
/// A full window whose extents have so many bytes or more in the mean is written from the messages for it. To place shorter ones
/// in a window costs less than a part each of a call.
pub const LARGE_IN_WINDOW: u64 = 1 << 10;
/// Most bytes of full windows in shared memory that are one write: the others wait for places meanwhile.
pub const WINDOWS_FOR_CALL: u64 = 8 << 20;
/// Bytes of a window in shared memory, unless the file system locks larger units.
pub const WINDOW: u64 = 1 << 20;
/// The usual size of a ring of windows: it fits in caches, so a window is written and its place reused before it is evicted.
pub const CACHED_RING: u64 = 4 << 20;
/// Fewest windows of a ring, even if they exceed [`CACHED_RING`].
pub const WINDOWS_AHEAD: u64 = 4;

// Plans that are kept for calls with the same access.

/// Most plans of a file: a bit each in the first agreement.
pub const MOST_PLANS: usize = 16;
/// Most extents, of all ranks, of all plans of a file; the last plan is kept in any case. Aggregators keep the lists, mostly a few
/// bytes each.
pub const KEPT_REQUESTS: u64 = 16 << 20;

// Two layers or one, as `auto` predicts it.

/// Bytes of a packed list for each extent, if lists do not compress.
pub const PACKED_EXTENT: f64 = 3.0;
/// Two layers are taken where they save more than this part of the time, by the estimate: it is no better.
pub const WORTH_LAYERING: f64 = 0.15;
/// Extents of a rank that are looked at for the windows that it touches: to look at all takes as long as much of the call.
pub const LOOKED_AT: u64 = 1024;
