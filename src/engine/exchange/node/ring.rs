//! The messages of a local aggregator in shared memory: a ring for their bytes, and an entry for each aggregator that
//! says in which round its message is and where it lies.
//!
//! The local aggregator allocates room in the ring. It rewrites an entry only when all members with bytes in the entry's
//! message have copied them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::fabric::shared::{GroupMemory, Line, SharedMemory, shareable};

/// Number of bytes of an entry.
const ENTRY: usize = 64;
/// Maximum number of aggregators, each of which has an entry.
const AGGREGATORS: usize = 8192;
const TABLE: usize = ENTRY * AGGREGATORS;
/// Maximum size of the ring in bytes. (Small in this crate's tests, so that some messages have no room.)
const MOST_ROOM: usize = if cfg!(test) { 1 << 20 } else { 512 << 20 };
/// Usual size of the ring in bytes; it is larger only for a larger message. (Tiny in this crate's tests, so that messages often
/// wait for room.)
const USUAL: u64 = if cfg!(test) { 1 } else { 16 << 20 };
/// Maximum number of bytes of shared memory for the entries and the ring.
pub const AREA: usize = TABLE + MOST_ROOM;

/// Returns the number of bytes that a message of `bytes` bytes takes in the ring.
pub fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(ENTRY as u64)
}

/// Reserves memory for `aggregators` entries, and for a ring with room for the `largest` message and for up to 16 MiB of a
/// round. Returns the size of the ring. Called by the local aggregator.
///
/// # Errors
/// There is no memory, there are too many aggregators, or a message is too large for the ring.
pub fn reserve(group: &GroupMemory, aggregators: usize, (largest, round): (u64, u64)) -> Result<usize> {
    let ring = largest.max(round.min(USUAL));
    let fits = aggregators <= AGGREGATORS && ring <= MOST_ROOM as u64;
    // New memory is 0; memory that was reserved before keeps its contents.
    let has = |at: usize, len: usize| group.memory().reserve(group.area() + at, len.max(1)).is_ok();
    if fits && has(0, aggregators * ENTRY) && has(TABLE, ring as usize) {
        return Ok(ring as usize);
    }
    let what = "messages in memory that the ranks of a node share".to_string();
    Err(Error::NoMemory { rank: group.members()[group.me()], bytes: ring, what })
}

shareable! {
    /// The entry of the message to (or from) one aggregator, in shared memory. It has the call and the round of the message,
    /// its place ([`MessagePlace`]), and the number of its bytes that members have copied or left out.
    pub struct RingEntry {
        call: AtomicU64,
        round: AtomicU64,
        at: AtomicU64,
        origin: AtomicU64,
        len: AtomicU64,
        wanted: AtomicU64,
        done: AtomicU64,
    }
}

const _: () = assert!(size_of::<Line<RingEntry>>() == ENTRY);

/// The place of a message in the ring, and its bytes.
#[derive(Debug, Clone, Copy)]
pub struct MessagePlace {
    /// Offset of the message in the ring, in bytes.
    pub at: usize,
    /// Position of the first byte of the message (see [`super::places`]).
    pub origin: u64,
    /// Number of bytes of the message.
    pub len: u64,
    /// Number of bytes that members have in the message, including bytes that a write leaves out.
    pub wanted: u64,
}

impl RingEntry {
    /// Returns the entry of an aggregator.
    pub fn of(group: &GroupMemory, aggregator: usize) -> &Self {
        group.memory().get::<Line<Self>>(group.area() + aggregator * ENTRY)
    }

