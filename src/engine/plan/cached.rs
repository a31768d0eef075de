//! The plan of the last call, which calls with the same access reuse, and the trials of other kernels for it.

use std::sync::Arc;

use crate::access::{BufferLayout, Extents};
use crate::engine::api::setup::Setup;
use crate::engine::plan::choice::Way;
use crate::engine::plan::roles::ChosenBy;
use crate::engine::plan::trials::{Spent, Trials};
use crate::engine::plan::{Agreed, Direction, Plan};

/// How a rank's access relates to that of its cached plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It is another access.
    No,
    /// It is the same access, shifted by so many bytes.
    Shifted(i64),
    /// Both are empty, so any shift of the other ranks fits.
    Nothing,
}

impl Again {
    /// For the agreement: whether the plan fits, and the least and the greatest shift that fit, as unsigned numbers in order.
    pub fn lanes(self) -> [u64; 3] {
        let biased = |by: i64| by as u64 ^ (1 << 63);
        match self {
            Self::No => [0, 0, 0],
            Self::Shifted(by) => [1, biased(by), biased(by)],
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

/// A plan with its access, and perhaps a second one that goes another way.
pub struct Cached {
    file: Extents,
    layout: BufferLayout,
    /// The agreed end of the call.
    end: u64,
    kept: Placed,
    /// The plan of the way that is being tried.
    tried: Option<Placed>,
    trials: Trials,
    /// The direction of the calls that are timed: that of the first call that repeats.
    direction: Option<Direction>,
}

/// A plan that was made for the access shifted by `base` bytes.
#[derive(Clone)]
struct Placed {
    plan: Arc<Plan>,
    base: i64,
}

/// What a call does about its plan.
pub enum Turn {
    /// It has this plan, whose windows are shifted by so many bytes.
    Has(Arc<Plan>, i64),
    /// It makes a plan that goes this way.
    Makes(Way),
}

/// What is learnt from the time of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lesson {
    /// How long it takes to make the plan.
    Made,
    /// How long a call takes that goes this way.
    Went(Way),
}

impl Cached {
    /// Caches a plan.
    pub fn new(file: &Extents, layout: &BufferLayout, end: u64, plan: Arc<Plan>, setup: &Setup) -> Self {
        // I/O ranks go on after the call: its time says nothing.
        let ways = if setup.io.is_some() { &[] } else { &plan.ways[..] };
        let (trials, kept) = (Trials::new(ways), Placed { plan, base: 0 });
        Self { file: file.clone(), layout: layout.clone(), end, kept, tried: None, trials, direction: None }
    }

    /// How an access relates to that of this plan. O(encoded size of the access).
    pub fn again(&self, file: &Extents, layout: &BufferLayout) -> Again {
        match file.shift_from(&self.file).filter(|_| self.layout == *layout) {
            None => Again::No,
            Some(_) if file.count() == 0 => Again::Nothing,
            Some(by) => Again::Shifted(by),
        }
    }

    /// The shift in bytes, if the plan fits on all ranks and the shift fits the layout (`setup`).
    pub fn shift(&self, agreed: &Agreed, setup: &Setup) -> Option<i64> {
        let by = agreed.shift?;
        let aggregators = setup.roles(agreed.bytes).aggregators.len();
        let is_whole = by.unsigned_abs().is_multiple_of(setup.driver.period(&setup.layout, aggregators));
        (is_whole && agreed.end == self.end.wrapping_add(by as u64)).then_some(by)
    }

    /// What a call does whose access is shifted by `by` bytes, what is learnt from it, and the reason for reports. Pure: the same
    /// on all ranks.
    pub fn turn(&mut self, direction: Direction, by: i64) -> (Turn, Option<Lesson>) {
        let is_timed = *self.direction.get_or_insert(direction) == direction;
        let next = if is_timed { self.trials.next() } else { None };
        let has = |placed: &Placed| Turn::Has(placed.plan.clone(), by - placed.base);
        let turn = match (next, &self.tried) {
            (None, _) => has(&self.kept),
            (Some(way), Some(tried)) if tried.plan.way == way => has(tried),
            (Some(way), _) => Turn::Makes(way),
        };
        let way = next.unwrap_or(self.kept.plan.way);
        (turn, is_timed.then_some(Lesson::Went(way)))
    }

    /// Keeps the plan that a trial has made for the access shifted by `by` bytes.
    pub fn tries(&mut self, plan: Arc<Plan>, by: i64) {
        self.tried = Some(Placed { plan, base: by });
    }

    /// Gives the plan in place of one that cannot be made, and its shift. That way is not tried again.
    pub fn refuse(&mut self, way: Way, by: i64) -> (Arc<Plan>, i64) {
        self.trials.refuse(way);
        (self.kept.plan.clone(), by - self.kept.base)
    }

    /// Learns from the time of a call, the same on all ranks.
    pub fn learn(&mut self, lesson: Lesson, spent: Spent) {
        match lesson {
            Lesson::Made => self.trials.made(spent),
            Lesson::Went(way) => self.trials.went(way, spent),
        }
        let tried = self.tried.as_ref().map(|tried| tried.plan.way);
        if tried.is_some() && tried == self.trials.kept() {
            self.kept = self.tried.take().unwrap_or_else(|| self.kept.clone());
        } else if tried.is_some_and(|way| self.trials.has_refused(way)) {
            self.tried = None;
        }
    }

    /// Why a call goes as `plan` says, for reports.
    pub fn why(&self, plan: &Plan, setup: &Setup) -> String {
        let by = match self.trials.kept() {
            Some(kept) if kept != plan.way => ChosenBy::Trial,
            _ if plan.way != plan.ways[0].way => ChosenBy::Measurement,
            _ => ChosenBy::Prediction,
        };
        setup.roles(plan.bytes).reason(plan.way, by)
    }
}
