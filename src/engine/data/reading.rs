//! The rounds of a read: aggregators read windows ahead, ranks exchange messages, and each rank copies its bytes to the
//! caller's memory.
//!
//! Every round runs the transpose of the schedule that a write of the same access would run: aggregators send and ranks
//! receive, under the same kernel and throttle. While one window is exchanged, the next ones are read from the file.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::access::Sink;
use crate::engine::data::delivering::{Delivering, RoundReceives};
use crate::engine::data::rounds::{DATA, Rounds};
use crate::engine::data::windows::Opened;
use crate::engine::direction::Direction;
use crate::engine::plan::Plan;
use crate::engine::record::totals::DataCounts;
use crate::engine::storage::buffer::WindowBuffer;
use crate::engine::storage::window_queue::WindowQueue;
use crate::engine::storage::worker::Task;
use crate::engine::watchdog::{CallStage, StallWatchdog};
use crate::error::{Error, Result};
use crate::exchange::ReceiverIndex;
use crate::exchange::two_layer::Share;
use crate::fabric::Endpoint;
use crate::schedule::Buffer;

/// The data phase of one rank in a read.
pub struct Reading<'a> {
    at: Rounds<'a>,
    sink: Sink<'a>,
    /// Windows of this aggregator whose reads have begun, in order; after an error they are not read.
    ahead: VecDeque<WindowAhead>,
}

struct WindowAhead {
    round: u64,
    opened: Opened,
    submitted: bool,
}

impl<'a> Reading<'a> {
    /// Starts the data phase of a plan. With `times`, records the times of rounds in which this rank owns a window.
    pub fn new(plan: &'a Plan, sink: Sink<'a>, watchdog: &'a StallWatchdog, times: bool) -> Self {
        Self { at: Rounds::new(plan, Direction::Read, watchdog, times), sink, ahead: VecDeque::new() }
    }

    /// Runs all rounds. Aggregators read windows through `queue`. Collective over the ranks that want data.
    ///
    /// # Errors
    /// Errors of the message transport. A failure to read stays in the queue for the agreement; the bytes delivered are
    /// then undefined.
    pub async fn run(mut self, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<DataCounts> {
        while let Some(round) = self.next_round() {
            self.round(round, endpoint, queue).await?;
        }
        self.at.counts.in_memory = self.at.inside.map_or(0, |inside| inside.bytes);
        Ok(self.at.counts)
    }

    fn next_round(&self) -> Option<u64> {
        let opened = self.ahead.front().map(|ahead| ahead.round);
        opened.into_iter().chain(self.at.next_round()).min()
    }

    async fn round(&mut self, round: u64, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<()> {
        self.at.go_on(CallStage::Storage(round, None));
        let (opened, window) = self.take_window(round, queue).await;
        self.at.go_on(CallStage::Round(round, opened.as_ref().map(|opened| opened.window.start)));
        let begin = Instant::now();
        let owned = opened.as_ref().map(|opened| (opened.messages.len(), opened.window.len()));
        let messages = opened.as_ref().map_or(&[][..], |opened| &opened.messages);
        let incoming = self.expect(round);
        let schedule = self.at.schedule(round, &incoming.shares, messages);
        let rank = self.at.rank();
        let schedule = schedule.transposed(self.at.phase.route.kernel.mode);
        let schedule = schedule.ok_or_else(|| Error::Internal { rank, what: "a round reduces".to_string() })?;
        let mut memory = Delivering {
            rank,
            incoming: &incoming,
            inside: self.at.inside.as_mut(),
            outflows: &mut self.at.outflows,
            windows: &mut self.at.windows,
            user: self.sink.reborrow(),
            window: opened.map(|opened| opened.window),
            read: window.as_ref().map(|window| &window.bytes[..]),
            placement: Duration::ZERO,
        };
        let traffic = endpoint.run(schedule, &mut memory, DATA).await?;
        let placement = memory.placement;
        self.at.counts.exchanged(round, begin, (traffic, placement), owned);
        self.at.reschedule(&incoming.due);
        if let (Some(mut window), Some(queue)) = (window, queue) {
            self.at.windows.recycle(std::mem::take(&mut window.coverage));
            queue.give_back(window);
        }
        Ok(())
    }

    /// Returns this aggregator's window of `round`, if it has one, and the bytes of the window, if they could be read.
    /// Starts to read the next windows.
    async fn take_window(
        &mut self,
        round: u64,
        queue: &mut Option<WindowQueue>,
    ) -> (Option<Opened>, Option<WindowBuffer>) {
        self.look_ahead(queue, true).await;
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

    /// Starts to read as many windows as there are free buffers. With `one`, waits for a buffer for the first window.
    async fn look_ahead(&mut self, queue: &mut Option<WindowQueue>, one: bool) {
        while let Some(round) = self.at.windows.next_round()
            && (one && self.ahead.is_empty() || queue.as_ref().is_some_and(WindowQueue::has_room))
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
                all.own = Some(id);
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
        all
    }
}
