//! Kang et al., "Improving All-to-Many Personalized Communication in Two-Phase I/O" (SC 2020).
//!
//! | module | holds |
//! |---|---|
//! | `datasets` | table I and the arithmetic of section V |
//! | `noisy_exchange` | section III.B: the same of the real schedules |
//! | `straggler` | section III.B: what noise costs, by Monte-Carlo |

mod datasets;
mod noisy_exchange;
mod straggler;

use super::measure::{Draw, Measure};

pub(super) static MEASURES: &[Measure] = &[
    Measure { name: "requests", about: "noncontiguous requests of a collective write", run: datasets::requests },
    Measure { name: "bytes", about: "bytes of a collective write", run: datasets::bytes },
    Measure { name: "rounds", about: "rounds of two-phase I/O", run: datasets::rounds },
    Measure { name: "senders", about: "the most ranks that send into a window", run: datasets::senders },
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
    Measure {
        name: "noisy-exchange",
        about: "delay of receivers in an exchange with one port a rank and normal noise, in transfers",
        run: noisy_exchange::delay,
    },
];

pub(super) static DRAWINGS: &[Draw] = &[];
