//! The plans of earlier calls, which calls with the same accesses reuse, and the trials of other kernels for each: those of writes
//! and those of reads apart.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::access::{BufferLayout, Extents};
use crate::engine::direction::Direction;
use crate::engine::facts::Amount;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::reuse::{AccessShift, Reuse};
use crate::engine::plan::Plan;
use crate::engine::policy::{KEPT_REQUESTS, MOST_PLANS};
use crate::engine::roles::auto_choice::AutoChoice;
use crate::engine::roles::choice::Layering;
use crate::engine::roles::trials::{CallTimes, TrialOutcome, Trials};
use crate::engine::setup::Setup;

/// The plans of a file: of as many accesses as take turns, within bounds. They are the same, in the same order, on all ranks, since
/// all ranks take part in every exchange, which finds or makes one.
#[derive(Default)]
pub struct Plans(Vec<Cached>);

impl Plans {
    /// How an access relates to those of the plans, and the plan that may fit. O(encoded size of the access) for each plan that is
    /// alike.
    pub fn again(&self, file: &Extents, layout: &BufferLayout) -> (AccessShift, Option<&Cached>) {
        let shifts =
            self.0.iter().enumerate().filter_map(|(plan, cached)| Some((plan, cached, cached.again(file, layout)?)));
        let (mut plans, mut first) = (0, None);
        for (plan, cached, by) in shifts {
            let (_, same) = *first.get_or_insert((cached, by));
            plans |= u64::from(same == by) << plan;
        }
        match first {
            None => (AccessShift::No, None),
            Some((cached, _)) if file.count() == 0 => (AccessShift::Nothing(plans), Some(cached)),
            Some((cached, by)) => (AccessShift::Shifted(plans, by), Some(cached)),
        }
    }

    /// Makes the plan on which all ranks agreed that of this call, if its shift fits the layout (`setup`). Returns the shift in
    /// bytes.
    pub fn find(&mut self, agreed: &Agreed, setup: &Setup) -> Option<i64> {
        let Reuse { plan, shift } = agreed.reuse?;
        let fits = self.0.get(plan)?.fits(shift, &agreed.left, setup);
        if fits {
            let found = self.0.remove(plan);
            self.0.push(found);
        }
        fits.then_some(shift)
    }

    /// Keeps a plan that this call has made, in place of the one that all ranks agreed on and that does not fit the layout. Plans
    /// that have not been used for longest go where there are too many.
    pub fn keep(&mut self, cached: Cached, agreed: &Agreed) {
        if let Some(Reuse { plan, .. }) = agreed.reuse
            && plan < self.0.len()
        {
            self.0.remove(plan);
        }
        self.0.push(cached);
        let requests = |plans: &[Cached]| plans.iter().fold(0u64, |sum, cached| sum.saturating_add(cached.requests));
        while self.0.len() > MOST_PLANS || (self.0.len() > 1 && requests(&self.0) > KEPT_REQUESTS) {
            self.0.remove(0);
        }
    }

    /// The plan of this call, or of the last one.
    pub fn current(&mut self) -> Option<&mut Cached> {
        self.0.last_mut()
    }
}

/// The plans of an access.
pub struct Cached {
    file: Extents,
    layout: BufferLayout,
    /// The agreed end of the call.
    end: u64,
    /// The number of extents of all ranks.
    requests: u64,
    /// This rank's part of [`touched`](crate::engine::facts::Amount::touched), once it is known.
    touched: OnceCell<u64>,
    /// Of writes, and of reads.
    directions: [DirectionPlans; 2],
}

/// The plan of one direction, and perhaps a second one, that goes another way.
struct DirectionPlans {
    kept: Placed,
    /// The plan of the way that is being tried.
    tried: Option<Placed>,
    trials: Trials,
}

/// A plan that was made for the access shifted by `base` bytes.
#[derive(Clone)]
struct Placed {
    plan: Arc<Plan>,
    base: i64,
}

/// What a call does about its plan.
pub enum PlanDecision {
    /// It has this plan, whose windows are shifted by so many bytes.
    Has(Arc<Plan>, i64),
    /// It makes a plan that goes this way.
    Makes(Layering),
}

