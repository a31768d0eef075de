//! The plan of the last call, which calls with the same access reuse, and the trials of other kernels for it: those of writes and
//! those of reads apart.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::access::{BufferLayout, Extents};
use crate::engine::agreed::Agreed;
use crate::engine::api::setup::Setup;
use crate::engine::plan::auto_choice::AutoChoice;
use crate::engine::plan::choice::Way;
use crate::engine::plan::trials::{CallTimes, TrialOutcome, Trials};
use crate::engine::plan::{Direction, Plan};

/// How a rank's access relates to that of its cached plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessShift {
    /// It is another access.
    No,
    /// It is the same access, shifted by so many bytes.
    Shifted(i64),
    /// Both are empty, so any shift of the other ranks fits.
    Nothing,
}

impl AccessShift {
    /// For the agreement: whether the plan fits, and the least and the greatest shift that fit, as unsigned numbers in order.
    pub const fn lanes(self) -> [u64; 3] {
        match self {
            Self::No => [0, 0, 0],
            Self::Shifted(by) => [1, by as u64 ^ 1 << 63, by as u64 ^ 1 << 63],
            Self::Nothing => [1, u64::MAX, 0],
        }
    }

    /// The shift that all ranks agree on, from the combined lanes.
    pub fn agreed(again: u64, lowest: u64, highest: u64) -> Option<i64> {
        let shift = |by: u64| (by ^ (1 << 63)) as i64;
        // If no rank has data, the shift is 0.
        let shift = if lowest > highest { Some(0) } else { (lowest == highest).then(|| shift(lowest)) };
        shift.filter(|_| again == 1)
    }
}

/// The plans of an access.
pub struct Cached {
    file: Extents,
    layout: BufferLayout,
    /// The agreed end of the call.
    end: u64,
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
    Makes(Way),
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
    /// Caches a plan.
    pub fn new(file: &Extents, layout: &BufferLayout, end: u64, plan: Arc<Plan>) -> Self {
        let (trials, kept) = (Trials::new(&plan.ways), Placed { plan, base: 0 });
        let plans = || DirectionPlans { kept: kept.clone(), tried: None, trials: trials.clone() };
        let directions = [plans(), plans()];
        Self { file: file.clone(), layout: layout.clone(), end, touched: OnceCell::new(), directions }
    }

    /// How an access relates to that of this plan. O(encoded size of the access).
    pub fn again(&self, file: &Extents, layout: &BufferLayout) -> AccessShift {
        match file.shift_from(&self.file).filter(|_| self.layout == *layout) {
            None => AccessShift::No,
            Some(_) if file.count() == 0 => AccessShift::Nothing,
            Some(by) => AccessShift::Shifted(by),
        }
    }

    /// The shift in bytes, if the plan fits on all ranks and the shift fits the layout (`setup`).
    pub fn shift(&self, agreed: &Agreed, setup: &Setup) -> Option<i64> {
        let (by, left) = (agreed.shift?, &agreed.left);
        let aggregators = setup.roles(left.bytes).aggregators.len();
        let is_whole = by.unsigned_abs().is_multiple_of(setup.driver.period(&setup.layout, aggregators));
        (is_whole && left.end == self.end.wrapping_add(by as u64)).then_some(by)
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
    use crate::engine::plan::auto_choice::{AutoKernel, ChosenBy};
    use crate::engine::plan::choice::{Candidate, Layered};
    use crate::hints::Hints;
    use crate::topology::Topology;

    const FLAT: Way = Way { layered: Layered { metadata: false, data: false }, local: 0 };
    const LAYERED: Way = Way { layered: Layered { metadata: true, data: true }, local: 1 };
    const MOVED: i64 = 1 << 20;

    fn setup() -> Setup {
        let posix = driver(DriverName::Posix, std::path::Path::new("file"));
        Setup::dry(0, Topology::blocks(8, 4).unwrap(), Layout { unit: 1, factor: 1 }, posix, Hints::default()).unwrap()
    }

    fn plan(setup: &Setup, way: Way, ways: Vec<Candidate>) -> Arc<Plan> {
        let bytes = 1 << 30;
        let roles = setup.roles(bytes);
        let written = Written { start: 0, end: bytes, histogram: &[] };
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
        let mut cached = Cached::new(&file, &layout, 64, plan(&setup, FLAT, ways.to_vec()));
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
