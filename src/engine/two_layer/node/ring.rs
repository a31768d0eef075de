//! The messages of a local aggregator in shared memory: a ring for their bytes, and an entry for each aggregator that says
//! where the message of which round lies.
//!
//! The local aggregator makes room, and alone knows what is taken. An entry is written only when nobody needs it any more:
//! all members that have bytes in the message before have placed, or taken, them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::fabric::shared::{Group, SharedMemory};

/// Bytes of an entry.
const ENTRY: usize = 64;
/// With more aggregators members send messages.
const AGGREGATORS: usize = 8192;
const TABLE: usize = ENTRY * AGGREGATORS;
/// The most bytes of the ring; a larger message goes another way.
const MOST: usize = 512 << 20;
/// More than this the ring has only for a message that is larger. (Nothing where this crate tests itself: a message often has to
/// wait for room then.)
const USUAL: u64 = if cfg!(test) { 1 } else { 16 << 20 };
/// All that the inner layer may take of the shared memory.
pub const AREA: usize = TABLE + MOST;

/// Bytes of a message as it lies in the ring.
pub fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(ENTRY as u64)
}

/// Takes memory for `aggregators` entries, and for a ring for the `largest` message and up to 16 MiB of what a round needs;
/// its size, or none where that is not to be had. By the local aggregator.
pub fn reserve(group: &Group, aggregators: usize, (largest, round): (u64, u64)) -> Option<usize> {
    let ring = largest.max(round.min(USUAL));
    if aggregators > AGGREGATORS || ring > MOST as u64 {
        return None;
    }
    // New memory is 0; what was reserved before stays as it is.
    group.memory().reserve(group.area(), TABLE.min(aggregators * ENTRY).max(1)).ok()?;
    group.memory().reserve(group.area() + TABLE, (ring as usize).max(1)).ok()?;
    Some(ring as usize)
}

/// What all members know of the message to (or from) one aggregator.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    call: &'a AtomicU64,
    round: &'a AtomicU64,
    at: &'a AtomicU64,
    origin: &'a AtomicU64,
    len: &'a AtomicU64,
    wanted: &'a AtomicU64,
    done: &'a AtomicU64,
}

/// Where a message lies.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// In the ring.
    pub at: usize,
    /// The position of its first byte.
    pub origin: u64,
    /// Bytes.
    pub len: u64,
    /// Bytes of all members: also those that a write leaves out, so that nobody who has bytes here is forgotten.
    pub wanted: u64,
}

impl<'a> Entry<'a> {
    /// That of an aggregator.
    pub fn of(group: &'a Group, aggregator: usize) -> Self {
        let long = |number: usize| group.memory().long(group.area() + aggregator * ENTRY + number * 8);
        Self {
            call: long(0),
            round: long(1),
            at: long(2),
            origin: long(3),
            len: long(4),
            wanted: long(5),
            done: long(6),
        }
    }

    /// Says where the message of a round lies. By the local aggregator.
    pub fn publish(&self, (call, round): (u64, u64), place: Place) {
        self.at.store(place.at as u64, Ordering::Relaxed);
        self.origin.store(place.origin, Ordering::Relaxed);
        self.len.store(place.len, Ordering::Relaxed);
        self.wanted.store(place.wanted, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        // Within a call the round tells them apart, and it is the last to change but for the call.
        self.round.store(round, Ordering::Release);
        self.call.store(call, Ordering::Release);
    }

    /// Where the message of a round lies, once that is known. By a member that has bytes in it and has not counted them: so
    /// the entry stays as it is.
    pub fn place(&self, (call, round): (u64, u64)) -> Option<Place> {
        let known = self.call.load(Ordering::Acquire) == call && self.round.load(Ordering::Acquire) == round;
        known.then(|| Place {
            at: self.at.load(Ordering::Relaxed) as usize,
            origin: self.origin.load(Ordering::Relaxed),
            len: self.len.load(Ordering::Relaxed),
            wanted: self.wanted.load(Ordering::Relaxed),
        })
    }

    /// Counts bytes that this rank has placed (or left out), or taken; whether they were the last.
    pub fn count(&self, bytes: u64) -> bool {
        // Before counting: afterwards the entry may be the next message's.
        let wanted = self.wanted.load(Ordering::Relaxed);
        self.done.fetch_add(bytes, Ordering::AcqRel) + bytes == wanted
    }

    /// Whether all bytes have been placed, or taken.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.wanted.load(Ordering::Relaxed)
    }
}

/// The first byte of a place in the ring.
pub fn bytes_at(memory: &SharedMemory, area: usize, at: usize) -> *mut u8 {
    memory.at(area + TABLE + at)
}

/// A message as it lies in the ring; it keeps its room while it lives.
struct RingMessage {
    memory: Arc<SharedMemory>,
    start: usize,
    len: usize,
    _room: Arc<()>,
}

impl AsRef<[u8]> for RingMessage {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: mapped and reserved; all its bytes have been placed, and nobody writes here before the room is given back.
        unsafe { std::slice::from_raw_parts(self.memory.at(self.start), self.len) }
    }
}

/// Room that is taken.
struct Room {
    aggregator: usize,
    at: usize,
    len: usize,
    held: Held,
}

/// Until when room is taken.
enum Held {
    /// Its message is not complete, or has not arrived.
    Open,
    /// Until the message, which has the other end of this, is gone.
    Sent(Arc<()>),
    /// Until all members have taken their bytes.
    HandedOut,
}

/// The ring, as the local aggregator sees it.
pub struct Ring {
    size: usize,
    /// By place.
    rooms: Vec<Room>,
    /// For whom there was no room: nobody gets any before.
    first: Option<usize>,
}

impl Ring {
    /// Nothing is taken.
    pub fn new(size: usize) -> Self {
        Self { size, rooms: Vec::new(), first: None }
    }

    /// Room for a message of `len` bytes, if there is some and nobody else was first to ask.
    pub fn make_room(&mut self, group: &Group, aggregator: usize, len: u64) -> Option<usize> {
        if self.first.is_some_and(|first| first != aggregator) {
            return None;
        }
        self.rooms.retain(|room| match &room.held {
            Held::Open => true,
            Held::Sent(message) => Arc::strong_count(message) > 1,
            Held::HandedOut => !Entry::of(group, room.aggregator).is_done(),
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
        self.rooms.insert(index, Room { aggregator, at, len, held: Held::Open });
        Some(at)
    }

    /// The message to an aggregator, without a copy: its room is given back when it is dropped.
    pub fn message(&mut self, group: &Group, aggregator: usize, place: Place) -> Bytes {
        let Some(room) = self.rooms.iter_mut().find(|room| room.aggregator == aggregator) else { return Bytes::new() };
        let sent = Arc::new(());
        room.held = Held::Sent(sent.clone());
        let start = group.area() + TABLE + place.at;
        Bytes::from_owner(RingMessage { memory: group.memory().clone(), start, len: place.len as usize, _room: sent })
    }

    /// Members may take their bytes: the room is given back when all have.
    pub fn hand_out(&mut self, aggregator: usize) {
        self.rooms.iter_mut().filter(|room| room.aggregator == aggregator).for_each(|room| room.held = Held::HandedOut);
    }
}
