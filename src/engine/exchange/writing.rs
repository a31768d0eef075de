//! The rounds of a write: ranks pack and exchange messages, and aggregators place them in windows, which helper threads
//! write.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::access::{Direction, Source};
use crate::engine::exchange::lists::ZeroCopySends;
use crate::engine::exchange::placing::{Placing, RoundMessage, RoundPlaced, RoundSends};
use crate::engine::exchange::plan::Plan;
use crate::engine::exchange::rounds::{DATA, Opened, Rounds};
use crate::engine::io::window_queue::{WindowBuffer, WindowQueue};
use crate::engine::io::worker::Task;
use crate::engine::trace::counts::DataCounts;
use crate::engine::trace::watchdog::{CallStage, StallWatchdog};
use crate::error::Result;
use crate::exchange::two_layer::Share;
use crate::exchange::{ReceiverIndex, Transfer};
use crate::fabric::pool::Block;
use crate::fabric::{Endpoint, InFlight, Traffic};
use crate::schedule::{Buffer, Schedule};
use crate::topology::Rank;
use crate::world::clock;

/// State of one rank in the data phase of a write.
pub struct Writing<'a> {
    at: Rounds<'a>,
    source: Source<'a>,
    zero_copy: Option<&'a ZeroCopySends<'a>>,
    sends_in_place: bool,
    /// The rounds in flight, in order.
    rounds: VecDeque<RoundPlaced>,
    /// The window of the next round, if it has been opened.
    opened: Option<(u64, Opened)>,
}

impl<'a> Writing<'a> {
    /// Starts the data phase of a plan. With `times`, records the times of rounds in which this rank owns a window.
    pub fn new(plan: &'a Plan, source: Source<'a>, watchdog: &'a StallWatchdog, times: bool) -> Self {
        let at = Rounds::new(plan, Direction::Write, watchdog, times);
        Self { at, source, zero_copy: None, sends_in_place: false, rounds: VecDeque::new(), opened: None }
    }

    /// Writes pieces from the caller's memory, and sends messages from there if the endpoint supports it. (With two layers,
    /// members copy their bytes into shared memory.)
    pub fn with_zero_copy(mut self, zero_copy: Option<&'a ZeroCopySends<'a>>, endpoint: &Endpoint) -> Self {
        self.zero_copy = zero_copy.filter(|_| self.at.inside.is_none());
        self.sends_in_place = endpoint.sends_in_place();
        self
    }

