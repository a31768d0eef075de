//! The data phase: round by round, exchange, place, write behind.
//!
//! A rank takes part in the rounds for which it has data or owns a window with data, and in no others: rounds follow
//! data, not range (but for [`super::lockstep`]). Rounds are numbered alike everywhere and taken in ascending order, so the lowest round that is not
//! finished anywhere has been reached by all who take part in it, and the exchange cannot deadlock across rounds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::bodies::slot_of;
use super::flow::{Agenda, Outflow};
use super::metadata::Phase;
use super::plan::Plan;
use super::relay::{RelayRound, Relaying};
use super::sink::Sink;
use super::windows::{Opened, Windows};
use super::writer::WindowBuffer;
use crate::collectives::FIRST_FREE_TAG;
use crate::drivers::{Domains, Window};
use crate::error::{Error, Result};
use crate::exchange::Message;
use crate::exchange::two_layer::{GATHERED, MERGED, Share, TwoLayer};
use crate::fabric::{self, Endpoint, Memory, Traffic};
use crate::schedule::{Buffer, ReduceOp, Schedule, Span};
use crate::topology::Rank;

const DATA: u16 = FIRST_FREE_TAG + 2;

/// What the data phase cost this rank.
#[derive(Debug, Default)]
pub struct Tally {
    /// Messages and bytes sent.
    pub traffic: Traffic,
    /// Rounds in which this rank owned a window with data.
    pub windows: u64,
    /// How often this aggregator received from so many ranks in a round (itself included).
    pub fan_in: BTreeMap<u32, u64>,
    /// Time in packing and exchange.
    pub exchange: Duration,
    /// Time in placement.
    pub placement: Duration,
}

impl Tally {
    /// Counts a window that so many ranks have bytes for.
    pub fn opened(&mut self, sources: usize) {
        self.windows += 1;
        *self.fan_in.entry(sources as u32).or_default() += 1;
    }
}

/// The data phase of one rank.
pub struct Rounds<'a> {
    phase: &'a Phase,
    domains: &'a Domains,
    lockstep: Option<&'a [u64]>,
    buffer: &'a [u8],
    outflows: Vec<Outflow>,
    leaving: Agenda,
    windows: Windows,
    relaying: Option<Relaying>,
    tally: Tally,
}

impl<'a> Rounds<'a> {
    /// At the first round of a plan.
    pub fn new(plan: &'a Plan, phase: &'a Phase, buffer: &'a [u8]) -> Self {
        let domains = &plan.domains;
        let own = phase.route.receivers.binary_search(&phase.route.rank).unwrap_or_default();
        let outflow = |o: &super::flatten::Outgoing| Outflow::new(o.aggregator, o.file.clone(), o.memory.clone());
        let outflows: Vec<_> = plan.outgoing.iter().map(outflow).collect();
        let windows = Windows::new(own, plan);
        let mut leaving = Agenda::default();
        outflows.iter().enumerate().for_each(|(id, out)| leaving.file(id, &out.file, domains));
        let relaying = plan.announced.relay.as_ref().map(|relay| Relaying::new(relay, phase.route.rank, domains));
        let tally = Tally::default();
        let lockstep = plan.lockstep.as_deref();
        Self { phase, domains, lockstep, buffer, outflows, leaving, windows, relaying, tally }
    }

    /// Runs all rounds. Windows go to `sink`, which only aggregators need. Collective over the ranks that have data.
    ///
    /// # Errors
    /// The fabric's. A failure to write is no error here: it stays in the sink for the agreement.
    pub async fn run(mut self, endpoint: &mut Endpoint, sink: &mut Option<Sink>) -> Result<Tally> {
        for &round in self.lockstep.unwrap_or_default() {
            self.round(round, endpoint, sink).await?;
        }
        while let Some(round) = self.next_round() {
            self.round(round, endpoint, sink).await?;
        }
        Ok(self.tally)
    }

    fn next_round(&self) -> Option<u64> {
        let relayed = self.relaying.as_ref().and_then(Relaying::next_round);
        [self.leaving.next_round(), self.windows.next_round(), relayed].into_iter().flatten().min()
    }

