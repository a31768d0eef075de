//! Kang et al., "Improving All-to-Many Personalized Communication in Two-Phase I/O" (SC 2020).
//!
//! | module | holds |
//! |---|---|
//! | `straggler` | section III.B: what noise costs, by Monte-Carlo |

mod straggler;

use super::measure::{Draw, Measure};

pub(super) static MEASURES: &[Measure] = &[
    Measure {
        name: "straggler-delay",
        about: "expected delay of a receiver by senders that are late, in standard deviations of a transfer",
        run: straggler::delay,
    },
    Measure {
        name: "straggler-probability",
        about: "how likely the second receive of the balanced spread-out algorithm waits",
        run: straggler::probability,
    },
];

pub(super) static DRAWINGS: &[Draw] = &[];
