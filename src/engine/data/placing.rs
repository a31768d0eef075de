//! The memory of one round of a write: copies bytes from the caller's buffer into messages, and messages into the
//! aggregator's window.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::access::Source;
use crate::drivers::Window;
use crate::engine::data::rounds::Rounds;
use crate::engine::data::windows::Windows;
use crate::engine::lists::flow::Outflow;
use crate::engine::lists::zero_copy::ZeroCopySends;
use crate::engine::metadata::variable_exchange::slot_of;
use crate::engine::storage::buffer::PieceOfWindow;
use crate::engine::two_layer::node::NodeMember;
use crate::error::{Error, Result};
use crate::exchange::two_layer::{MERGED, MERGED_SHARED, Share, aggregator_at};
use crate::fabric::execute::check_whole;
use crate::fabric::shared::Watch;
use crate::fabric::{self, Memory};
use crate::schedule::{Buffer, Op, Span};
use crate::topology::Rank;

/// The memory behind the named buffers of a round's schedule in a write.
pub struct Placing<'r, 'a> {
    /// This rank.
    pub rank: Rank,
    /// The messages that this rank sends.
    pub outgoing: &'r RoundSends,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<&'r mut NodeMember<'a>>,
    /// One cursor for each aggregator that this rank sends bytes to.
    pub outflows: &'r mut [Outflow],
    /// The windows of this aggregator, with a cursor for each rank that it gets bytes from.
    pub windows: &'r mut Windows,
    /// The caller's memory.
    pub user: Source<'r>,
    /// This aggregator's window in this round; `None` if it has none.
    pub window: Option<Window>,
    /// Where the window's bytes go; `None` if they are dropped after an error.
    pub placed: Option<Filling<'r>>,
    /// Received bytes by inflow, if sources overlap: they are placed in rank order when all have arrived. `None` if
    /// sources do not overlap.
    pub deferred: Option<BTreeMap<usize, Arrived>>,
    /// Time that this rank spent in copying.
    pub placement: Duration,
}

/// Where the bytes of a window go.
pub enum Filling<'r> {
    /// They are copied into the memory of the window.
    Memory(&'r mut [u8]),
    /// They are not copied: the window is written directly from the messages, and from the caller's memory for this
    /// rank's own bytes.
    Pieces(&'r mut Vec<PieceOfWindow>, &'r ZeroCopySends<'r>),
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
    /// Index of the outflow to this rank itself, if it is an aggregator.
    pub own: Option<usize>,
}

impl RoundSends {
    /// The message of a span of [`Buffer::Send`].
    fn bytes(&self, span: Span) -> Bytes {
        let found = self.messages.binary_search_by_key(&span.offset, |message| message.start);
        found.map(|at| self.messages[at].bytes.clone()).unwrap_or_default()
    }
}

/// One of the messages that a rank sends in a round.
pub struct RoundMessage {
    /// Index of the outflow whose bytes the message has.
    pub outflow: usize,
    /// Where it begins in [`Buffer::Send`].
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
        if let Some(deferred) = &mut self.deferred {
            // The message may lie in memory that its sender needs for the next message.
            let what = match what {
                Arrived::Message(message) => Arrived::Message(Bytes::copy_from_slice(&message)),
                Arrived::Own => Arrived::Own,
            };
            deferred.insert(id, what);
            return Ok(());
        }
        self.place(id, what)
    }

    /// Copies the kept bytes into the window, by ascending source. If several ranks write the same bytes, the bytes of
    /// the highest rank stay in every window, so that no extent is a mixture.
    ///
    /// # Errors
    /// A message that does not have the announced size.
    pub fn place_deferred(&mut self) -> Result<()> {
        for (id, what) in self.deferred.take().unwrap_or_default() {
            self.place(id, what)?;
        }
        Ok(())
    }

    fn place(&mut self, id: usize, what: Arrived) -> Result<()> {
        let begin = Instant::now();
        let placed = match what {
            Arrived::Message(message) => self.place_message(id, &message),
            Arrived::Own => {
                self.place_own(id);
                Ok(())
            }
        };
        self.placement += begin.elapsed();
        placed
    }

    fn place_message(&mut self, id: usize, message: &Bytes) -> Result<()> {
        let (Some(window), Some(inflow)) = (&self.window, self.windows.inflow(id)) else { return Ok(()) };
        let fits = match &mut self.placed {
            Some(Filling::Memory(bytes)) => inflow.place(window, message, bytes),
            Some(Filling::Pieces(pieces, _)) => inflow.divide(window, message, pieces),
            None => {
                inflow.drop_window(window);
                true
            }
        };
        if fits {
            return Ok(());
        }
        let what = format!("{} bytes from rank {} are not what it announced", message.len(), inflow.source);
        Err(Error::Internal { rank: self.rank, what })
    }

    /// Copies this rank's own bytes into the window.
    fn place_own(&mut self, id: usize) {
        let (Some(window), Some(own)) = (&self.window, self.outgoing.own) else { return };
        let outflow = &mut self.outflows[own];
        match &mut self.placed {
            Some(Filling::Memory(bytes)) => outflow.place(window, self.user, bytes),
            Some(Filling::Pieces(pieces, zero_copy)) => outflow.divide(window, zero_copy, pieces),
            None => drop(outflow.file.pass(window)),
        }
        // The announced list has the same bytes: its cursor must pass them too.
        if let Some(inflow) = self.windows.inflow(id) {
            inflow.drop_window(window);
        }
    }

    /// Copies this rank's bytes for an aggregator into the shared memory of the local aggregator's group.
    fn put_inside(&mut self, from: Span, to: Span) -> Result<()> {
        let begin = Instant::now();
        let id = Rounds::outflow_of(self.outflows, aggregator_at(to.offset)).filter(|_| from.len > 0);
        if let (Some(inside), Some(id)) = (&mut self.inside, id) {
            inside.put(to, id, from.len, &mut self.outflows[id], self.user)?;
        }
        self.placement += begin.elapsed();
        Ok(())
    }

    /// Returns the merged message at a span of [`MERGED`].
    fn merged(&mut self, span: Span) -> Bytes {
        self.inside.as_mut().map(|inside| inside.message(span)).unwrap_or_default()
    }
}

impl Memory for Placing<'_, '_> {
    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(match span.buffer {
            MERGED => self.merged(span),
            _ => self.outgoing.bytes(span),
        })
    }

    fn write(&mut self, from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        check_whole(from, span, &message)?;
        match span.buffer {
            _ if span.len == 0 => Ok(()),
            _ => self.arrived(slot_of(span.offset), Arrived::Message(message)),
        }
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
                return Err(Error::Internal { rank: self.rank, what });
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
