//! Chooses the path of the bytes of a call: pure functions of values that all ranks agree on. This file has every threshold
//! of the engine, with its unit and reason.
//!
//! | module | holds |
//! |---|---|
//! | [`rules`] | the rules that choose the path of a call, and the pieces that a rank writes or reads before the ranks agree
//! |
//! | [`windows`] | divides the file into windows |
//! | [`layers`] | one layer of messages or two, by predicted cost |
//! | [`learned`] | what was learned from earlier calls |
//! | [`cost`] | the expected times of ways to move bytes, from what was measured |
//!
//! Sizes of slots, messages and tables are no thresholds; they are defined beside the code that uses them. The hints
//! are in `src/hints`, and the properties of file systems in the drivers.

use std::time::Duration;

pub mod cost;
pub mod layers;
pub mod learned;
pub mod rules;
pub mod windows;

// Pieces that a rank writes or reads by itself. Sizes are means of one rank's pieces, in bytes; counts are of one rank.

/// Minimum size of pieces that a rank writes or reads directly. This saves a copy of the piece; the additional system call
/// costs about as much as copying this number of bytes.
pub const LARGE_PIECE: u64 = 16 << 10;
/// Minimum size of pieces that a rank writes directly if they are few: a few more system calls do not matter.
pub const LARGE_OF_FEW: u64 = 4 << 10;
/// Minimum size of pieces that a rank that shares memory reads directly before the ranks agree. Larger than
/// [`LARGE_PIECE`], because a window is read once for all ranks, in large calls and ahead.
pub const LARGE_TO_READ: u64 = 32 << 10;
/// Maximum number of pieces that count as few: a system call for each costs less than messages or an agreement.
pub const FEW_PIECES: u64 = 4;
/// Maximum number of pieces that count as few if ranks share memory: in a write if every rank has a core of its own, or
/// if windows would be mostly empty. Larger than [`FEW_PIECES`], because direct I/O then saves whole windows, which
/// only one rank at a time writes.
pub const FEW_BESIDE_WINDOWS: u64 = 8;
/// A rank reads its whole range if the gaps are at most 1 / `DENSE_PART` of it (a quarter).
pub const DENSE_PART: u64 = 4;
/// Minimum distance in bytes between pieces that a rank reads by itself: most bytes of a window would be read for no rank.
pub const FAR_APART: u64 = 8 << 10;
/// Maximum number of window bytes for each byte of data; above it, few pieces are written or read directly.
pub const MOSTLY_EMPTY: u64 = 64;
/// Windows are read ahead if ranks want at least 1 / `WANTED_PART` of their bytes (a half).
pub const WANTED_PART: u64 = 2;
/// Minimum number of bytes for which a rank opens a file to write by itself, although only aggregators would have to
/// open it.
pub const WORTH_OPENING: u64 = 1 << 20;

// Limits of what ranks send each other at the start of a call, so that cheaper paths are found.

/// Maximum number of pieces of a rank that are hashed for the tiling, because each takes time. Pieces that the rank has
/// written directly are always hashed.
pub const MAX_CHECKED_PIECES: u64 = 1024;
/// Maximum number of ranges of ranks in a message; with more, the ranks do not know whether ranges overlap.
pub const MAX_RANGES: usize = 256;
/// Maximum number of bytes of a rank's data, with its extents, that go with the first agreement: a slot has room for
/// them.
pub const SMALL_OF_ONE: u64 = 15 << 10;
/// Maximum number of bytes of the data of all ranks, with the extents, that go with the first agreement in messages:
/// rank 0 writes them while all ranks wait. (In shared memory they stay in the slots.)
pub const SMALL_OF_ALL: usize = 56 << 10;
/// Gaps below this number of bytes belong to the footprint of a host: a call on the file costs about as much as copying this
/// number of bytes. A host must not write a wider gap together with the bytes around it (data sieving), because another host
/// may write there.
pub const FOOTPRINT_GAP: u64 = 32 << 10;
/// Maximum number of bytes of an encoded footprint. A longer one is sent as unknown.
pub const FOOTPRINT_BYTES: usize = 8 << 10;

/// Minimum length in bytes of a message that is sent from the caller's memory without a copy, if it is contiguous there.
/// Copying a shorter message into a block with others costs less than a message of its own.
pub const WORTH_ZERO_COPY: u64 = 4 << 10;

