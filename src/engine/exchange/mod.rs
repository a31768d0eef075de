//! The two-phase exchange: in a write, each rank sends its bytes to aggregators, which write them; in a read,
//! aggregators read and send. It reuses an earlier plan or makes a new one, and then runs in rounds: in each round, an
//! aggregator fills or empties one window (a piece of the file).
//!
//! | module | holds |
//! |---|---|
//! | [`planner`] | divides the file between the aggregators of a call, and learns from calls |
//! | [`roles`] | the aggregators, and the routes of messages to them |
//! | [`plan`], [`kept_plans`] | which bytes this rank sends to which aggregator; the plans of earlier calls |
//! | [`planning`] | counts what a write of any number of ranks would exchange, without running it |
//! | [`flatten`], [`lists`] | the access cut by aggregator, and the cursors over it |
//! | [`metadata`] | exchanges lists of extents, in messages whose sizes only their senders know |
//! | [`rounds`] | the state of a rank over all rounds, and the windows of an aggregator |
//! | [`writing`], [`placing`] | the rounds of a write, and the memory of one round |
//! | [`reading`], [`delivering`] | the rounds of a read, and the memory of one round |
//! | [`node`] | lists and data between local aggregators and their members, in memory that they share |

mod delivering;
pub(in crate::engine) mod flatten;
pub(in crate::engine) mod kept_plans;
pub(in crate::engine) mod lists;
pub(crate) mod metadata;
#[cfg(test)]
mod missing;
mod node;
mod placing;
pub(in crate::engine) mod plan;
pub(in crate::engine) mod planner;
pub mod planning;
mod reading;
pub(in crate::engine) mod roles;
mod rounds;
mod writing;

use std::sync::Arc;

use crate::access::{Access, AccessStats, BufferLayout, Direction, Extent, Extents, Memory, Sink, Source};
use crate::drivers::Storage;
use crate::engine::choose::learned::Learned;
use crate::engine::exchange::flatten::{DuplicateRead, duplicate_reads};
use crate::engine::exchange::kept_plans::{Cached, Plans, Reuse};
use crate::engine::exchange::lists::ZeroCopySends;
use crate::engine::exchange::plan::Plan;
use crate::engine::exchange::planner::ExchangePlanner;
use crate::engine::exchange::reading::Reading;
use crate::engine::exchange::writing::Writing;
use crate::engine::io::handle::FileHandle;
use crate::engine::io::terms::FileTerms;
use crate::engine::io::window_queue::WindowQueue;
use crate::engine::trace::Observers;
use crate::engine::trace::clock::Lap;
use crate::engine::trace::counts::CallTotals;
use crate::engine::trace::watchdog::CallStage;
use crate::error::Result;
use crate::fabric::Endpoint;

/// One rank's part in an exchange.
pub struct Exchange<'a> {
    /// Connection to the other ranks.
    pub endpoint: &'a mut Endpoint,
    /// Settings of the file that do not change while it is open.
    pub file: &'a FileTerms,
    /// Plans the exchanges of the file.
    pub planner: &'a ExchangePlanner,
    /// This rank's handle of the file.
    pub handle: &'a mut FileHandle,
    /// Plans of earlier calls.
    pub plans: &'a mut Plans,
    /// Rates and shares learned from earlier calls.
    pub learned: &'a Learned,
    /// Observers of the call.
    pub observers: &'a mut Observers,
    /// True if the future of the call is polled to its end before the program can use or free its memory
    /// (`FileCalls::returns_at_end`).
    pub returns_at_end: bool,
    /// Statistics of the bytes that all ranks still have to write or read. If their range is a part of the call's range, only
    /// bytes in this part are moved.
    pub left: &'a AccessStats,
    /// The kept plan that fits the access of every rank.
    pub reuse: Option<Reuse>,
    /// True if only the ranks of this call, in this call, can be writing the file now.
    pub is_sole: bool,
    /// True if this exchange moves a part of a call: then its plan is not kept, because it fits no whole call.
    pub is_part: bool,
    /// This rank's counts and error.
    pub own: &'a mut CallTotals,
}