    /// Publishes where the message of a round lies. Called by the local aggregator.
    pub fn publish(&self, (call, round): (u64, u64), place: MessagePlace) {
        self.at.store(place.at as u64, Ordering::Relaxed);
        self.origin.store(place.origin, Ordering::Relaxed);
        self.len.store(place.len, Ordering::Relaxed);
        self.wanted.store(place.wanted, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        // Readers check the call and the round, so these are written last.
        self.round.store(round, Ordering::Release);
        self.call.store(call, Ordering::Release);
    }

    /// Returns where the message of a round lies; `None` until it is published. Called by a member that has bytes in
    /// the message and has not counted them yet, so the entry does not change.
    pub fn place(&self, (call, round): (u64, u64)) -> Option<MessagePlace> {
        let known = self.call.load(Ordering::Acquire) == call && self.round.load(Ordering::Acquire) == round;
        known.then(|| MessagePlace {
            at: self.at.load(Ordering::Relaxed) as usize,
            origin: self.origin.load(Ordering::Relaxed),
            len: self.len.load(Ordering::Relaxed),
            wanted: self.wanted.load(Ordering::Relaxed),
        })
    }

    /// Counts bytes that this rank has copied or left out. Returns true if they were the last bytes of the message.
    pub fn count(&self, bytes: u64) -> bool {
        // Read before counting: afterwards the entry may belong to the next message.
        let wanted = self.wanted.load(Ordering::Relaxed);
        self.done.fetch_add(bytes, Ordering::AcqRel) + bytes == wanted
    }

    /// Returns true if all members have copied their bytes.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.wanted.load(Ordering::Relaxed)
    }
}

/// Returns the address of offset `at` of the ring.
pub fn bytes_at(memory: &SharedMemory, area: usize, at: usize) -> *mut u8 {
    memory.at(area + TABLE + at)
}

/// A message in the ring. Dropping it frees its room.
struct RingMessage {
    memory: Arc<SharedMemory>,
    start: usize,
    len: usize,
    _room: Arc<()>,
}

impl AsRef<[u8]> for RingMessage {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: mapped and reserved; all its bytes have been placed, and nobody writes here before the room is freed.
        unsafe { std::slice::from_raw_parts(self.memory.at(self.start), self.len) }
    }
}

/// Room for one message in the ring.
struct Room {
    aggregator: usize,
    at: usize,
    len: usize,
    state: RoomState,
}

/// State of the room of a message.
enum RoomState {
    /// The message is not complete, or has not arrived.
    Open,
    /// The message is being sent; it holds a clone of this value until it is dropped.
    Sent(Arc<()>),
    /// The members are copying their bytes out of the message.
    HandedOut,
}

/// The ring of messages, as the local aggregator sees it.
pub struct Ring {
    size: usize,
    /// Rooms of messages, ascending by offset.
    rooms: Vec<Room>,
    /// Index of the aggregator whose message waits for room; no other message gets room before it.
    first: Option<usize>,
}

impl Ring {
    /// Returns an empty ring of `size` bytes.
    pub fn new(size: usize) -> Self {
        Self { size, rooms: Vec::new(), first: None }
    }

    /// Allocates room for a message of `len` bytes, and returns its offset; `None` if there is no room, or if another
    /// message waits for room.
    pub fn make_room(&mut self, group: &GroupMemory, aggregator: usize, len: u64) -> Option<usize> {
        if self.first.is_some_and(|first| first != aggregator) {
            return None;
        }
        self.rooms.retain(|room| match &room.state {
            RoomState::Open => true,
            RoomState::Sent(message) => Arc::strong_count(message) > 1,
            RoomState::HandedOut => !RingEntry::of(group, room.aggregator).is_done(),
        });
        self.first = Some(aggregator);
        if self.rooms.iter().any(|room| room.aggregator == aggregator) {
            return None;
        }
        let len = rounded(len) as usize;
        let (mut at, mut index) = (0, 0);
        while let Some(room) = self.rooms.get(index)
            && room.at - at < len
        {
            at = room.at + room.len;
            index += 1;
        }
        if at + len > self.size {
            return None;
        }
        self.first = None;
        self.rooms.insert(index, Room { aggregator, at, len, state: RoomState::Open });
        Some(at)
    }

    /// Returns the message to an aggregator, without a copy. Dropping the message frees its room.
    pub fn message(&mut self, group: &GroupMemory, aggregator: usize, place: MessagePlace) -> Bytes {
        let Some(room) = self.rooms.iter_mut().find(|room| room.aggregator == aggregator) else { return Bytes::new() };
        let sent = Arc::new(());
        room.state = RoomState::Sent(sent.clone());
        let start = group.area() + TABLE + place.at;
        Bytes::from_owner(RingMessage { memory: group.memory().clone(), start, len: place.len as usize, _room: sent })
    }

    /// Lets members copy their bytes out; the room is free when all have done so.
    pub fn hand_out(&mut self, aggregator: usize) {
        self.rooms
            .iter_mut()
            .filter(|room| room.aggregator == aggregator)
            .for_each(|room| room.state = RoomState::HandedOut);
    }
}