// Calls on the file, and windows. All are in bytes, except counts.

/// Cost of a call on a local file system: about as much as copying this number of bytes.
pub const LOCAL_CALL: u64 = 4 << 10;
/// Cost of a call on a file system that locks stripes or blocks: about as much as copying this number of bytes.
pub const REMOTE_CALL: u64 = 256 << 10;
/// Runs whose calls cost no more than this number of usual calls are always written one by one if their gaps would have to be
/// read: such a read may need a disk.
pub const FEW_RUNS: u64 = 16;
/// The file system is asked which bytes of gaps have data if that may save this number of calls, so that a useless answer
/// costs little. Where the file has data, as many bytes as these calls cost are read before the next question.
pub const WORTH_ASKING: u64 = 4;
/// Maximum number of parts with data that the file system is asked for in a group of runs. Then the rest is read.
pub const PARTS_READ: usize = 4;
/// Runs with gaps between them are buffered one by one if that takes the file at most this many times as long as one write of
/// the runs with their gaps, before the call ends.
pub const WORTH_LEAVING: u64 = 2;
/// Minimum budget of write-behind for each rank, in bytes: with less, calls would wait for every piece.
pub const LEAST_BUDGET: u64 = 1 << 20;
/// Number of fast writes in a row after which a rank writes at once, although write-behind is automatic: a copy into memory
/// costs more than it saves.
pub const FAST_WRITES: u32 = 4;
/// Number of bytes in fast writes in a row that have the effect of [`FAST_WRITES`].
pub const FAST_BYTES: u64 = 1 << 20;
/// Number of slow writes in a row after which a rank that writes at once returns to buffering. A single slow write may have
/// waited for another rank.
pub const SLOW_WRITES: u32 = 2;
/// Maximum number of bytes that are packed for one call on the file: they fit in a core's cache.
pub const PACKED_FOR_CALL: usize = 512 << 10;
/// Minimum length in bytes of a piece that is not packed, but written from, or read into, the caller's memory.
pub const WHOLE_PIECE: u64 = 64 << 10;
/// Minimum mean length in bytes of the extents of a full window that is written directly from its messages. Copying a shorter
/// extent into a window costs less than an entry for it in a vectored write.
pub const LARGE_IN_WINDOW: u64 = 1 << 10;
/// Maximum number of bytes of full windows in shared memory that are one write: other windows wait for their memory
/// meanwhile.
pub const WINDOWS_FOR_CALL: u64 = 8 << 20;
/// Maximum number of ranks of a host that write windows in shared memory at a time, if the file is slow.
pub const MOST_WRITERS: u32 = 4;
/// A file is slow if a write of windows takes more than this number of nanoseconds for each byte: copying takes far less.
pub const SLOW_FILE: u64 = 4;
/// A file is slow only if a write of windows takes longer than this.
pub const SLOW_WRITE: Duration = Duration::from_millis(1);
/// Size of a window in shared memory in bytes, unless the file system locks larger units.
pub const WINDOW: u64 = 1 << 20;
/// Number of bytes that the ranks of a host fill windows with in a nanosecond. It decides only how many windows of a slow file
/// there are, so it need not be accurate.
pub const COPIED: u64 = 1;
/// Usual size of a ring of windows in bytes: the ring fits in caches, so a window is written and its memory reused
/// before it is evicted.
pub const CACHED_RING: u64 = 4 << 20;
/// Minimum number of windows of a ring, even if they exceed [`CACHED_RING`].
pub const WINDOWS_AHEAD: u64 = 4;

/// Number of windows of an aggregator in the first exchange of a file. With several windows, filling, sending and writing
/// overlap in time, except in the first window and the last.
pub const WINDOWS_IN_CALL: u64 = 32;
/// Minimum size of a window in the first exchange of a file, in bytes: what a call on a file over a network costs.
pub const LEAST_EXCHANGED: u64 = REMOTE_CALL;
/// Minimum mean size of a message in the first exchange of a file, in bytes, if every sender has bytes in every window: where
/// ranks share cores, a message costs about as much as copying this number of bytes.
pub const MESSAGE_IN_WINDOW: u64 = 32 << 10;

