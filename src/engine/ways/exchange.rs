//! The two-phase exchange: in a write, each rank sends its bytes to aggregators, which write them; in a read,
//! aggregators read and send.

use std::sync::Arc;

use crate::access::{Extent, Extents, WriteAccess};
use crate::drivers::Storage;
use crate::engine::data::reading::Reading;
use crate::engine::data::writing::Writing;
use crate::engine::facts::agreed::Agreed;
use crate::engine::file::File;
use crate::engine::lists::zero_copy::ZeroCopySends;
use crate::engine::plan::Plan;
use crate::engine::plan::duplicate_reads::{DuplicateRead, duplicate_reads};
use crate::engine::record::report::{Clock, Lap};
use crate::engine::record::totals::CallTotals;
use crate::engine::staging::ReadMemory;
use crate::engine::watchdog::CallStage;
use crate::error::Result;

impl File {
    /// Writes by the two-phase exchange. Collective.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn exchange_write(
        &mut self,
        WriteAccess { file, layout, source }: WriteAccess<'_>,
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<()> {
        self.observers.stage(CallStage::Metadata);
        let plan = self.plan(file, layout, agreed, clock, done).await?;
        let told = self.announce_writes(&plan, agreed);
        // SAFETY: the future of a call that returns at its end lies on the stack of that call, which drops all of it
        // before it returns to the owner of the memory.
        let zero_copy = self.returns_at_end.then(|| unsafe { ZeroCopySends::new(source) });
        let rounds = Writing::new(&plan, source, &self.observers.watchdog, self.observers.has_timeline());
        let ran = rounds
            .with_zero_copy(zero_copy.as_ref(), &self.endpoint)
            .run(&mut self.endpoint, &mut self.handle.queue)
            .await;
        clock.lap(Lap::Elsewhere);
        let ran = ran.map(|counts| done.counts = counts);
        // Settle also after an error: the worker may still be writing the caller's memory.
        self.settle(done).await;
        if let Some((storage, range)) = told {
            self.setup.driver.has_written(&*storage, range);
        }
        ran
    }

    /// Announces to the file system the range that this rank will write as an aggregator, if the hints say so. Returns
    /// the range and the handle. Local.
    fn announce_writes(&self, plan: &Plan, agreed: &Agreed) -> Option<(Arc<dyn Storage>, Extent)> {
        if !self.setup.hints.announce_writes || plan.announced.incoming.is_empty() {
            return None;
        }
        let aggregators = &self.setup.roles(plan.bytes).aggregators;
        let own = aggregators.binary_search(&self.endpoint.rank()).ok()?;
        // A reused plan has domains that lie `by` bytes before the bytes of this call.
        let by = self.handle.queue.as_ref()?.shift() as u64;
        let [start, end] = [agreed.left.start, agreed.left.end].map(|at| at.wrapping_sub(by));
        let range = plan.domains.range(own, start, end);
        let (storage, range) =
            (self.handle.open_storage()?.clone(), Extent { offset: range.offset.wrapping_add(by), ..range });
        self.setup.driver.will_write(&*storage, range).ok().map(|()| (storage, range))
    }

    /// Reads by the two-phase exchange. Collective.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn exchange_read(
        &mut self,
        extents: &Extents,
        ReadMemory { layout, mut sink }: ReadMemory<'_>,
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<()> {
        self.observers.stage(CallStage::Metadata);
        let plan = self.plan(extents, layout, agreed, clock, done).await?;
        let duplicate_reads = duplicate_reads(extents, layout, agreed.left.end);
        clock.lap(Lap::Flatten);
        let rounds = Reading::new(&plan, sink.reborrow(), &self.observers.watchdog, self.observers.has_timeline());
        done.counts = rounds.run(&mut self.endpoint, &mut self.handle.queue).await?;
        duplicate_reads.iter().for_each(|duplicate: &DuplicateRead| duplicate.copy(&mut sink));
        self.settle(done).await;
        let asked: u64 = plan.outgoing.iter().map(|out| out.file.summary().bytes).sum();
        done.outcome.bytes = asked + duplicate_reads.iter().map(|duplicate| duplicate.len).sum::<u64>();
        Ok(())
    }
}
