//! The state and copies of one rank in the layer in shared memory, over the rounds of a call.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::access::memory::copy;
use crate::access::pairs::PairCursor;
use crate::access::{Direction, Extent, PackedCursor, Sink, Source};
use crate::drivers::Domains;
use crate::engine::exchange::lists::{Flow, Outflow, RoundQueue};
use crate::engine::exchange::node::places::{InMemory, Messages, Places};
use crate::engine::exchange::node::ring::{MessagePlace, Ring, RingEntry, bytes_at};
use crate::error::{Error, Result};
use crate::exchange::ReceiverIndex;
use crate::exchange::two_layer::{MERGED, MERGED_SHARED, Share, aggregator_at};
use crate::fabric::shared::{GroupMemory, Watch};
use crate::schedule::{Action, Op, Span};
use crate::world;

/// Number of the signal that advances when the local aggregator publishes where a message lies in the ring.
const PUBLISHED: usize = 0;
/// Number of the signal that advances when members have copied all bytes into a message, or out of it.
const COUNTED: usize = 1;

/// The state of one member, or of the local aggregator, over the rounds of a call.
pub struct NodeMember<'a> {
    group: &'a GroupMemory,
    direction: Direction,
    call: u64,
    round: u64,
    /// For each outflow: cursors over the positions of this rank's bytes in the messages.
    places: Vec<Cursors>,
    /// On the local aggregator: the messages that it sends or gets.
    outer: Option<NodeSender<'a>>,
    /// Value of the signal before an operation was found not ready.
    seen: Option<u32>,
    /// Number of bytes that this rank has copied to or from shared memory.
    pub bytes: u64,
}

struct Cursors {
    at: PackedCursor,
    left_out: PackedCursor,
}

/// The messages that a local aggregator sends, or gets.
struct NodeSender<'a> {
    ring: Ring,
    messages: &'a [Messages],
    flows: Vec<UpcomingMessages>,
    round_queue: RoundQueue,
    /// Messages of this round, by index of the aggregator.
    now: BTreeMap<usize, MessagePlace>,
}

/// The cursor over the messages to or from one aggregator.
struct UpcomingMessages {
    flow: Flow,
    left_out: PairCursor,
    /// Number of bytes in all messages before the next one.
    position: u64,
}

impl<'a> NodeMember<'a> {
    /// Starts a call. Called by all members.
    pub fn new(plan: &'a InMemory, direction: Direction, domains: &Domains) -> Self {
        let cursors = |of: &Places| Cursors {
            at: PackedCursor::new(of.at.clone()),
            left_out: PackedCursor::new(of.left_out.clone()),
        };
        let outer = plan.group.leads().then(|| NodeSender::new(plan, domains));
        Self {
            group: &plan.group,
            direction,
            call: plan.group.next_call(),
            round: 0,
            places: plan.places.iter().map(cursors).collect(),
            outer,
            seen: None,
            bytes: 0,
        }
    }

    /// Returns the next round in which the local aggregator sends or gets a message.
    pub fn next_round(&self) -> Option<u64> {
        self.outer.as_ref()?.round_queue.next_round()
    }

    /// Begins a round. Returns the lengths of the messages that the local aggregator sends or gets, ascending by
    /// aggregator; empty on other members.
    pub fn open(&mut self, round: u64, domains: &Domains) -> Vec<Share> {
        self.round = round;
        self.outer.as_mut().map(|outer| outer.open(round, domains)).unwrap_or_default()
    }

    /// Returns true if an operation on shared memory can start: see [`crate::fabric::Memory::is_ready`].
    pub fn is_ready(&mut self, op: &Op) -> bool {
        let ready = match (op.action, op.span.buffer) {
            (Action::Send { .. }, MERGED) => self.is_full(op.span),
            (Action::Copy { from }, _) if from.buffer == MERGED => self.is_full(from),
            (Action::Copy { from }, _) if from.buffer == MERGED_SHARED => self.place(from).is_some(),
            (Action::Receive { .. } | Action::Copy { .. }, MERGED) => self.make_room(op.span),
            (Action::Copy { .. }, MERGED_SHARED) if self.outer.is_some() => self.make_room(op.span),
            (Action::Copy { .. }, MERGED_SHARED) => self.place(op.span).is_some(),
            _ => true,
        };
        if ready { true } else { self.recheck(op) }
    }