/// Maximum number of rounds with long messages that are in flight on a rank at the same time. A long message is sent
/// only after its receiver has answered, so the end of a round leaves links idle. On links of 25 MB/s, messages of
/// 256 KiB take 2.0 times as long as the links need if rounds follow one another, and 1.2 times with four at a time.
pub const ROUNDS_AHEAD: usize = 4;
/// Minimum length of a long message in bytes, if every rank has bytes in every window. Shorter ones are sent at once;
/// more rounds of them at a time would only delay the first window.
pub const LONG_MESSAGE: u64 = 64 << 10;

// Learning from exchanges, for the next ones.

/// Minimum size of a window that follows from measured times, in bytes.
pub const LEAST_LEARNED: u64 = 128 << 10;
/// Time that a message takes of a core, on its sender and its receiver, in nanoseconds. It decides only between many
/// windows and fewer, so it need not be accurate.
pub const MESSAGE_NANOS: u64 = 4_000;
/// Windows change only if that saves 1 / `WORTH_CHANGING` of the predicted time: a change makes all kept plans useless.
pub const WORTH_CHANGING: u64 = 16;
/// An aggregator is slow if it spends more than `SLOW_TIMES` / 2 times the mean time of the others in the file, in two
/// calls one after the other.
pub const SLOW_TIMES: u64 = 3;
/// An aggregator is slow in a single call if it spends this many times the mean time of the others in the file.
pub const CLEARLY_SLOW: u64 = 3;
/// Minimum time of a call in microseconds from which the next calls learn: shorter times are mostly noise, and little can be
/// gained.
pub const WORTH_LEARNING: u64 = 20_000;
/// Minimum number of bytes of each aggregator in a call from which the next calls learn.
pub const LEARNED_FROM: u64 = 1 << 20;
/// Minimum number of bytes of each aggregator in a write that is divided in two, if no call has shown yet whether an
/// aggregator is slow. The division costs an agreement, lists in two messages, and a window in which file and links wait for
/// each other; this is little compared with the time of such a write.
pub const WORTH_DIVIDING: u64 = 64 << 20;
/// The first part of a divided write is 1 / `FIRST_PART` of the write, but at least [`LEARNED_FROM`] bytes of each
/// aggregator.
pub const FIRST_PART: u64 = 32;

// Expected times of ways to move bytes.

/// Nanoseconds of a call on a file and of each of its bytes, before any was measured: a local file system.
pub const PRIOR_FILE: (f64, f64) = (5_000.0, 0.5);
/// Nanoseconds that an aggregator takes for each byte in messages, before any exchange: 1 GB/s.
pub const PRIOR_EXCHANGE: f64 = 1.0;
/// A choice changes if the other way is expected to be this many times as fast, in two calls one after the other.
pub const GAIN_OF_CHANGE: f64 = 1.15;
/// A choice changes to a way that was not measured yet if that is expected to be this many times as fast.
pub const GAIN_OF_TRIAL: f64 = 1.5;
/// A choice changes in the first call in which the other way is expected to be this many times as fast.
pub const CHANGE_AT_ONCE: f64 = 2.0;
/// Minimum number of calls on an unknown file, of one host or of one rank, from which one more is made before them and measured.
pub const WORTH_PROBING: u64 = 16;
/// Maximum number of bytes that are written to measure the speed of a file: about one run of a host.
pub const PROBED: u64 = 64 << 10;

// Plans that are kept for calls with the same access.

/// Maximum number of plans kept for a file. Each takes one bit of the first agreement.
pub const MOST_PLANS: usize = 16;
/// Maximum number of extents, of all ranks, in all kept plans of a file; the last plan is always kept. Aggregators keep
/// the lists, mostly a few bytes for each extent.
pub const KEPT_REQUESTS: u64 = 16 << 20;

// The choice of `auto` between one and two layers of messages.

/// Assumed number of bytes of a packed list for each extent, if lists do not compress.
pub const PACKED_EXTENT: f64 = 3.0;
/// Minimum part of the time that two layers must save, by the estimate, to be chosen: the estimate is not more accurate.
pub const WORTH_LAYERING: f64 = 0.15;
/// Maximum number of extents of a rank that are examined to count the windows that it touches: examining all would take
/// as long as much of the call.
pub const LOOKED_AT: u64 = 1024;
