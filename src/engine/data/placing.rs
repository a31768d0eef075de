//! The memory of a round of a write: how bytes get into messages, and messages into the window.

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
use crate::engine::two_layer::local_aggregation::{LocalAggregation, LocalRound};
use crate::engine::two_layer::node::NodeMember;
use crate::error::{Error, Result};
use crate::exchange::two_layer::{GATHERED, MERGED, MERGED_SHARED, Share, aggregator_at};
use crate::fabric::execute::check_whole;
use crate::fabric::shared::Watch;
use crate::fabric::{self, Memory};
use crate::schedule::{Buffer, Op, Span};
use crate::topology::Rank;

/// The memory behind the buffers of a round's schedule in a write.
pub struct Placing<'r, 'a> {
    /// This rank.
    pub rank: Rank,
    /// The messages of this rank.
    pub outgoing: &'r RoundSends,
    /// On a local aggregator: the messages of its members in this round.
    pub local_round: LocalRound,
    /// On a local aggregator: the state over all rounds.
    pub local_aggregation: Option<&'r mut LocalAggregation>,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<&'r mut NodeMember<'a>>,
    /// The cursors of the bytes that this rank sends.
    pub outflows: &'r mut [Outflow],
    /// The cursors of the bytes that this aggregator gets.
    pub windows: &'r mut Windows,
    /// The caller's memory.
    pub user: Source<'r>,
    /// This aggregator's window.
    pub window: Option<Window>,
    /// Where the window's bytes go; `None` if they are dropped after an error.
    pub placed: Option<Filling<'r>>,
    /// If sources overlap: the bytes of each inflow, which are placed when all have arrived.
    pub deferred: Option<BTreeMap<usize, Arrived>>,
    /// Time spent in copying.
    pub placement: Duration,
}

/// Where the bytes of a window go.
pub enum Filling<'r> {
    /// Into its memory.
    Memory(&'r mut [u8]),
    /// Nowhere: they are written from where they lie. This rank's own are lent.
    Pieces(&'r mut Vec<PieceOfWindow>, &'r ZeroCopySends<'r>),
}

/// The messages that a rank sends in one round.
#[derive(Default)]
pub struct RoundSends {
    /// The outflows with data in this round.
    pub due: Vec<usize>,
    /// The bytes that had to be packed, one after the other.
    pub packed: Bytes,
    /// The messages by ascending aggregator. They lie one after the other in [`Buffer::Send`].
    pub messages: Vec<RoundMessage>,
    /// The shares by ascending aggregator; the share for this rank itself has length 0.
    pub shares: Vec<Share>,
    /// The outflow to this rank itself.
    pub own: Option<usize>,
}

impl RoundSends {
    /// The bytes of a span of [`Buffer::Send`]: a message, or all that is packed for a local aggregator.
    fn bytes(&self, span: Span) -> Bytes {
        match self.messages.binary_search_by_key(&span.offset, |message| message.start) {
            Ok(at) if self.messages[at].len == span.len => self.messages[at].bytes.clone(),
            _ => self.packed.slice(span.offset as usize..(span.offset + span.len) as usize),
        }
    }
}

/// One of the messages that a rank sends in a round.
pub struct RoundMessage {
    /// The outflow that it is of.
    pub outflow: usize,
    /// To whom it goes.
    pub aggregator: usize,
    /// Where it begins in [`Buffer::Send`].
    pub start: u64,
    /// Number of bytes, above 0.
    pub len: u64,
    /// Its bytes, in the caller's memory or packed; none before they are.
    pub bytes: Bytes,
}

impl RoundMessage {
    /// Whether its bytes have not been packed yet.
    pub fn is_to_pack(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The bytes of an inflow.
pub enum Arrived {
    /// A message.
    Message(Bytes),
    /// This rank's own bytes, which are in the caller's memory.
    Own,
}

impl Placing<'_, '_> {
    /// Copies the bytes of inflow `id` into the window, or defers that if sources overlap.
    fn arrived(&mut self, id: usize, what: Arrived) -> Result<()> {
        if let Some(deferred) = &mut self.deferred {
            // A message may lie in memory that its sender needs for the next one.
            let what = match what {
                Arrived::Message(message) => Arrived::Message(Bytes::copy_from_slice(&message)),
                Arrived::Own => Arrived::Own,
            };
            deferred.insert(id, what);
            return Ok(());
        }
        self.place(id, what)
    }

    /// Copies the deferred bytes into the window by ascending source. Of bytes that several ranks write, the highest rank's
    /// stay in every window, so that no extent is a mixture.
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

    /// Copies this rank's bytes for an aggregator into the shared memory of its node.
    fn put_inside(&mut self, from: Span, to: Span) -> Result<()> {
        let begin = Instant::now();
        let id = Rounds::outflow_of(self.outflows, aggregator_at(to.offset)).filter(|_| from.len > 0);
        if let (Some(inside), Some(id)) = (&mut self.inside, id) {
            inside.put(to, id, from.len, &mut self.outflows[id], self.user)?;
        }
        self.placement += begin.elapsed();
        Ok(())
    }

    /// The merged message at an address of [`MERGED`].
    fn merged(&mut self, span: Span) -> Bytes {
        if let Some(inside) = &mut self.inside {
            return inside.message(span);
        }
        let own = |aggregator: usize| {
            let mut messages = self.outgoing.messages.iter();
            messages.find(|message| message.aggregator == aggregator).map(|message| message.bytes.clone())
        };
        match &mut self.local_aggregation {
            Some(local_aggregation) => local_aggregation.merge(&self.local_round, span.offset, own),
            None => Bytes::new(),
        }
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
            Buffer::Receive if span.len == 0 => Ok(()),
            Buffer::Receive => self.arrived(slot_of(span.offset), Arrived::Message(message)),
            _ => {
                self.local_round.arrived(span, message);
                Ok(())
            }
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
            // Members' shares are merged when the merged message is read.
            (Buffer::Send | GATHERED, MERGED) => {}
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
