//! Closed forms of a pattern: formulas for its sums, and for the fan-in of an aggregator.
//!
//! The formulas come from a pattern's definition, never from its extents, so tests can compare the two.

/// The division of a file among aggregators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Stripes assigned round-robin, one stripe per aggregator and round (Lustre as in the papers).
    Stripes {
        /// Size of a stripe, in bytes.
        stripe: u64,
        /// Number of aggregators.
        aggregators: u64,
    },
    /// Equal contiguous ranges, one window of each per round (GPFS).
    Ranges {
        /// Size of a window (the part of the file that an aggregator holds in a round), in bytes.
        window: u64,
        /// Number of aggregators.
        aggregators: u64,
    },
}

impl Division {
    /// Returns the number of bytes that an aggregator handles in a round.
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

/// Sums and bounds of a pattern, computed by formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedForm {
    /// Number of requests of all ranks and steps.
    pub requests: u64,
    /// Number of bytes of all ranks and steps.
    pub bytes: u64,
    /// Upper bound of the number of ranks that send metadata to one aggregator in a call, the aggregator included if
    /// it writes. None if the number depends on the data (a list of extents).
    pub metadata_fan_in: Option<u64>,
    /// Upper bound of the number of ranks that send data into one window; None if the number depends on the data.
    pub data_fan_in: Option<u64>,
}
