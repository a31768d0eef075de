//! The plan of a call: that of an earlier call, a new one, or one that tries other kernels.

use std::sync::Arc;

use crate::access::{BufferLayout, Extents};
use crate::engine::facts::agreed::Agreed;
use crate::engine::file::File;
use crate::engine::plan::Plan;
use crate::engine::plan::cached::{Cached, PlanDecision};
use crate::engine::record::report::Clock;
use crate::engine::record::totals::CallTotals;
use crate::engine::roles::choice::Layering;
use crate::engine::roles::trials::TrialOutcome;
use crate::engine::storage::window_queue::WindowQueue;
use crate::error::Result;

impl File {
    /// The plan of an exchange. An earlier plan is reused if every rank's access is the same, shifted in the file by the same
    /// number of bytes; then only the windows' offsets change. Otherwise a new plan is made, and now and then one to try other
    /// kernels.
    pub(in crate::engine) async fn plan(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<Arc<Plan>> {
        let shift = self.plans.find(agreed, &self.setup);
        let decided = shift.and_then(|by| Some(self.plans.current()?.decide(done.direction, by)));
        let (plan, shift) = match decided {
            Some((PlanDecision::Has(plan, shift), trial)) => {
                (done.reused, done.trial) = (true, Some(trial));
                (plan, shift)
            }
            Some((PlanDecision::Makes(way), trial)) => {
                done.trial = Some(trial);
                self.plan_trial(way, (file, layout), agreed, clock, done).await?
            }
            None => {
                done.trial = Some(TrialOutcome::Made);
                let plan = self.new_plan(None, (file, layout), agreed, clock, done).await?;
                self.plans.keep(Cached::new(file, layout, &agreed.left, plan.clone()), agreed);
                (plan, 0)
            }
        };
        if !plan.announced.incoming.is_empty() && self.queue.is_none() {
            self.queue = Some(self.open_queue());
        }
        if let Some(queue) = &mut self.queue {
            queue.begin_call(shift, agreed.is_sole);
            queue.time(self.diary.is_some());
        }
        if let Some(cached) = self.plans.current() {
            done.auto = cached.taken(done.direction, &plan, &self.setup);
        }
        Ok(plan)
    }

    /// Makes a plan that goes a given way, or the chosen one.
    async fn new_plan(
        &mut self,
        way: Option<Layering>,
        (file, layout): (&Extents, &BufferLayout),
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<Arc<Plan>> {
        let made = self.queue.as_ref().map_or(0, WindowQueue::made);
        let windows = self.setup.hints.write_buffers.saturating_sub(made);
        let plan =
            Plan::make(&mut self.endpoint, &self.setup, &agreed.left, (file, layout), (way, windows), clock).await?;
        done.metadata = plan.announced.traffic;
        done.in_memory = plan.announced.shared_bytes;
        Ok(Arc::new(plan))
    }

    /// Makes the plan of a trial. If it cannot be made, all ranks know, and the call takes the plan that it has.
    async fn plan_trial(
        &mut self,
        way: Layering,
        access: (&Extents, &BufferLayout),
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<(Arc<Plan>, i64)> {
        let by = agreed.reuse.unwrap_or_default().shift;
        let made = self.new_plan(Some(way), access, agreed, clock, done).await;
        let failure = self.endpoint.waiting().failure();
        match (made, self.plans.current()) {
            (Ok(plan), Some(cached)) => {
                cached.tries(done.direction, plan.clone(), by);
                Ok((plan, 0))
            }
            (Err(error), Some(cached)) if !failure.is_unagreed(&error) => {
                done.trial = Some(TrialOutcome::Refused(way));
                Ok(cached.kept(done.direction, by))
            }
            (made, _) => made.map(|plan| (plan, 0)),
        }
    }
}
