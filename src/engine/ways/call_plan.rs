//! Finds the plan of an exchange: the plan of an earlier call, or a new one.

use std::sync::Arc;

use crate::access::{BufferLayout, Extents};
use crate::engine::facts::agreed::Agreed;
use crate::engine::file::File;
use crate::engine::plan::Plan;
use crate::engine::plan::cached::Cached;
use crate::engine::record::report::Clock;
use crate::engine::record::totals::CallTotals;
use crate::engine::storage::window_queue::WindowQueue;
use crate::error::Result;

impl File {
    /// Returns the plan of an exchange. An earlier plan is reused if every rank's access is the same, shifted in the
    /// file by the same number of bytes; then only the offsets of the windows change. Otherwise makes a new plan.
    pub(in crate::engine) async fn plan(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<Arc<Plan>> {
        let kept = self.plans.find(agreed, &self.setup);
        let (plan, shift) = match kept.and_then(|shift| Some((self.plans.current()?.clone(), shift))) {
            Some(kept) => {
                done.reused = true;
                kept
            }
            None => {
                let plan = self.new_plan((file, layout), agreed, clock, done).await?;
                self.plans.keep(Cached::new(file, layout, &agreed.left, plan.clone()), agreed);
                (plan, 0)
            }
        };
        if !plan.announced.incoming.is_empty() && self.handle.queue.is_none() {
            self.handle.queue = Some(self.handle.open_queue(&self.setup, self.endpoint.waiting().waker()));
        }
        if let Some(queue) = &mut self.handle.queue {
            queue.begin_call(shift, agreed.is_sole);
            queue.time(self.observers.has_timeline());
        }
        done.auto = plan.auto;
        Ok(plan)
    }

    /// Makes a new plan, and counts its messages.
    async fn new_plan(
        &mut self,
        (file, layout): (&Extents, &BufferLayout),
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<Arc<Plan>> {
        let made = self.handle.queue.as_ref().map_or(0, WindowQueue::made);
        let windows = self.setup.hints.write_buffers.saturating_sub(made);
        let plan = Plan::make(&mut self.endpoint, &self.setup, &agreed.left, (file, layout), windows, clock).await?;
        done.metadata = plan.announced.traffic;
        done.in_memory = plan.announced.shared_bytes;
        Ok(Arc::new(plan))
    }
}
