//! The rounds of a read: aggregators read windows ahead, ranks exchange messages, and each rank copies its bytes to the
//! caller's memory.
//!
//! Every round runs the transpose of the schedule that a write of the same access would run: aggregators send and ranks
//! receive, under the same kernel and throttle. While one window is exchanged, the next ones are read from the file.

use std::collections::VecDeque;
use std::time::Duration;

use crate::access::{Direction, Sink};
use crate::engine::exchange::delivering::{Delivering, RoundDelivered, RoundReceives};
use crate::engine::exchange::plan::Plan;
use crate::engine::exchange::rounds::{DATA, Opened, Rounds};
use crate::engine::io::window_queue::{WindowBuffer, WindowQueue};
use crate::engine::io::worker::Task;
use crate::engine::trace::counts::DataCounts;
use crate::engine::trace::watchdog::{CallStage, StallWatchdog};
use crate::error::{Error, Result};
use crate::exchange::ReceiverIndex;
use crate::exchange::two_layer::Share;
use crate::fabric::{Endpoint, InFlight, Traffic};
use crate::schedule::{Buffer, Schedule};
use crate::world::clock;

/// State of one rank in the data phase of a read.
pub struct Reading<'a> {
    at: Rounds<'a>,
    sink: Sink<'a>,
    /// Windows of this aggregator whose reads have begun, in order; after an error they are not read.
    ahead: VecDeque<WindowAhead>,
    /// The rounds in flight, in order.
    rounds: VecDeque<RoundDelivered>,
}

struct WindowAhead {
    round: u64,
    opened: Opened,
    submitted: bool,
}

impl<'a> Reading<'a> {
    /// Starts the data phase of a plan. With `times`, records the times of rounds in which this rank owns a window.
    pub fn new(plan: &'a Plan, sink: Sink<'a>, watchdog: &'a StallWatchdog, times: bool) -> Self {
        let (ahead, rounds) = Default::default();
        Self { at: Rounds::new(plan, Direction::Read, watchdog, times), sink, ahead, rounds }
    }

