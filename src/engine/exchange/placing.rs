//! The memory of the rounds of a write: copies bytes from the caller's buffer into messages, and messages into the
//! aggregator's window.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::access::Source;
use crate::drivers::Window;
use crate::engine::exchange::lists::{Outflow, ZeroCopySends};
use crate::engine::exchange::metadata::slot_of;
use crate::engine::exchange::node::NodeMember;
use crate::engine::exchange::rounds::{Rounds, Windows, is_missing, no_memory_of};
use crate::engine::io::window_queue::WindowBuffer;
use crate::error::{Error, Result};
use crate::exchange::two_layer::{MERGED, MERGED_SHARED, Share, aggregator_at};
use crate::fabric::execute::check_whole;
use crate::fabric::pool::Block;
use crate::fabric::shared::Watch;
use crate::fabric::{self, Memory};
use crate::schedule::{Buffer, Op, Span};
use crate::topology::Rank;
use crate::world::clock;

/// A round of a write that is in flight on this rank.
pub struct RoundPlaced {
    /// Number of the round, the same on all ranks.
    pub round: u64,
    /// The messages that this rank sends.
    pub outgoing: RoundSends,
    /// This aggregator's window in this round; `None` if it has none.
    pub window: Option<Window>,
    /// The memory of the window; `None` if its bytes are dropped after an error.
    pub buffer: Option<WindowBuffer>,
    /// True if the window is written directly from the messages, and from the caller's memory for this rank's own bytes:
    /// they are not copied.
    pub from_pieces: bool,
    /// Received bytes by inflow, if sources overlap: they are placed in rank order when all have arrived. `None` if
    /// sources do not overlap.
    pub deferred: Option<BTreeMap<usize, Arrived>>,
    /// Time at which the round began.
    pub begin: Instant,
    /// Time that this rank spent in copying.
    pub placement: Duration,
    /// Number of ranks with data in the window, and number of bytes of the file in it.
    pub owned: Option<(usize, u64)>,
    /// First error of a message whose bytes are missing: the window is not written.
    pub error: Option<Error>,
}

/// The memory of the named buffers of the schedules of all rounds in flight in a write.
pub struct Placing<'r, 'a> {
    pub rank: Rank,
    /// The rounds in flight, in order.
    pub rounds: &'r mut VecDeque<RoundPlaced>,
    /// Index in `rounds` of the round that the next calls access.
    pub turn: usize,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<&'r mut NodeMember<'a>>,
    /// One cursor for each aggregator that this rank sends bytes to.
    pub outflows: &'r mut [Outflow],
    /// The windows of this aggregator, with a cursor for each rank that it gets bytes from.
    pub windows: &'r mut Windows,
    /// The caller's memory.
    pub user: Source<'r>,
    /// The caller's memory as messages that are not copied, if this is possible.
    pub zero_copy: Option<&'r ZeroCopySends<'r>>,
}

/// The messages that one rank sends in one round.
#[derive(Default)]
pub struct RoundSends {
    /// Indices of the outflows with data in this round.
    pub due: Vec<usize>,
    /// The messages by ascending aggregator. They lie one after the other in [`Buffer::Send`].
    pub messages: Vec<RoundMessage>,
    /// Number of bytes for each aggregator, ascending by aggregator; 0 for this rank itself.
    pub shares: Vec<Share>,
    /// The outflow to this rank itself before the round, if it is an aggregator.
    pub own: Option<Outflow>,
}

impl RoundSends {
    /// Returns the bytes of the message at a span of [`Buffer::Send`].
    fn bytes(&self, span: Span) -> Bytes {
        let found = self.messages.binary_search_by_key(&span.offset, |message| message.start);
        found.map(|at| self.messages[at].bytes.clone()).unwrap_or_default()
    }
}

/// One of the messages that a rank sends in a round.
pub struct RoundMessage {
    /// Index of the outflow whose bytes the message has.
    pub outflow: usize,
    /// Offset of the message in [`Buffer::Send`], in bytes.
    pub start: u64,
    /// Number of bytes, above 0.
    pub len: u64,
    /// Bytes of the message, in the caller's memory or packed; empty until they are packed.
    pub bytes: Bytes,
}

