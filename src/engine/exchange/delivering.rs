//! The memory of the rounds of a read: copies the bytes of the aggregator's window into messages, and messages into the
//! caller's buffer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::access::Sink;
use crate::drivers::Window;
use crate::engine::exchange::lists::Outflow;
use crate::engine::exchange::metadata::slot_of;
use crate::engine::exchange::node::NodeMember;
use crate::engine::exchange::rounds::{Rounds, Windows, is_missing, no_memory_of};
use crate::engine::io::window_queue::WindowBuffer;
use crate::error::{Error, Result};
use crate::exchange::two_layer::{MERGED, MERGED_SHARED, Share, aggregator_at};
use crate::fabric::execute::check_whole;
use crate::fabric::shared::Watch;
use crate::fabric::{self, Memory};
use crate::schedule::{Buffer, Op, Span};
use crate::topology::Rank;
use crate::world::clock;

/// A round of a read that is in flight on this rank.
pub struct RoundDelivered {
    /// Number of the round, the same on all ranks.
    pub round: u64,
    /// The messages that this rank receives.
    pub incoming: RoundReceives,
    /// This aggregator's window in this round; `None` if it has none.
    pub window: Option<Window>,
    /// The window's bytes; `None` if reading failed: then zeros are sent, and the agreement reports the error.
    pub buffer: Option<WindowBuffer>,
    /// Time at which the round began.
    pub begin: Instant,
    /// Time that this rank spent in copying.
    pub placement: Duration,
    /// Number of ranks with data in the window, and number of bytes of the file in it.
    pub owned: Option<(usize, u64)>,
    /// First error of a message whose bytes are missing.
    pub error: Option<Error>,
}

/// The memory of the named buffers of the schedules of all rounds in flight in a read.
pub struct Delivering<'r, 'a> {
    pub rank: Rank,
    /// The rounds in flight, in order.
    pub rounds: &'r mut VecDeque<RoundDelivered>,
    /// Index in `rounds` of the round that the next calls access.
    pub turn: usize,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<&'r mut NodeMember<'a>>,
    /// One cursor for each aggregator that this rank gets bytes from.
    pub outflows: &'r mut [Outflow],
    /// The windows of this aggregator, with a cursor for each rank that it sends bytes to.
    pub windows: &'r mut Windows,
    /// The caller's memory.
    pub user: Sink<'r>,
}

/// The messages that one rank receives in one round.
#[derive(Default)]
pub struct RoundReceives {
    /// Indices of the outflows with data in this round.
    pub due: Vec<usize>,
    /// (offset in the receive buffer, index of the outflow, number of bytes), ascending.
    pub parts: Vec<(u64, usize, u64)>,
    /// Number of bytes from each aggregator, ascending by aggregator; 0 from this rank itself.
    pub shares: Vec<Share>,
    /// The outflow from this rank itself before the round, if it is an aggregator.
    pub own: Option<Outflow>,
}

impl Delivering<'_, '_> {
    /// Returns the message with `len` bytes of the window for the source of inflow `id`; an empty one if there is no
    /// memory for it.
    fn message(&mut self, id: usize, len: u64) -> Bytes {
        let round = &self.rounds[self.turn];
        let (Some(window), Some(inflow)) = (&round.window, self.windows.inflow(id)) else { return Bytes::new() };
        inflow.collect(window, round.buffer.as_ref().map(|read| &read.bytes[..]), len)
    }

    /// Notes that a message from `rank` has no bytes, and moves past the bytes of the caller's memory that it was for.
    fn miss(&mut self, rank: Rank, span: Span) {
        let round = &mut self.rounds[self.turn];
        round.error.get_or_insert(no_memory_of(rank, span.len));
        if span.buffer == Buffer::Receive {
            let parts = &round.incoming.parts;
            let parts = &parts[parts.partition_point(|part| part.0 < span.offset)..];
            for &(_, outflow, len) in parts.iter().take_while(|part| part.0 < span.offset + span.len) {
                self.outflows[outflow].skip(len);
            }
        }
    }

    /// Copies the parts of a message for offset `at` of the receive buffer to the caller's memory.
    fn deliver(&mut self, at: u64, mut message: Bytes) -> Result<()> {
        let begin = clock::now();
        let round = &mut self.rounds[self.turn];
        let first = round.incoming.parts.partition_point(|part| part.0 < at);
        for &(_, outflow, len) in &round.incoming.parts[first..] {
            if message.is_empty() {
                break;
            }
            let part = message.split_to((len as usize).min(message.len()));
            if part.len() as u64 != len {
                let what = format!("{} bytes arrived where {len} were asked for", part.len());
                return Err(Error::internal(self.rank, what));
            }
            self.outflows[outflow].scatter(&part, self.user.reborrow());
        }
        round.placement += clock::since(begin);
        Ok(())
    }

    /// Copies this rank's own bytes from its window to the caller's memory.
    fn deliver_own(&mut self, id: usize) {
        let begin = clock::now();
        let round = &mut self.rounds[self.turn];
        let (Some(window), Some(own)) = (&round.window, &mut round.incoming.own) else { return };
        match &round.buffer {
            Some(read) => own.take(window, &read.bytes, self.user.reborrow()),
            // Zeros, as another aggregator would send.
            None => {
                let len = own.file.pass(window).bytes;
                own.clear(len, self.user.reborrow());
            }
        }
        // The announced list has the same bytes: its cursor must pass them too.
        if let Some(inflow) = self.windows.inflow(id) {
            inflow.drop_window(window);
        }
        round.placement += clock::since(begin);
    }

    /// Copies this rank's bytes of an aggregator from the shared memory to the caller's memory.
    fn take_inside(&mut self, from: Span, to: Span) -> Result<()> {
        let begin = clock::now();
        let id = Rounds::outflow_of(self.outflows, aggregator_at(from.offset)).filter(|_| to.len > 0);
        if let (Some(inside), Some(id)) = (&mut self.inside, id) {
            inside.take(from, id, to.len, &mut self.outflows[id], self.user.reborrow())?;
        }
        self.rounds[self.turn].placement += clock::since(begin);
        Ok(())
    }

    fn merged(&mut self, to: Span, merged: &[u8]) -> Result<()> {
        self.inside.as_mut().map_or(Ok(()), |inside| inside.arrived(to, merged))
    }
}

impl Memory for Delivering<'_, '_> {
    fn turn_to(&mut self, schedule: usize) {
        self.turn = schedule;
    }

    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(match span.len {
            0 => Bytes::new(),
            len => self.message(slot_of(span.offset), len),
        })
    }

    fn write(&mut self, from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        if is_missing(span, &message) {
            self.miss(from, span);
        }
        match span.buffer {
            Buffer::Receive if is_missing(span, &message) => Ok(()),
            Buffer::Receive => {
                check_whole(from, span, &message)?;
                self.deliver(span.offset, message)
            }
            _ => self.merged(span, &message),
        }
    }

    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        match (from.buffer, to.buffer) {
            (Buffer::Send, Buffer::Receive) => self.deliver_own(slot_of(from.offset)),
            (Buffer::Send, MERGED) => {
                let message = self.message(slot_of(from.offset), from.len);
                if is_missing(from, &message) {
                    self.miss(self.rank, to);
                }
                self.merged(to, &message)?;
            }
            (MERGED_SHARED, Buffer::Receive) => self.take_inside(from, to)?,
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