    /// Runs all rounds. Aggregators read windows through `queue`. Collective over the ranks that want data.
    ///
    /// # Errors
    /// Errors of the message transport. A failure to read stays in the queue for the agreement, and a lack of memory for a
    /// message stays in the counts. The bytes delivered are then undefined.
    pub async fn run(mut self, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<DataCounts> {
        let mut flight = endpoint.flight(DATA);
        loop {
            while let Some(round) = self.next_round(&flight, queue).await {
                let schedule = self.open(round, flight.is_empty(), queue).await?;
                flight.start(schedule);
            }
            if flight.is_empty() {
                break;
            }
            let mut memory = Delivering {
                rank: self.at.rank(),
                rounds: &mut self.rounds,
                turn: 0,
                inside: self.at.inside.as_mut(),
                outflows: &mut self.at.outflows,
                windows: &mut self.at.windows,
                user: self.sink.reborrow(),
            };
            if let Some(traffic) = endpoint.advance(&mut flight, &mut memory).await? {
                self.close(traffic, queue);
            }
        }
        self.at.counts.in_memory = self.at.inside.map_or(0, |inside| inside.bytes);
        Ok(self.at.counts)
    }

    /// Returns the next round, if it may start now: no round is in flight, or the next one may overlap those in flight.
    async fn next_round(&mut self, flight: &InFlight, queue: &mut Option<WindowQueue>) -> Option<u64> {
        let opened = self.ahead.front().map(|ahead| ahead.round);
        let round = opened.into_iter().chain(self.at.next_round()).min()?;
        if flight.is_empty() {
            return Some(round);
        }
        if !self.at.may_run_ahead(flight) {
            return None;
        }
        self.look_ahead(queue, false).await;
        let is_read = match (self.ahead.front(), queue) {
            (Some(ahead), Some(queue)) if ahead.round == round => !ahead.submitted || queue.has_read(),
            _ => self.at.windows.next_round() != Some(round),
        };
        is_read.then_some(round)
    }

    /// Opens a round: takes this aggregator's window, if it has one, and returns the round's schedule. `is_only` is
    /// true if no other round is in flight.
    async fn open(&mut self, round: u64, is_only: bool, queue: &mut Option<WindowQueue>) -> Result<Schedule> {
        self.at.go_on(CallStage::Storage(round, None));
        let (opened, buffer) = self.take_window(round, is_only, queue).await;
        self.at.go_on(CallStage::Round(round, opened.as_ref().map(|opened| opened.window.start)));
        let begin = clock::now();
        let owned = opened.as_ref().map(|opened| (opened.messages.len(), opened.window.len()));
        let messages = opened.as_ref().map_or(&[][..], |opened| &opened.messages);
        let incoming = self.expect(round);
        let schedule = self.at.schedule(round, &incoming.shares, messages);
        let rank = self.at.rank();
        let schedule = schedule.transposed(self.at.phase.route.kernel.mode);
        let schedule = schedule.ok_or_else(|| Error::internal(rank, "a round reduces"))?;
        let window = opened.map(|opened| opened.window);
        self.rounds.push_back(RoundDelivered {
            round,
            incoming,
            window,
            buffer,
            begin,
            placement: Duration::ZERO,
            owned,
            error: None,
        });
        Ok(schedule)
    }

    /// Ends the first round: its window is free for another read.
    fn close(&mut self, traffic: Traffic, queue: &mut Option<WindowQueue>) {
        let Some(RoundDelivered { round, incoming, buffer, begin, placement, owned, error, .. }) =
            self.rounds.pop_front()
        else {
            return;
        };
        self.at.counts.error = self.at.counts.error.take().or(error);
        self.at.counts.exchanged(round, begin, (traffic, placement), owned);
        if self.at.inside.is_some() {
            self.at.reschedule(&incoming.due);
        }
        if let (Some(mut window), Some(queue)) = (buffer, queue) {
            self.at.windows.recycle(std::mem::take(&mut window.coverage));
            queue.give_back(window);
        }
    }

    /// Returns this aggregator's window of `round`, if it has one, and the bytes of the window, if they could be read.
    /// Starts to read the next windows; `is_only` is true if no window is in use.
    async fn take_window(
        &mut self,
        round: u64,
        is_only: bool,
        queue: &mut Option<WindowQueue>,
    ) -> (Option<Opened>, Option<WindowBuffer>) {
        self.look_ahead(queue, is_only).await;
        if self.ahead.front().is_none_or(|ahead| ahead.round != round) {
            return (None, None);
        }
        let Some(ahead) = self.ahead.pop_front() else { return (None, None) };
        self.at.counts.opened(ahead.opened.messages.len());
        let window = match queue {
            Some(queue) if ahead.submitted => queue.read().await,
            _ => None,
        };
        self.look_ahead(queue, false).await;
        (Some(ahead.opened), window)
    }

    /// Starts to read windows until no buffer is free. If `one` is true, waits for a buffer for the first window.
    async fn look_ahead(&mut self, queue: &mut Option<WindowQueue>, one: bool) {
        while let Some(round) = self.at.windows.next_round()
            && (one && self.ahead.is_empty() || queue.as_mut().is_some_and(WindowQueue::has_room))
            && let Some(mut opened) = self.at.windows.open(round, self.at.domains, Buffer::Receive)
        {
            let mut submitted = false;
            if let Some(queue) = queue {
                let len = opened.window.len();
                if opened.coverage.is_none() {
                    queue.no_memory(len);
                }
                if let Some(mut buffer) = queue.buffer(len).await {
                    buffer.coverage = opened.coverage.take().unwrap_or_default();
                    queue.submit(Task::Read, opened.window, buffer);
                    submitted = true;
                }
            }
            let failed = !submitted;
            self.ahead.push_back(WindowAhead { round, opened, submitted });
            if failed {
                return;
            }
        }
    }

    /// Returns the messages that this rank receives in the round, ascending by aggregator.
    fn expect(&mut self, round: u64) -> RoundReceives {
        let mut all = RoundReceives { due: self.at.leaving.take(round), ..RoundReceives::default() };
        let mut at = 0;
        for &id in &all.due {
            let aggregator = self.at.outflows[id].file.aggregator();
            if self.at.stays(aggregator) {
                let outflow = &mut self.at.outflows[id];
                let Some(window) = outflow.file.window(self.at.domains) else { continue };
                all.own = Some(outflow.clone());
                let len = outflow.file.pass(&window).bytes;
                outflow.skip(len);
                all.shares.push(Share { aggregator: ReceiverIndex(aggregator), len: 0 });
                continue;
            }
            let flow = &mut self.at.outflows[id].file;
            let Some(window) = flow.window(self.at.domains) else { continue };
            let len = flow.pass(&window).bytes;
            all.parts.push((at, id, len));
            all.shares.push(Share { aggregator: ReceiverIndex(aggregator), len });
            at += len;
        }
        if self.at.inside.is_none() {
            self.at.reschedule(&all.due);
        }
        all
    }
}