impl RoundMessage {
    /// Returns true if the bytes of the message still have to be packed.
    pub fn is_to_pack(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Bytes that an aggregator got from one source.
pub enum Arrived {
    /// A message from another rank.
    Message(Bytes),
    /// This rank's own bytes, which are still in the caller's memory.
    Own,
}

impl Placing<'_, '_> {
    /// Copies the bytes of inflow `id` into the window, or keeps them for later if sources overlap.
    fn arrived(&mut self, id: usize, what: Arrived) -> Result<()> {
        if let Some(deferred) = &mut self.rounds[self.turn].deferred {
            // Copy the message: its sender may need this memory for the next message.
            let kept = match what {
                Arrived::Message(message) => {
                    let copy = Block::message(message.len() as u64, |copy| copy.copy_from_slice(&message));
                    copy.map_or(Err(message.len() as u64), |copy| Ok(Arrived::Message(copy)))
                }
                Arrived::Own => Ok(Arrived::Own),
            };
            match kept {
                Ok(kept) => drop(deferred.insert(id, kept)),
                Err(len) => self.miss(id, no_memory_of(self.rank, len)),
            }
            return Ok(());
        }
        self.place(id, what)
    }

    /// Notes that the bytes of inflow `id` are missing in the window.
    fn miss(&mut self, id: usize, error: Error) {
        let round = &mut self.rounds[self.turn];
        round.error.get_or_insert(error);
        if let (Some(window), Some(inflow)) = (&round.window, self.windows.inflow(id)) {
            inflow.drop_window(window);
        }
    }

    /// Copies the kept bytes of the first round into its window, by ascending source. If several ranks write the same
    /// bytes, the bytes of the highest rank stay in every window, so that no extent is a mixture.
    ///
    /// # Errors
    /// A message that does not have the announced size.
    pub fn place_deferred(&mut self) -> Result<()> {
        self.turn = 0;
        for (id, what) in self.rounds[0].deferred.take().unwrap_or_default() {
            self.place(id, what)?;
        }
        Ok(())
    }

    fn place(&mut self, id: usize, what: Arrived) -> Result<()> {
        let begin = clock::now();
        let placed = match what {
            Arrived::Message(message) => self.place_message(id, &message),
            Arrived::Own => {
                self.place_own(id);
                Ok(())
            }
        };
        self.rounds[self.turn].placement += clock::since(begin);
        placed
    }

    fn place_message(&mut self, id: usize, message: &Bytes) -> Result<()> {
        let round = &mut self.rounds[self.turn];
        let (Some(window), Some(inflow)) = (&round.window, self.windows.inflow(id)) else { return Ok(()) };
        let fits = match &mut round.buffer {
            Some(buffer) if round.from_pieces => inflow.divide(window, message, &mut buffer.pieces),
            Some(buffer) => inflow.place(window, message, &mut buffer.bytes),
            None => {
                inflow.drop_window(window);
                true
            }
        };
        if fits {
            return Ok(());
        }
        let what = format!("{} bytes from rank {} are not what it announced", message.len(), inflow.source);
        Err(Error::internal(self.rank, what))
    }

    /// Copies this rank's own bytes into the window.
    fn place_own(&mut self, id: usize) {
        let round = &mut self.rounds[self.turn];
        let (Some(window), Some(own)) = (&round.window, &mut round.outgoing.own) else { return };
        match (&mut round.buffer, self.zero_copy) {
            (Some(buffer), Some(zero_copy)) if round.from_pieces => own.divide(window, zero_copy, &mut buffer.pieces),
            (Some(buffer), _) => own.place(window, self.user, &mut buffer.bytes),
            (None, _) => {}
        }
        // The announced list has the same bytes: its cursor must pass them too.
        if let Some(inflow) = self.windows.inflow(id) {
            inflow.drop_window(window);
        }
    }

    /// Copies this rank's bytes for an aggregator into the shared memory of the local aggregator's group.
    fn put_inside(&mut self, from: Span, to: Span) -> Result<()> {
        let begin = clock::now();
        let id = Rounds::outflow_of(self.outflows, aggregator_at(to.offset)).filter(|_| from.len > 0);
        if let (Some(inside), Some(id)) = (&mut self.inside, id) {
            inside.put(to, id, from.len, &mut self.outflows[id], self.user)?;
        }
        self.rounds[self.turn].placement += clock::since(begin);
        Ok(())
    }

    /// Returns the merged message at a span of [`MERGED`].
    fn merged(&mut self, span: Span) -> Bytes {
        self.inside.as_mut().map(|inside| inside.message(span)).unwrap_or_default()
    }
}

impl Memory for Placing<'_, '_> {
    fn turn_to(&mut self, schedule: usize) {
        self.turn = schedule;
    }

    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(match span.buffer {
            MERGED => self.merged(span),
            _ => self.rounds[self.turn].outgoing.bytes(span),
        })
    }

    fn write(&mut self, from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        if is_missing(span, &message) {
            self.miss(slot_of(span.offset), no_memory_of(from, span.len));
            return Ok(());
        }
        check_whole(from, span, &message)?;
        if span.len == 0 { Ok(()) } else { self.arrived(slot_of(span.offset), Arrived::Message(message)) }
    }

    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        match (from.buffer, to.buffer) {
            (Buffer::Send, Buffer::Receive) => self.arrived(slot_of(to.offset), Arrived::Own)?,
            (MERGED, Buffer::Receive) => {
                let message = self.merged(from);
                self.arrived(slot_of(to.offset), Arrived::Message(message))?;
            }
            (Buffer::Send, MERGED_SHARED) => self.put_inside(from, to)?,
            (from, to) => {
                let what = format!("a round copies from {from:?} to {to:?}");
                return Err(Error::internal(self.rank, what));
            }
        }
        Ok(())
    }

    fn is_ready(&mut self, op: &Op) -> bool {
        self.inside.as_mut().is_none_or(|inside| inside.is_ready(op))
    }

    fn watch(&mut self) -> Option<Watch> {
        self.inside.as_mut().and_then(|inside| inside.watch())
    }
}
