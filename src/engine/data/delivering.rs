//! The memory of one round of a read: copies the bytes of the aggregator's window into messages, and messages into the
//! caller's buffer.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::access::Sink;
use crate::drivers::Window;
use crate::engine::data::rounds::Rounds;
use crate::engine::data::windows::Windows;
use crate::engine::lists::flow::Outflow;
use crate::engine::metadata::variable_exchange::slot_of;
use crate::engine::two_layer::node::NodeMember;
use crate::error::{Error, Result};
use crate::exchange::two_layer::{MERGED, MERGED_SHARED, Share, aggregator_at};
use crate::fabric::execute::check_whole;
use crate::fabric::shared::Watch;
use crate::fabric::{self, Memory};
use crate::schedule::{Buffer, Op, Span};
use crate::topology::Rank;

/// The memory behind the named buffers of a round's schedule in a read.
pub struct Delivering<'r, 'a> {
    /// This rank.
    pub rank: Rank,
    /// The messages that this rank receives.
    pub incoming: &'r RoundReceives,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<&'r mut NodeMember<'a>>,
    /// One cursor for each aggregator that this rank gets bytes from.
    pub outflows: &'r mut [Outflow],
    /// The windows of this aggregator, with a cursor for each rank that it sends bytes to.
    pub windows: &'r mut Windows,
    /// The caller's memory.
    pub user: Sink<'r>,
    /// This aggregator's window in this round; `None` if it has none.
    pub window: Option<Window>,
    /// Bytes of the window; `None` if reading failed: then zeros are sent, and the agreement reports the error.
    pub read: Option<&'r [u8]>,
    /// Time that this rank spent in copying.
    pub placement: Duration,
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
    /// Index of the outflow from this rank itself, if it is an aggregator.
    pub own: Option<usize>,
}

impl Delivering<'_, '_> {
    /// Returns the message with `len` bytes of the window for the source of inflow `id`.
    fn message(&mut self, id: usize, len: u64) -> Bytes {
        let (Some(window), Some(inflow)) = (&self.window, self.windows.inflow(id)) else { return Bytes::new() };
        match self.read {
            Some(read) => inflow.collect(window, read, len),
            None => {
                inflow.drop_window(window);
                Bytes::from(vec![0; len as usize])
            }
        }
    }

    /// Copies the parts of a message for offset `at` of the receive buffer to the caller's memory.
    fn deliver(&mut self, at: u64, mut message: Bytes) -> Result<()> {
        let begin = Instant::now();
        let first = self.incoming.parts.partition_point(|part| part.0 < at);
        for &(_, outflow, len) in &self.incoming.parts[first..] {
            if message.is_empty() {
                break;
            }
            let part = message.split_to((len as usize).min(message.len()));
            if part.len() as u64 != len {
                let what = format!("{} bytes arrived where {len} were asked for", part.len());
                return Err(Error::Internal { rank: self.rank, what });
            }
            self.outflows[outflow].scatter(&part, self.user.reborrow());
        }
        self.placement += begin.elapsed();
        Ok(())
    }

    /// Copies this rank's own bytes from its window to the caller's memory.
    fn deliver_own(&mut self, id: usize) {
        let begin = Instant::now();
        let (Some(window), Some(own)) = (&self.window, self.incoming.own) else { return };
        match self.read {
            Some(read) => self.outflows[own].take(window, read, self.user.reborrow()),
            None => {
                // Deliver zeros, as another aggregator would send.
                let zeros = vec![0; self.outflows[own].file.pass(window).bytes as usize];
                self.outflows[own].scatter(&zeros, self.user.reborrow());
            }
        }
        // The announced list has the same bytes: its cursor must pass them too.
        if let Some(inflow) = self.windows.inflow(id) {
            inflow.drop_window(window);
        }
        self.placement += begin.elapsed();
    }

    /// Copies this rank's bytes of an aggregator from the shared memory to the caller's memory.
    fn take_inside(&mut self, from: Span, to: Span) -> Result<()> {
        let begin = Instant::now();
        let id = Rounds::outflow_of(self.outflows, aggregator_at(from.offset)).filter(|_| to.len > 0);
        if let (Some(inside), Some(id)) = (&mut self.inside, id) {
            inside.take(from, id, to.len, &mut self.outflows[id], self.user.reborrow())?;
        }
        self.placement += begin.elapsed();
        Ok(())
    }

    fn merged(&mut self, to: Span, merged: &[u8]) -> Result<()> {
        self.inside.as_mut().map_or(Ok(()), |inside| inside.arrived(to, merged))
    }
}

impl Memory for Delivering<'_, '_> {
    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(match span.len {
            0 => Bytes::new(),
            len => self.message(slot_of(span.offset), len),
        })
    }

    fn write(&mut self, from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        match span.buffer {
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
                self.merged(to, &message)?;
            }
            (MERGED_SHARED, Buffer::Receive) => self.take_inside(from, to)?,
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
