//! Closed forms of a pattern: its sums, and the fan-in of an aggregator.
//!
//! The formulas come from a pattern's definition, never from its extents: tests compare the two.

/// How a file is divided among aggregators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Stripes assigned round-robin, one stripe per aggregator and round (Lustre as in the papers).
    Stripes {
        /// Bytes of a stripe.
        stripe: u64,
        /// Number of aggregators.
        aggregators: u64,
    },
    /// Equal contiguous ranges, one window of each per round (GPFS).
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

    /// Returns the number of aggregators.
    pub fn aggregators(self) -> u64 {
        match self {
            Self::Stripes { aggregators, .. } | Self::Ranges { aggregators, .. } => aggregators,
        }
    }
}

/// The closed forms of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedForm {
    /// Requests of all ranks and steps.
    pub requests: u64,
    /// Bytes of all ranks and steps.
    pub bytes: u64,
    /// Upper bound of the ranks that send metadata to one aggregator in a call, itself included if it writes. None if it
    /// depends on the data (a list of extents).
    pub metadata_fan_in: Option<u64>,
    /// Upper bound of the ranks that send data into one window; none likewise.
    pub data_fan_in: Option<u64>,
}