    /// Notes the value of the signal after an operation was not ready, and rechecks the operation, which may have become
    /// ready just before.
    fn recheck(&mut self, op: &Op) -> bool {
        if self.seen.is_some() {
            return false;
        }
        self.seen = Some(self.group.signal(self.awaited()).get());
        self.is_ready(op)
    }

    fn awaited(&self) -> usize {
        if self.outer.is_some() { COUNTED } else { PUBLISHED }
    }

    /// Returns the signal that advances when an operation may become ready: see [`crate::fabric::Memory::watch`].
    pub fn watch(&mut self) -> Option<Watch> {
        let seen = self.seen.take()?;
        Some(self.group.watch(self.awaited(), seen))
    }

    fn entry(&self, aggregator: usize) -> &'a RingEntry {
        RingEntry::of(self.group, aggregator)
    }

    /// Returns where the message of a span lies in the ring; `None` until it is published.
    fn place(&self, span: Span) -> Option<MessagePlace> {
        self.entry(aggregator_at(span.offset)).place((self.call, self.round))
    }

    fn is_full(&self, span: Span) -> bool {
        self.place(span).is_some() && self.entry(aggregator_at(span.offset)).is_done()
    }

    /// Makes room in the ring for the message of a span. In a write, publishes where the message lies.
    fn make_room(&mut self, span: Span) -> bool {
        let aggregator = aggregator_at(span.offset);
        let Some(outer) = &mut self.outer else { return true };
        let Some(place) = outer.now.get_mut(&aggregator) else { return true };
        let Some(at) = outer.ring.make_room(self.group, aggregator, place.len) else { return false };
        place.at = at;
        if self.direction == Direction::Write {
            self.publish(aggregator);
        }
        true
    }

    fn publish(&self, aggregator: usize) {
        if let Some(place) = self.outer.as_ref().and_then(|outer| outer.now.get(&aggregator)) {
            self.entry(aggregator).publish((self.call, self.round), *place);
            self.group.signal(PUBLISHED).advance();
        }
    }

    /// Returns the message to an aggregator, which lies in shared memory.
    pub fn message(&mut self, span: Span) -> Bytes {
        let aggregator = aggregator_at(span.offset);
        let Some(outer) = &mut self.outer else { return Bytes::new() };
        let place = outer.now.get(&aggregator).copied();
        place.map(|place| outer.ring.message(self.group, aggregator, place)).unwrap_or_default()
    }

    /// Copies a message from an aggregator into the ring, and publishes where it lies. With an empty message, members get
    /// undefined bytes.
    ///
    /// # Errors
    /// A message that does not have the expected size.
    pub fn arrived(&mut self, span: Span, message: &[u8]) -> Result<()> {
        let aggregator = aggregator_at(span.offset);
        let Some(outer) = &mut self.outer else { return Ok(()) };
        let Some(place) = outer.now.get(&aggregator) else { return Ok(()) };
        if message.len() as u64 != place.len && !message.is_empty() {
            let what = format!("{} bytes arrived where {} were asked for", message.len(), place.len);
            return Err(self.internal(what));
        }
        let to = bytes_at(self.group.memory(), self.group.area(), place.at);
        // SAFETY: room of that size in reserved memory, which no other rank accesses before it is published.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), to, message.len()) };
        outer.ring.hand_out(aggregator);
        self.publish(aggregator);
        Ok(())
    }

    /// Copies this rank's next `bytes` bytes of outflow `id` into the message of `span`.
    ///
    /// # Errors
    /// A position outside of the message.
    pub fn put(&mut self, span: Span, id: usize, bytes: u64, outflow: &mut Outflow, user: Source<'_>) -> Result<()> {
        self.pieces(span, id, bytes, outflow, |to, memory, left_out| {
            if !left_out {
                let from = user.piece(memory.offset, memory.len);
                // SAFETY: `to` has room for these bytes, and only this rank writes them: of bytes that several members
                // have, all but one member leave theirs out.
                unsafe { copy(from.as_ptr(), to, from.len()) };
            }
        })?;
        self.count(span, bytes);
        Ok(())
    }

    /// Copies this rank's next `bytes` bytes of outflow `id` out of the message of `span`.
    ///
    /// # Errors
    /// A position outside of the message.
    pub fn take(&mut self, span: Span, id: usize, bytes: u64, outflow: &mut Outflow, mut user: Sink<'_>) -> Result<()> {
        self.pieces(span, id, bytes, outflow, |from, memory, _| {
            let to = user.piece(memory.offset, memory.len);
            // SAFETY: `from` has these bytes; they do not change before all members have counted theirs.
            unsafe { copy(from, to.as_mut_ptr(), to.len()) };
        })?;
        self.count(span, bytes);
        Ok(())
    }

    fn count(&mut self, span: Span, bytes: u64) {
        self.bytes += bytes;
        if bytes > 0 && self.entry(aggregator_at(span.offset)).count(bytes) {
            self.group.signal(COUNTED).advance();
        }
    }

    /// Calls `part` for each part of this rank's next bytes that is contiguous in the message and in the caller's memory.
    /// `part` gets the address in the message, the extent in the caller's memory, and true if a write leaves the part out.
    fn pieces(
        &mut self,
        span: Span,
        id: usize,
        mut bytes: u64,
        outflow: &mut Outflow,
        mut part: impl FnMut(*mut u8, Extent, bool),
    ) -> Result<()> {
        let (all, mut parts) = (bytes, 0);
        let (Some(place), Some(cursors)) = (self.place(span), self.places.get_mut(id)) else { return Ok(()) };
        let start = bytes_at(self.group.memory(), self.group.area(), place.at);
        while bytes > 0
            && let Some(piece) = cursors.at.take(bytes)
        {
            let from = piece.offset.checked_sub(place.origin);
            let Some(mut from) = from.filter(|from| from + piece.len <= place.len) else {
                let rank = self.group.members()[self.group.me()];
                return Err(Error::internal(rank, "a place outside of its message"));
            };
            let left_out = cursors.left_out.peek().is_some_and(|next| next.offset == piece.offset);
            if left_out {
                cursors.left_out.take(piece.len);
            }
            outflow.memory_pieces(piece.len, |memory| {
                part(start.wrapping_add(from as usize), memory, left_out);
                from += memory.len;
                parts += 1;
            });
            bytes -= piece.len;
        }
        world::work(parts, all);
        Ok(())
    }

    fn internal(&self, what: String) -> Error {
        Error::internal(self.group.members()[self.group.me()], what)
    }
}