    /// Runs all rounds. Aggregators write windows through `queue`. Collective over the ranks that have data.
    ///
    /// # Errors
    /// Errors of the message transport. A failure to write stays in the queue for the agreement, and a lack of memory for a
    /// message stays in the counts.
    pub async fn run(mut self, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<DataCounts> {
        if let Err(error) = self.run_rounds(endpoint, queue).await {
            // If the error ends the job, end it here, before the memory of messages in flight is freed.
            return endpoint.waiting().failure().settle(Err(error));
        }
        self.at.counts.in_memory = self.at.inside.map_or(0, |inside| inside.bytes);
        Ok(self.at.counts)
    }

    async fn run_rounds(&mut self, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<()> {
        let mut flight = endpoint.flight(DATA);
        loop {
            while let Some(round) = self.next_round(&flight, queue) {
                let schedule = self.open(round, queue).await;
                flight.start(schedule);
            }
            if flight.is_empty() {
                return Ok(());
            }
            let mut memory = Placing {
                rank: self.at.rank(),
                rounds: &mut self.rounds,
                turn: 0,
                inside: self.at.inside.as_mut(),
                outflows: &mut self.at.outflows,
                windows: &mut self.at.windows,
                user: self.source,
                zero_copy: self.zero_copy,
            };
            if let Some(traffic) = endpoint.advance(&mut flight, &mut memory).await? {
                memory.place_deferred()?;
                self.close(traffic, queue);
            }
        }
    }

    /// Returns the next round, if it may start now: no round is in flight, or the next one may overlap those in flight.
    fn next_round(&mut self, flight: &InFlight, queue: &mut Option<WindowQueue>) -> Option<u64> {
        let opened = self.opened.as_ref().map(|(round, _)| *round);
        let round = opened.into_iter().chain(self.at.next_round()).min()?;
        if flight.is_empty() {
            return Some(round);
        }
        let overlaps = |round: &RoundPlaced| round.deferred.is_some();
        if !self.at.may_run_ahead(flight) || self.rounds.iter().any(overlaps) {
            return None;
        }
        if self.at.windows.next_round() == Some(round) {
            if queue.as_mut().is_some_and(|queue| !queue.has_room()) {
                return None;
            }
            self.opened = self.at.windows.open(round, self.at.domains, Buffer::Receive).map(|opened| (round, opened));
        }
        let waits = self.opened.as_ref().is_some_and(|(at, opened)| *at == round && opened.overlap);
        (!waits).then_some(round)
    }

    /// Opens a round: makes room for this aggregator's window and packs this rank's messages. Returns the round's
    /// schedule.
    async fn open(&mut self, round: u64, queue: &mut Option<WindowQueue>) -> Schedule {
        let opened = match self.opened.take_if(|(at, _)| *at == round) {
            Some((_, opened)) => Some(opened),
            None => self.at.windows.open(round, self.at.domains, Buffer::Receive),
        };
        let (window, overlap) = opened.as_ref().map_or((None, false), |opened| (Some(opened.window), opened.overlap));
        let zero_copy = self.zero_copy.filter(|_| opened.as_ref().is_some_and(Opened::is_written_from_pieces));
        let owned = opened.as_ref().map(|opened| (opened.messages.len(), opened.window.len()));
        let start = window.map(|window| window.start);
        self.at.go_on(CallStage::Storage(round, start));
        let (buffer, receives) = self.make_room(opened, zero_copy.is_none(), queue).await;
        self.at.go_on(CallStage::Round(round, start));
        let begin = clock::now();
        let outgoing = self.send(round);
        let schedule = self.at.schedule(round, &outgoing.shares, &receives);
        self.rounds.push_back(RoundPlaced {
            round,
            outgoing,
            window,
            buffer,
            from_pieces: zero_copy.is_some(),
            deferred: overlap.then(BTreeMap::new),
            begin,
            placement: Duration::ZERO,
            owned,
            error: None,
        });
        schedule
    }

    /// Ends the first round in flight: its window is written, unless bytes of it are missing.
    fn close(&mut self, traffic: Traffic, queue: &mut Option<WindowQueue>) {
        let Some(RoundPlaced { round, outgoing, window, buffer, begin, placement, owned, error, .. }) =
            self.rounds.pop_front()
        else {
            return;
        };
        self.at.counts.exchanged(round, begin, (traffic, placement), owned);
        if self.at.inside.is_some() {
            self.at.reschedule(&outgoing.due);
        }
        if let (Some(window), Some(mut buffer), Some(queue)) = (window, buffer, queue) {
            if error.is_some() {
                buffer.pieces.clear();
                queue.give_back(buffer);
            } else {
                buffer.pieces.sort_unstable_by_key(|piece| piece.position);
                queue.submit(Task::Write, window, buffer);
            }
        }
        self.at.counts.error = self.at.counts.error.take().or(error);
    }

    /// Returns a buffer for the window, and the messages for the window. The buffer has memory if `needs` is true. There is
    /// no buffer if the bytes are dropped after an error.
    async fn make_room(
        &mut self,
        opened: Option<Opened>,
        needs: bool,
        queue: &mut Option<WindowQueue>,
    ) -> (Option<WindowBuffer>, Vec<Transfer<Rank>>) {
        let Some(opened) = opened else { return (None, Vec::new()) };
        self.at.counts.opened(opened.messages.len());
        let Some(queue) = queue else { return (None, opened.messages) };
        let Some(coverage) = opened.coverage else {
            queue.no_memory(opened.window.len());
            return (None, opened.messages);
        };
        let mut buffer = queue.buffer(if needs { opened.window.len() } else { 0 }).await;
        if let Some(buffer) = &mut buffer {
            self.at.windows.recycle(std::mem::replace(&mut buffer.coverage, coverage));
        }
        (buffer, opened.messages)
    }

    /// Makes the messages that this rank sends in the round. Bytes for this rank itself stay in the caller's memory,
    /// unless they go through a local aggregator. Bytes that go through shared memory or are sent without a copy also
    /// stay there.
    fn send(&mut self, round: u64) -> RoundSends {
        let mut out = RoundSends { due: self.at.leaving.take(round), ..RoundSends::default() };
        let mut start = 0;
        for &id in &out.due {
            let aggregator = self.at.outflows[id].file.aggregator();
            let stays = self.at.stays(aggregator);
            let outflow = &mut self.at.outflows[id];
            let Some(window) = outflow.file.window(self.at.domains) else { continue };
            if stays {
                out.own = Some(outflow.clone());
                let len = outflow.file.pass(&window).bytes;
                outflow.skip(len);
                out.shares.push(Share { aggregator: ReceiverIndex(aggregator), len: 0 });
                continue;
            }
            let len = outflow.file.pass(&window).bytes;
            out.shares.push(Share { aggregator: ReceiverIndex(aggregator), len });
            if self.at.inside.is_none() {
                let lent = self
                    .zero_copy
                    .filter(|_| self.sends_in_place)
                    .and_then(|zero_copy| zero_copy.message_in_place(outflow.whole(len)?));
                outflow.skip(if lent.is_some() { len } else { 0 });
                out.messages.push(RoundMessage { outflow: id, start, len, bytes: lent.unwrap_or_default() });
                start += len;
            }
        }
        self.pack(&mut out);
        if self.at.inside.is_none() {
            self.at.reschedule(&out.due);
        }
        out
    }

    /// Packs the messages that are not sent without a copy into one block. If there is no memory for the block, these
    /// messages stay empty, and their receivers report the error ([`crate::engine::exchange::rounds::no_memory_of`]).
    fn pack(&mut self, out: &mut RoundSends) {
        let to_pack = || out.messages.iter().filter(|message| message.is_to_pack());
        let (outflows, source) = (&mut self.at.outflows, self.source);
        let packed = Block::message(to_pack().map(|message| message.len).sum(), |mut rest| {
            to_pack().for_each(|message| outflows[message.outflow].pack(message.len, source, &mut rest));
        });
        let Ok(mut rest) = packed else {
            return to_pack().for_each(|message| outflows[message.outflow].skip(message.len));
        };
        for message in out.messages.iter_mut().filter(|message| message.is_to_pack()) {
            message.bytes = rest.split_to(message.len as usize);
        }
    }
}