    async fn round(&mut self, round: u64, endpoint: &mut Endpoint, sink: &mut Option<Sink>) -> Result<()> {
        let opened = self.windows.open(round, self.domains, Buffer::Receive);
        let (window, overlap) = opened.as_ref().map_or((None, false), |opened| (Some(opened.window), opened.overlap));
        let (mut buffer, receives) = self.make_room(opened, sink).await;
        let begin = Instant::now();
        let outgoing = self.pack(round);
        let relay = self.relaying.as_mut().map(|relaying| relaying.round(round, self.domains)).unwrap_or_default();
        let schedule = self.schedule(&outgoing, &relay, &receives);
        let mut memory = RoundMemory {
            rank: self.phase.route.rank,
            packed: outgoing.packed,
            starts: outgoing.starts,
            own: outgoing.own,
            relay,
            relaying: self.relaying.as_mut(),
            outflows: &mut self.outflows,
            windows: &mut self.windows,
            user: self.buffer,
            window,
            placed: buffer.as_mut().map(|buffer| &mut buffer.bytes[..]),
            held: overlap.then(BTreeMap::new),
            placement: Duration::ZERO,
        };
        let traffic = endpoint.run(schedule, &mut memory, DATA).await?;
        memory.place_held()?;
        let placement = memory.placement;
        self.tally.traffic += traffic;
        self.tally.placement += placement;
        self.tally.exchange += begin.elapsed().saturating_sub(placement);
        for id in outgoing.due {
            self.leaving.file(id, &self.outflows[id].file, self.domains);
        }
        if let (Some(window), Some(buffer), Some(sink)) = (window, buffer, sink) {
            sink.submit(window, buffer);
        }
        Ok(())
    }

    /// A buffer for the window, if its bytes are wanted, and what will arrive for it.
    async fn make_room(
        &mut self,
        opened: Option<Opened>,
        sink: &mut Option<Sink>,
    ) -> (Option<WindowBuffer>, Vec<Message>) {
        let Some(opened) = opened else { return (None, Vec::new()) };
        self.tally.opened(opened.messages.len());
        let Some(sink) = sink else { return (None, opened.messages) };
        let Some(coverage) = opened.coverage else {
            sink.no_memory(opened.window.len());
            return (None, opened.messages);
        };
        let mut buffer = sink.buffer(opened.window.len()).await;
        if let Some(buffer) = &mut buffer {
            self.windows.recycle(std::mem::replace(&mut buffer.coverage, coverage));
        }
        (buffer, opened.messages)
    }

    /// Collects what this rank sends in the round, message after message. What it has for itself stays in the caller's
    /// buffer, unless it goes through a local aggregator.
    fn pack(&mut self, round: u64) -> Outgoing {
        let mut out = Outgoing { due: self.leaving.take(round), ..Outgoing::default() };
        let mut packed = Vec::new();
        let me = self.phase.route.rank;
        for &id in &out.due {
            let outflow = &mut self.outflows[id];
            let aggregator = outflow.file.aggregator();
            let Some(window) = outflow.file.window(self.domains) else { continue };
            if self.phase.local.is_none() && self.phase.route.receivers[aggregator] == me {
                out.own = Some(id);
                out.shares.push(Share { aggregator, len: 0 });
                continue;
            }
            out.starts.push((packed.len() as u64, aggregator));
            let len = outflow.pack(&window, self.buffer, &mut packed);
            out.shares.push(Share { aggregator, len });
        }
        out.packed = packed.into();
        out
    }

    fn schedule(&self, outgoing: &Outgoing, relay: &RelayRound, receives: &[Message]) -> Schedule {
        let route = &self.phase.route;
        let Some(local) = &self.phase.local else {
            let mut at = 0;
            let place = |share: &Share| {
                at += share.len;
                Message { peer: share.aggregator, span: Span::new(Buffer::Send, at - share.len, share.len) }
            };
            return route.schedule(&outgoing.shares.iter().map(place).collect::<Vec<_>>(), receives);
        };
        let two_layer = TwoLayer {
            rank: route.rank,
            ranks: route.ranks,
            receivers: &route.receivers,
            rank_list: &route.rank_list,
            local_aggregator: local.aggregator_of(route.rank),
            own: &outgoing.shares,
            members: &relay.members,
            receives,
        };
        two_layer.schedule(route.kernel, route.throttle, route.throttle)
    }
}