impl<'a> NodeSender<'a> {
    fn new(plan: &'a InMemory, domains: &Domains) -> Self {
        let messages = &plan.messages[..];
        let ahead = |of: &Messages| UpcomingMessages {
            flow: Flow::new(of.aggregator, of.file.clone()),
            left_out: PairCursor::default(),
            position: 0,
        };
        let flows: Vec<_> = messages.iter().map(ahead).collect();
        let mut round_queue = RoundQueue::default();
        flows.iter().enumerate().for_each(|(id, ahead)| round_queue.schedule(id, &ahead.flow, domains));
        Self { ring: Ring::new(plan.ring), messages, flows, round_queue, now: BTreeMap::new() }
    }

    fn open(&mut self, round: u64, domains: &Domains) -> Vec<Share> {
        self.now.clear();
        let mut shares = Vec::new();
        for id in self.round_queue.take(round) {
            let UpcomingMessages { flow, left_out, position } = &mut self.flows[id];
            let Some(window) = flow.window(domains) else { continue };
            let len = flow.pass(&window).bytes;
            let left_out = left_out.next(&self.messages[id].left_out).map_or(0, |(_, bytes)| bytes);
            self.now.insert(flow.aggregator(), MessagePlace { at: 0, origin: *position, len, wanted: len + left_out });
            *position += len;
            shares.push(Share { aggregator: ReceiverIndex(flow.aggregator()), len });
            self.round_queue.schedule(id, flow, domains);
        }
        shares
    }
}
