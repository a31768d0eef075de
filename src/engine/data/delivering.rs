//! A round of a read in memory: what the schedule's buffers are, how a window's bytes get into messages and messages into
//! the caller's memory.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::access::Sink;
use crate::drivers::Window;
use crate::engine::data::flow::Outflow;
use crate::engine::data::rounds::Rounds;
use crate::engine::data::windows::Windows;
use crate::engine::metadata::variable_exchange::slot_of;
use crate::engine::two_layer::gather_tree::Passing;
use crate::engine::two_layer::local_aggregation::{LocalAggregation, LocalRound};
use crate::engine::two_layer::node::Inside;
use crate::error::{Error, Result};
use crate::exchange::two_layer::{GATHERED, HELD, MERGED, PASSED, Share, aggregator_at};
use crate::fabric::execute::check_whole;
use crate::fabric::shared::Watch;
use crate::fabric::{self, Memory};
use crate::schedule::{Buffer, Op, ReduceOp, Span};
use crate::topology::Rank;

/// What stands behind the buffers of a round's schedule in a read.
pub struct Delivering<'r, 'a> {
    /// This rank.
    pub rank: Rank,
    /// What it gets.
    pub incoming: &'r RoundReceives,
    /// What it relays.
    pub relay: LocalRound,
    /// How.
    pub relaying: Option<&'r mut LocalAggregation>,
    /// What passes through it inside the node.
    pub passing: Passing,
    /// The same where its node shares memory.
    pub inside: Option<&'r mut Inside<'a>>,
    /// What it gets, as cursors.
    pub outflows: &'r mut [Outflow],
    /// What it hands out, as cursors.
    pub windows: &'r mut Windows,
    /// The caller's memory.
    pub user: Sink<'r>,
    /// This aggregator's window.
    pub window: Option<Window>,
    /// Its bytes; none if reading has failed: zeros go out, and the agreement says why.
    pub read: Option<&'r [u8]>,
    /// Time spent in placing.
    pub placement: Duration,
}

/// What a rank gets in one round.
#[derive(Default)]
pub struct RoundReceives {
    /// The outflows with data in this round.
    pub due: Vec<usize>,
    /// (address in the receive buffer, outflow, bytes), ascending.
    pub parts: Vec<(u64, usize, u64)>,
    /// By ascending aggregator; a share of this rank itself has length 0.
    pub shares: Vec<Share>,
    /// The outflow from this rank itself.
    pub own: Option<usize>,
}

impl Delivering<'_, '_> {
    /// The message to the source of inflow `id`.
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

    /// Puts a message for address `at` where its parts belong in the caller's memory.
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

    /// Takes what this rank has for itself straight from its window.
    fn deliver_own(&mut self, id: usize) {
        let begin = Instant::now();
        let (Some(window), Some(own)) = (&self.window, self.incoming.own) else { return };
        match self.read {
            Some(read) => self.outflows[own].take(window, read, self.user.reborrow()),
            None => {
                // As from any other aggregator.
                let zeros = vec![0; self.outflows[own].file.pass(window).bytes as usize];
                self.outflows[own].scatter(&zeros, self.user.reborrow());
            }
        }
        // The announced list stands for the same bytes.
        if let Some(inflow) = self.windows.inflow(id) {
            inflow.drop_window(window);
        }
        self.placement += begin.elapsed();
    }

    /// Takes what this rank wants of an aggregator out of the memory of its node.
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
        match &mut self.inside {
            Some(inside) => inside.arrived(to, merged),
            None => match &mut self.relaying {
                Some(relaying) => relaying.split(&mut self.relay, to.offset, merged),
                None => Ok(()),
            },
        }
    }

    /// A share that came through this rank as its own local aggregator.
    fn deliver_relayed(&mut self, at: u64) -> Result<()> {
        let part = self.incoming.parts.iter().find(|part| part.0 == at);
        let (Some(&(_, outflow, _)), Some(relaying)) = (part, &self.relaying) else { return Ok(()) };
        let bytes = relaying.own_part(&self.relay, self.outflows[outflow].file.aggregator());
        self.deliver(at, bytes)
    }
}

impl Memory for Delivering<'_, '_> {
    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(match span.buffer {
            GATHERED => self.relay.message(span),
            PASSED => self.passing.get(span.offset, span.len),
            _ if span.len == 0 => Bytes::new(),
            _ => self.message(slot_of(span.offset), span.len),
        })
    }

    fn write(&mut self, from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        match span.buffer {
            Buffer::Receive => {
                check_whole(from, span, &message)?;
                self.deliver(span.offset, message)
            }
            PASSED => {
                self.passing.put(span.offset, message);
                Ok(())
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
            (HELD, Buffer::Receive) => self.take_inside(from, to)?,
            (PASSED, Buffer::Receive) => {
                let own = self.passing.get(from.offset, from.len);
                self.deliver(to.offset, own)?;
            }
            (MERGED, Buffer::Receive) => self.deliver_relayed(to.offset)?,
            // Shares are put together when a member's message is read.
            (MERGED, GATHERED) => {}
            (from, to) => {
                let what = format!("a round copies from {from:?} to {to:?}");
                return Err(Error::Internal { rank: self.rank, what });
            }
        }
        Ok(())
    }

    fn reduce(&mut self, _from: Span, _to: Span, _with: ReduceOp) -> Result<()> {
        Err(Error::Internal { rank: self.rank, what: "a round reduces nothing".to_string() })
    }

    fn is_ready(&mut self, op: &Op) -> bool {
        self.inside.as_mut().is_none_or(|inside| inside.is_ready(op))
    }

    fn watch(&mut self) -> Option<Watch> {
        self.inside.as_mut().and_then(|inside| inside.watch())
    }
}
