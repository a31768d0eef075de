//! How the access of a rank relates to those of plans that are kept, and the plan that ranks agree to use again.

use crate::engine::facts::words::words;

/// How a rank's access relates to those of the plans that are kept; of plans there is a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessShift {
    /// It is another access.
    No,
    /// It is that of these plans, shifted by so many bytes.
    Shifted(u64, i64),
    /// It is empty, as those of these plans are, so any shift of the other ranks fits.
    Nothing(u64),
}

impl AccessShift {
    /// For the agreement: the plans that fit, and the least and the greatest shift that fit, as unsigned numbers in order.
    pub const fn words(self) -> [u64; 3] {
        match self {
            Self::No => [0, 0, 0],
            Self::Shifted(plans, by) => [plans, by as u64 ^ 1 << 63, by as u64 ^ 1 << 63],
            Self::Nothing(plans) => [plans, u64::MAX, 0],
        }
    }

    /// The plan, and the shift, that all ranks agree on, from the combined words.
    pub fn agreed(plans: u64, lowest: u64, highest: u64) -> Option<Reuse> {
        let by = |value: u64| (value ^ (1 << 63)) as i64;
        // If no rank has data, the shift is 0.
        let shift = if lowest > highest { Some(0) } else { (lowest == highest).then(|| by(lowest)) };
        shift.filter(|_| plans != 0).map(|shift| Reuse { plan: plans.trailing_zeros() as usize, shift })
    }
}

words! {
    /// A plan that fits on all ranks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Reuse {
        /// Its place among those that are kept.
        pub plan: usize,
        /// The bytes by which every rank's access is shifted from that of the plan, if that is the only change.
        pub shift: i64,
    }
}