impl DirectionPlans {
    fn decide(&self, by: i64) -> (PlanDecision, TrialOutcome) {
        let has = |placed: &Placed| PlanDecision::Has(placed.plan.clone(), by - placed.base);
        match (self.trials.next(), &self.tried) {
            (None, _) => (has(&self.kept), TrialOutcome::Went(self.kept.plan.way)),
            (Some(way), Some(tried)) if tried.plan.way == way => (has(tried), TrialOutcome::Went(way)),
            (Some(way), _) => (PlanDecision::Makes(way), TrialOutcome::Began(way)),
        }
    }

    fn learn(&mut self, trial: TrialOutcome, spent: CallTimes) {
        self.trials.learn(trial, spent);
        let tried = self.tried.as_ref().map(|tried| tried.plan.way);
        if tried.is_some() && tried == self.trials.kept() {
            self.kept = self.tried.take().unwrap_or_else(|| self.kept.clone());
        } else if tried.is_some_and(|way| self.trials.has_refused(way)) {
            self.tried = None;
        }
    }
}

impl Cached {
    /// Caches a plan for the access of this rank, and `left` of all ranks.
    pub fn new(file: &Extents, layout: &BufferLayout, left: &Amount, plan: Arc<Plan>) -> Self {
        let (trials, kept) = (Trials::new(&plan.ways), Placed { plan, base: 0 });
        let plans = || DirectionPlans { kept: kept.clone(), tried: None, trials: trials.clone() };
        let directions = [plans(), plans()];
        let (end, requests) = (left.end, left.requests);
        Self { file: file.clone(), layout: layout.clone(), end, requests, touched: OnceCell::new(), directions }
    }

    /// The shift of an access from that of this plan. O(encoded size of the access).
    fn again(&self, file: &Extents, layout: &BufferLayout) -> Option<i64> {
        file.shift_from(&self.file).filter(|_| self.layout == *layout)
    }

    /// Whether a shift that all ranks have fits the layout (`setup`).
    fn fits(&self, by: i64, left: &Amount, setup: &Setup) -> bool {
        let aggregators = setup.roles(left.bytes).aggregators.len();
        let is_whole = by.unsigned_abs().is_multiple_of(setup.driver.period(&setup.layout, aggregators));
        is_whole && left.end == self.end.wrapping_add(by as u64)
    }

    /// About the number of windows that the access touches, which `count` counts. Every call that may repeat has it ready: if the
    /// plan does not fit on another rank, a new one needs the sum over all ranks.
    pub fn touched(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.touched.get_or_init(count)
    }

    /// What a call does whose access is shifted by `by` bytes, and what is learnt from it. Pure: the same on all ranks.
    pub fn decide(&self, direction: Direction, by: i64) -> (PlanDecision, TrialOutcome) {
        self.directions[direction as usize].decide(by)
    }

    /// Keeps the plan that a trial has made for the access shifted by `by` bytes.
    pub fn tries(&mut self, direction: Direction, plan: Arc<Plan>, by: i64) {
        self.directions[direction as usize].tried = Some(Placed { plan, base: by });
    }

    /// The plan that is kept, and its shift for an access that is shifted by `by` bytes.
    pub fn kept(&self, direction: Direction, by: i64) -> (Arc<Plan>, i64) {
        let kept = &self.directions[direction as usize].kept;
        (kept.plan.clone(), by - kept.base)
    }

    /// Learns from the time of a call, the same on all ranks.
    pub fn learn(&mut self, direction: Direction, trial: TrialOutcome, spent: CallTimes) {
        if let (TrialOutcome::Made, Some(making)) = (trial, spent.making) {
            self.directions.iter_mut().for_each(|plans| plans.trials.making_takes(making));
        }
        self.directions[direction as usize].learn(trial, spent);
    }

