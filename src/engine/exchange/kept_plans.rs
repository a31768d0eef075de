//! The plans of earlier calls on a file, and how the access of a rank relates to the accesses for which they were made.

use std::cell::OnceCell;
use std::sync::Arc;

use tributary_base::wire;

use crate::access::{AccessStats, BufferLayout, Extents};
use crate::engine::choose::learned::Learned;
use crate::engine::choose::{KEPT_REQUESTS, MOST_PLANS};
use crate::engine::exchange::plan::Plan;
use crate::engine::exchange::planner::ExchangePlanner;

/// How a rank's access relates to the accesses of the kept plans. A set of plans is an integer with one bit for each kept
/// plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessShift {
    /// The access differs from all plans.
    No,
    /// The access is the same as for these plans, shifted by this number of bytes.
    Shifted(u64, i64),
    /// The access is empty, like the accesses of these plans on this rank, so any shift of the other ranks fits.
    Nothing(u64),
}

impl AccessShift {
    /// Returns the integers for the agreement: the plans that fit, and the lowest and highest shift that fit, as
    /// unsigned numbers in the order of the shifts.
    pub const fn integers(self) -> [u64; 3] {
        match self {
            Self::No => [0, 0, 0],
            Self::Shifted(plans, by) => [plans, by as u64 ^ 1 << 63, by as u64 ^ 1 << 63],
            Self::Nothing(plans) => [plans, u64::MAX, 0],
        }
    }

    /// Returns the plan and the shift that fit all ranks, from the merged integers.
    pub fn agreed(plans: u64, lowest: u64, highest: u64) -> Option<Reuse> {
        let by = |value: u64| (value ^ (1 << 63)) as i64;
        // If no rank has data, the shift is 0.
        let shift = if lowest > highest { Some(0) } else { (lowest == highest).then(|| by(lowest)) };
        shift.filter(|_| plans != 0).map(|shift| Reuse { plan: plans.trailing_zeros() as usize, shift })
    }
}

/// A kept plan that fits the access of every rank, and the shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reuse {
    /// Index of the plan among the kept plans.
    pub plan: usize,
    /// Number of bytes by which the access of every rank is shifted from the access of the plan.
    pub shift: i64,
}

wire::fields!(struct Reuse { plan, shift });

/// The kept plans of a file, up to [`MOST_PLANS`], so that a program's accesses may take turns. All ranks have the same plans
/// in the same order, because every exchange finds or makes one on all ranks.
#[derive(Default)]
pub struct Plans(Vec<Cached>);

impl Plans {
    /// Returns how an access relates to the accesses of the plans, and the plan that may fit. O(encoded size of the
    /// access) for each plan with a similar access.
    pub fn find_shift(&self, file: &Extents, layout: &BufferLayout) -> (AccessShift, Option<&Cached>) {
        let shifts =
            self.0.iter().enumerate().filter_map(|(plan, cached)| Some((plan, cached, cached.shift_of(file, layout)?)));
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

    /// Selects the plan on which all ranks agreed for this call, if the shift fits the layout of the file, and nothing was
    /// learned since the plan was made. Returns the shift in bytes.
    pub fn find(
        &mut self,
        reuse: Option<Reuse>,
        left: &AccessStats,
        planner: &ExchangePlanner,
        learned: &Learned,
    ) -> Option<i64> {
        let Reuse { plan, shift } = reuse?;
        let cached = self.0.get(plan)?;
        let fits = cached.plan.changes == learned.changes && cached.fits(shift, left, planner);
        if fits {
            let found = self.0.remove(plan);
            self.0.push(found);
        }
        fits.then_some(shift)
    }

    /// Keeps a plan that this call has made. Removes the plan on which all ranks agreed, if it did not fit, and the plans unused
    /// for longest if there are too many.
    pub fn keep(&mut self, cached: Cached, unfit: Option<Reuse>) {
        if let Some(Reuse { plan, .. }) = unfit
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

    /// Returns the plan of this call, or of the last call that had one.
    pub fn current(&self) -> Option<&Arc<Plan>> {
        self.0.last().map(|cached| &cached.plan)
    }
}

/// A kept plan, and this rank's access for which it was made.
pub struct Cached {
    file: Extents,
    layout: BufferLayout,
    /// Agreed end of the call's bytes in the file.
    end: u64,
    /// Number of extents of all ranks.
    requests: u64,
    /// This rank's part of [`AccessStats::touched`], after its first use.
    touched: OnceCell<u64>,
    plan: Arc<Plan>,
}

impl Cached {
    /// Makes an entry for a plan of this rank's access. `left` are the access statistics of all ranks.
    pub fn new(file: &Extents, layout: &BufferLayout, left: &AccessStats, plan: Arc<Plan>) -> Self {
        let (end, requests) = (left.end, left.requests);
        Self { file: file.clone(), layout: layout.clone(), end, requests, touched: OnceCell::new(), plan }
    }

    /// Returns the number of bytes by which an access is shifted from the access of this plan; `None` if they differ in more
    /// than a shift. O(encoded size of the access).
    fn shift_of(&self, file: &Extents, layout: &BufferLayout) -> Option<i64> {
        file.shift_from(&self.file).filter(|_| self.layout == *layout)
    }

    /// Returns true if a shift, the same on all ranks, fits the layout of the file.
    fn fits(&self, by: i64, left: &AccessStats, planner: &ExchangePlanner) -> bool {
        let is_whole = planner.fits(by, left.bytes);
        is_whole && left.end == self.end.wrapping_add(by as u64)
    }

    /// Returns the approximate number of windows that the access touches. `count` computes the number at the first use.
    /// (Every call that may repeat needs it: if the plan does not fit on another rank, a new plan needs the sum over all
    /// ranks.)
    pub fn touched(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.touched.get_or_init(count)
    }
}
