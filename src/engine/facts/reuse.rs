//! How the access of a rank relates to the accesses of kept plans, and the plan that all ranks agree to use again.

use tributary_base::wire;

/// How a rank's access relates to the accesses of the kept plans. Plans are a set of bits, one for each kept plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessShift {
    /// The access differs from all plans.
    No,
    /// The access is that of these plans, shifted by this number of bytes.
    Shifted(u64, i64),
    /// The access is empty, like the accesses of these plans on this rank, so any shift of the other ranks fits.
    Nothing(u64),
}

impl AccessShift {
    /// Returns the words for the agreement: the plans that fit, and the lowest and highest shift that fit, as unsigned
    /// numbers in the order of the shifts.
    pub const fn words(self) -> [u64; 3] {
        match self {
            Self::No => [0, 0, 0],
            Self::Shifted(plans, by) => [plans, by as u64 ^ 1 << 63, by as u64 ^ 1 << 63],
            Self::Nothing(plans) => [plans, u64::MAX, 0],
        }
    }

    /// Returns the plan and the shift that fit all ranks, from the merged words.
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
