//! The rounds of a write: ranks pack and exchange messages, and aggregators place them in windows, which are written
//! behind.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::access::Source;
use crate::engine::data::placing::{Filling, Placing, RoundMessage, RoundSends};
use crate::engine::data::rounds::{DATA, Rounds};
use crate::engine::data::windows::Opened;
use crate::engine::direction::Direction;
use crate::engine::lists::zero_copy::ZeroCopySends;
use crate::engine::plan::Plan;
use crate::engine::record::totals::DataCounts;
use crate::engine::storage::buffer::WindowBuffer;
use crate::engine::storage::window_queue::WindowQueue;
use crate::engine::storage::worker::Task;
use crate::engine::watchdog::{CallStage, StallWatchdog};
use crate::error::Result;
use crate::exchange::two_layer::Share;
use crate::exchange::{ReceiverIndex, Transfer};
use crate::fabric::Endpoint;
use crate::fabric::pool::Block;
use crate::schedule::Buffer;
use crate::topology::Rank;

/// The data phase of one rank in a write.
pub struct Writing<'a> {
    at: Rounds<'a>,
    source: Source<'a>,
    zero_copy: Option<&'a ZeroCopySends<'a>>,
    sends_in_place: bool,
}

impl<'a> Writing<'a> {
    /// Starts the data phase of a plan. With `times`, records the times of rounds in which this rank owns a window.
    pub fn new(plan: &'a Plan, source: Source<'a>, watchdog: &'a StallWatchdog, times: bool) -> Self {
        Self {
            at: Rounds::new(plan, Direction::Write, watchdog, times),
            source,
            zero_copy: None,
            sends_in_place: false,
        }
    }

    /// With pieces that are written from the caller's memory, and messages that are sent from there, where the endpoint can.
    /// (With two layers, members copy their bytes into shared memory.)
    pub fn with_zero_copy(mut self, zero_copy: Option<&'a ZeroCopySends<'a>>, endpoint: &Endpoint) -> Self {
        self.zero_copy = zero_copy.filter(|_| self.at.inside.is_none());
        self.sends_in_place = endpoint.sends_in_place();
        self
    }

    /// Runs all rounds. Aggregators write windows through `queue`. Collective over the ranks that have data.
    ///
    /// # Errors
    /// Errors of the message transport. A failure to write stays in the queue for the agreement.
    pub async fn run(mut self, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<DataCounts> {
        while let Some(round) = self.at.next_round() {
            if let Err(error) = self.round(round, endpoint, queue).await {
                // If the error ends the job, end it here, before the memory of messages in flight is freed.
                return endpoint.waiting().failure().settle(Err(error));
            }
        }
        self.at.counts.in_memory = self.at.inside.map_or(0, |inside| inside.bytes);
        Ok(self.at.counts)
    }

    async fn round(&mut self, round: u64, endpoint: &mut Endpoint, queue: &mut Option<WindowQueue>) -> Result<()> {
        let opened = self.at.windows.open(round, self.at.domains, Buffer::Receive);
        let (window, overlap) = opened.as_ref().map_or((None, false), |opened| (Some(opened.window), opened.overlap));
        let zero_copy = self.zero_copy.filter(|_| opened.as_ref().is_some_and(Opened::is_written_from_pieces));
        let owned = opened.as_ref().map(|opened| (opened.messages.len(), opened.window.len()));
        let start = window.map(|window| window.start);
        self.at.go_on(CallStage::Storage(round, start));
        let (mut buffer, receives) = self.make_room(opened, zero_copy.is_none(), queue).await;
        self.at.go_on(CallStage::Round(round, start));
        let begin = Instant::now();
        let outgoing = self.send(round);
        let schedule = self.at.schedule(round, &outgoing.shares, &receives);
        let mut memory = Placing {
            rank: self.at.rank(),
            outgoing: &outgoing,
            inside: self.at.inside.as_mut(),
            outflows: &mut self.at.outflows,
            windows: &mut self.at.windows,
            user: self.source,
            window,
            placed: buffer.as_mut().map(|buffer| match zero_copy {
                Some(zero_copy) => Filling::Pieces(&mut buffer.pieces, zero_copy),
                None => Filling::Memory(&mut buffer.bytes),
            }),
            deferred: overlap.then(BTreeMap::new),
            placement: Duration::ZERO,
        };
        let traffic = endpoint.run(schedule, &mut memory, DATA).await?;
        memory.place_deferred()?;
        let placement = memory.placement;
        self.at.counts.exchanged(round, begin, (traffic, placement), owned);
        self.at.reschedule(&outgoing.due);
        if let (Some(window), Some(mut buffer), Some(queue)) = (window, buffer, queue) {
            buffer.pieces.sort_unstable_by_key(|piece| piece.position);
            queue.submit(Task::Write, window, buffer);
        }
        Ok(())
    }

    /// Returns a buffer for the window, and the messages for the window. The buffer has memory if `needs`; there is
    /// none if the bytes are dropped after an error.
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
                out.own = Some(id);
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
                outflow.memory_pieces(if lent.is_some() { len } else { 0 }, |_| ());
                out.messages.push(RoundMessage { outflow: id, start, len, bytes: lent.unwrap_or_default() });
                start += len;
            }
        }
        self.pack(&mut out);
        out
    }

    /// Packs the messages that are not sent without a copy into one block. (If there is no memory for the block, it
    /// grows as needed.)
    fn pack(&mut self, out: &mut RoundSends) {
        let messages = &mut out.messages;
        let all: u64 = messages.iter().filter(|message| message.is_to_pack()).map(|message| message.len).sum();
        let mut block = Block::take(all as usize).unwrap_or_default();
        for message in messages.iter().filter(|message| message.is_to_pack()) {
            self.at.outflows[message.outflow].pack(message.len, self.source, &mut block);
        }
        let mut rest = block.into_message();
        for message in messages.iter_mut().filter(|message| message.is_to_pack()) {
            message.bytes = rest.split_to(message.len as usize);
        }
    }
}
