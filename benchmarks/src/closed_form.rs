//! What a pattern states about itself: sums, and how many ranks meet at an aggregator.
//!
//! The formulas come from a pattern's definition, never from its extents: tests hold the one to the other.

/// How a file is divided among aggregators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Stripes dealt out cyclically, one stripe of the aggregator a round (Lustre as the papers run it).
    Stripes {
        /// Bytes of a stripe.
        stripe: u64,
        /// Number of aggregators.
        aggregators: u64,
    },
    /// Equal contiguous ranges, a window of each a round (GPFS).
    Ranges {
        /// Bytes of a window.
        window: u64,
        /// Number of aggregators.
        aggregators: u64,
    },
}

impl Division {
    /// Bytes an aggregator takes in a round.
    pub fn window(self) -> u64 {
        match self {
            Self::Stripes { stripe, .. } => stripe,
            Self::Ranges { window, .. } => window,
        }
    }

    /// Number of aggregators.
    pub fn aggregators(self) -> u64 {
        match self {
            Self::Stripes { aggregators, .. } | Self::Ranges { aggregators, .. } => aggregators,
        }
    }
}

/// A pattern's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedForm {
    /// Requests of all ranks and steps.
    pub requests: u64,
    /// Bytes of all ranks and steps.
    pub bytes: u64,
    /// The most ranks whose extents one aggregator is told of in a call, itself included if it writes; never below what
    /// happens. None where only the data can tell (a list of extents).
    pub metadata_fan_in: Option<u64>,
    /// The most ranks that send into one window, likewise.
    pub data_fan_in: Option<u64>,
}