impl Exchange<'_> {
    /// Moves this rank's bytes by the two-phase exchange. Collective.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn run(mut self, Access { file, layout, memory }: Access<'_>) -> Result<()> {
        match memory {
            Memory::Source(memory) => self.write(Access { file, layout, memory }).await,
            Memory::Sink(memory) => self.read(Access { file, layout, memory }).await,
        }
    }

    async fn write(&mut self, Access { file, layout, memory: source }: Access<'_, Source<'_>>) -> Result<()> {
        self.observers.stage(CallStage::Metadata);
        let plan = self.plan(Direction::Write, file, layout).await?;
        let announced = self.announce_writes(&plan);
        // SAFETY: `File::transfer` sets `returns_at_end`, and polls this future to its end before it returns to the owner of
        // the memory. `Asked::polled_to_end` sets it too, and its caller promises the same before the memory is freed. The
        // value is dropped at the end of this function, so before that. (If a panic unwinds a poll instead, the value is
        // dropped then, before the caller of the poll runs.)
        let zero_copy = self.returns_at_end.then(|| unsafe { ZeroCopySends::new(source) });
        let rounds = Writing::new(&plan, source, &self.observers.watchdog, self.observers.has_timeline());
        let rounds = rounds.with_zero_copy(zero_copy.as_ref(), self.endpoint);
        let ran = rounds.run(self.endpoint, &mut self.handle.queue).await;
        self.observers.clock.lap(Lap::Elsewhere);
        let ran = ran.map(|counts| self.own.counts = counts);
        // Settle also after an error: the worker may still be writing the caller's memory.
        self.settle().await;
        if let Some((storage, range)) = announced {
            self.planner.driver.has_written(&*storage, range);
        }
        ran
    }

    async fn read(&mut self, access: Access<'_, Sink<'_>>) -> Result<()> {
        let Access { file: extents, layout, memory: mut sink } = access;
        self.observers.stage(CallStage::Metadata);
        let plan = self.plan(Direction::Read, extents, layout).await?;
        let duplicate_reads = duplicate_reads(extents, layout, self.left.end);
        self.observers.clock.lap(Lap::Flatten);
        let (watchdog, is_timed) = (&self.observers.watchdog, self.observers.has_timeline());
        let rounds = Reading::new(&plan, sink.reborrow(), watchdog, is_timed);
        self.own.counts = rounds.run(self.endpoint, &mut self.handle.queue).await?;
        duplicate_reads.iter().for_each(|duplicate: &DuplicateRead| duplicate.copy(&mut sink));
        self.settle().await;
        let asked: u64 = plan.outgoing.iter().map(|out| out.file.summary().bytes).sum();
        self.own.outcome.bytes = asked + duplicate_reads.iter().map(|duplicate| duplicate.len).sum::<u64>();
        Ok(())
    }

    /// Returns the plan. An earlier plan is reused if every rank's access is the same, shifted in the file by the same
    /// number of bytes; then only the offsets of the windows change. Otherwise makes a new plan, and counts its
    /// messages.
    async fn plan(&mut self, direction: Direction, file: &Extents, layout: &BufferLayout) -> Result<Arc<Plan>> {
        let Self {
            endpoint, file: terms, planner, handle, plans, learned, observers, left, reuse, own, is_part, ..
        } = self;
        let kept = plans.find(*reuse, left, planner, learned);
        let (plan, shift) = match kept.and_then(|shift| Some((plans.current()?.clone(), shift))) {
            Some(kept) => {
                own.reused = true;
                kept
            }
            None => {
                let made = handle.queue.as_ref().map_or(0, WindowQueue::made);
                let amount = (*left, *learned);
                let plan =
                    Plan::make(endpoint, (planner, terms), amount, (file, layout), made, &mut observers.clock).await?;
                own.metadata = plan.announced.traffic;
                own.in_memory = plan.announced.shared_bytes;
                let plan = Arc::new(plan);
                if !*is_part {
                    plans.keep(Cached::new(file, layout, left, plan.clone()), *reuse);
                }
                (plan, 0)
            }
        };
        if !plan.announced.incoming.is_empty() && handle.queue.is_none() {
            let waker = endpoint.waiting().waker();
            handle.queue = Some(handle.open_queue(waker));
        }
        let mut sieve = terms.write_sieve(self.is_sole);
        if direction == Direction::Write && !plan.announced.incoming.is_empty() && left.has_holes() {
            // Find the end of the file here: earlier, another rank may still have been writing; later, aggregators write.
            sieve = sieve.with_end(|| handle.end());
        }
        if let Some(queue) = &mut handle.queue {
            queue.begin_call(shift, sieve, plan.open_windows);
            queue.time(observers.has_timeline());
        }
        (own.auto, own.layers) = (plan.auto, plan.layers);
        Ok(plan)
    }

    /// Announces to the file system the range that this rank will write as an aggregator, if the hints say so. Returns
    /// the range and the handle. Local.
    fn announce_writes(&self, plan: &Plan) -> Option<(Arc<dyn Storage>, Extent)> {
        if !self.file.hints.announce_writes || plan.announced.incoming.is_empty() {
            return None;
        }
        let aggregators = &self.planner.roles(plan.bytes).aggregators;
        let own = aggregators.binary_search(&self.endpoint.rank()).ok()?;
        // A reused plan has domains that lie `by` bytes before the bytes of this call.
        let by = self.handle.queue.as_ref()?.shift() as u64;
        let [start, end] = [self.left.start, self.left.end].map(|at| at.wrapping_sub(by));
        let range = plan.domains.range(own, start, end);
        let (storage, range) =
            (self.handle.open_storage()?.clone(), Extent { offset: range.offset.wrapping_add(by), ..range });
        self.planner.driver.will_write(&*storage, range).ok().map(|()| (storage, range))
    }

    /// Waits for the worker, and adds its outcome and the counts of the rounds.
    async fn settle(&mut self) {
        if let Some(queue) = &mut self.handle.queue {
            self.observers.stage(CallStage::Settling);
            self.own.outcome = queue.finish().await;
        }
        self.own.outcome.error = self.own.outcome.error.take().or(self.own.counts.error.take());
        if self.own.outcome.error.is_some() {
            // The next call makes a new queue, and tries to open the file if it was not opened.
            self.handle.queue = None;
        }
        self.observers.add_fan_in(std::mem::take(&mut self.own.counts.fan_in));
    }
}