/// What a rank sends in one round.
#[derive(Default)]
struct Outgoing {
    /// The outflows with data in this round.
    due: Vec<usize>,
    /// The messages' bytes, one after the other.
    packed: Bytes,
    /// Where each message begins in `packed`, and its aggregator.
    starts: Vec<(u64, usize)>,
    /// By ascending aggregator; a share of this rank itself has length 0.
    shares: Vec<Share>,
    /// The outflow to this rank itself.
    own: Option<usize>,
}

/// What stands behind the buffers of a round's schedule.
struct RoundMemory<'r> {
    rank: Rank,
    packed: Bytes,
    starts: Vec<(u64, usize)>,
    own: Option<usize>,
    relay: RelayRound,
    relaying: Option<&'r mut Relaying>,
    outflows: &'r mut [Outflow],
    windows: &'r mut Windows,
    user: &'r [u8],
    window: Option<Window>,
    /// Where to place; none when the window's bytes are not wanted any more.
    placed: Option<&'r mut [u8]>,
    /// Where sources overlap: what came of each inflow, until all is there.
    held: Option<BTreeMap<usize, Arrived>>,
    placement: Duration,
}

/// What an inflow brought.
enum Arrived {
    Message(Bytes),
    /// It is this rank's own; the bytes are in the caller's buffer.
    Own,
}

impl RoundMemory<'_> {
    /// Puts what came of inflow `id` where it belongs; or keeps it, where the order matters.
    fn arrived(&mut self, id: usize, what: Arrived) -> Result<()> {
        if let Some(held) = &mut self.held {
            held.insert(id, what);
            return Ok(());
        }
        self.place(id, what)
    }

    /// Places what was kept by ascending source: of bytes that several ranks write, the highest rank's stay, in every
    /// window alike, so that no extent is ever a mixture.
    fn place_held(&mut self) -> Result<()> {
        for (id, what) in self.held.take().unwrap_or_default() {
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
            Some(placed) => inflow.place(window, message, placed),
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

    /// Places what this rank has for itself.
    fn place_own(&mut self, id: usize) {
        let (Some(window), Some(own)) = (&self.window, self.own) else { return };
        if let Some(placed) = &mut self.placed {
            self.outflows[own].place(window, self.user, placed);
        } else {
            self.outflows[own].file.pass(window);
        }
        // The announced list stands for the same bytes.
        if let Some(inflow) = self.windows.inflow(id) {
            inflow.drop_window(window);
        }
    }

    /// The merged message at an address of [`MERGED`].
    fn merged(&mut self, at: u64) -> Bytes {
        let own = |aggregator: usize| {
            let index = self.starts.iter().position(|(_, a)| *a == aggregator)?;
            let end = self.starts.get(index + 1).map_or(self.packed.len() as u64, |next| next.0);
            Some(self.packed.slice(self.starts[index].0 as usize..end as usize))
        };
        match &mut self.relaying {
            Some(relaying) => relaying.deal(&self.relay, at, own),
            None => Bytes::new(),
        }
    }
}

impl Memory for RoundMemory<'_> {
    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(match span.buffer {
            MERGED => self.merged(span.offset),
            _ => self.packed.slice(span.offset as usize..(span.offset + span.len) as usize),
        })
    }

    fn write(&mut self, _from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        match span.buffer {
            Buffer::Receive if span.len == 0 => Ok(()),
            Buffer::Receive => self.arrived(slot_of(span.offset), Arrived::Message(message)),
            _ => {
                self.relay.arrived(span.offset, message);
                Ok(())
            }
        }
    }

    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        match (from.buffer, to.buffer) {
            (Buffer::Send, Buffer::Receive) => self.arrived(slot_of(to.offset), Arrived::Own)?,
            (MERGED, Buffer::Receive) => {
                let message = self.merged(from.offset);
                self.arrived(slot_of(to.offset), Arrived::Message(message))?;
            }
            // Members' shares are dealt out when the merged message is read.
            (Buffer::Send | GATHERED, MERGED) => {}
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
}