    /// What `auto` took in a call that goes as `plan` says; none where the hints leave no choice.
    pub fn taken(&self, direction: Direction, plan: &Plan, setup: &Setup) -> Option<AutoChoice> {
        let by = self.directions[direction as usize].trials.chosen_by(plan.way);
        setup.roles(plan.bytes).taken(plan.way, by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::{DriverName, Layout, Written, driver};
    use crate::engine::metadata::Announced;
    use crate::engine::roles::auto_choice::{AutoKernel, ChosenBy};
    use crate::engine::roles::choice::{Candidate, Layered};
    use crate::hints::Hints;
    use crate::topology::Topology;

    const FLAT: Layering = Layering { layered: Layered { metadata: false, data: false }, local: 0 };
    const LAYERED: Layering = Layering { layered: Layered { metadata: true, data: true }, local: 1 };
    const MOVED: i64 = 1 << 20;

    fn setup() -> Setup {
        let posix = driver(DriverName::Posix, std::path::Path::new("file"));
        Setup::dry(0, Topology::blocks(8, 4).unwrap(), Layout::of(1, 1), posix, Hints::default()).unwrap()
    }

    fn plan(setup: &Setup, way: Layering, ways: Vec<Candidate>) -> Arc<Plan> {
        let bytes = 1 << 30;
        let roles = setup.roles(bytes);
        let written = Written { start: 0, end: bytes, bytes, histogram: &[] };
        let domains = setup.driver.domains(&setup.layout, roles.aggregators.len(), written, &setup.driver_hints);
        let data = roles.phases(way, &setup.topology, &setup.hints).unwrap().data;
        Arc::new(Plan { domains, outgoing: Vec::new(), announced: Announced::default(), data, way, ways, bytes })
    }

    fn spent(making: f64, moving: f64) -> CallTimes {
        CallTimes { making: Some(making), moving: Some(moving) }
    }

    /// Writes that move by a step with every call. Two layers take half the time, and are found; reads know nothing of it.
    #[test]
    fn the_faster_plan_is_kept_where_it_was_made() {
        let setup = setup();
        let ways = [FLAT, LAYERED].map(|way| Candidate { way, seconds: 1.0, again: 1.0 });
        let (file, layout) = (Extents::strided(0, 8, 16, 4).unwrap(), BufferLayout::Contiguous);
        let mut cached = Cached::new(&file, &layout, &Amount::of(&file, 0), plan(&setup, FLAT, ways.to_vec()));
        cached.learn(Direction::Write, TrialOutcome::Made, spent(1.0, 1.0));
        let (mut choices, mut made_at, mut layered) = (Vec::new(), None, 0);
        for step in 1..=200 {
            let by = step * MOVED;
            let (decided, trial) = cached.decide(Direction::Write, by);
            let (plan, shift, making) = match decided {
                PlanDecision::Has(plan, shift) => (plan, shift, 0.0),
                PlanDecision::Makes(way) => {
                    assert_eq!(made_at.replace(step), None, "a trial makes its plan once");
                    let plan = plan(&setup, way, Vec::new());
                    cached.tries(Direction::Write, plan.clone(), by);
                    (plan, 0, 1.0)
                }
            };
            let base = if plan.way == FLAT { 0 } else { made_at.unwrap() * MOVED };
            assert_eq!(shift, by - base, "step {step}");
            layered += usize::from(plan.way == LAYERED);
            choices.push(cached.taken(Direction::Write, &plan, &setup).unwrap());
            cached.learn(Direction::Write, trial, spent(making, if plan.way == LAYERED { 0.5 } else { 1.0 }));
            assert!(
                matches!(cached.decide(Direction::Read, by).0, PlanDecision::Has(plan, shift) if plan.way == FLAT && shift == by)
            );
        }
        // A cold call, and three with warm memory.
        for (by, count) in [(ChosenBy::Trial, 4), (ChosenBy::Measurement, layered - 4)] {
            let choice = AutoChoice { kernel: AutoKernel::TwoLayer { per_node: 1 }, metadata: true, data: true, by };
            assert_eq!(choices.iter().filter(|other| **other == choice).count(), count, "{choice}: {choices:?}");
        }
        assert!(layered > 100 && choices[0].is_usual());
        let made_at = made_at.unwrap();
        assert_eq!(cached.kept(Direction::Write, MOVED).1, MOVED - made_at * MOVED);
        assert_eq!(cached.kept(Direction::Read, MOVED).1, MOVED);
    }
}
