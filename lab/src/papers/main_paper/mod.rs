//! Kang et al., "Improving All-to-Many Personalized Communication in Two-Phase I/O" (SC 2020).
//!
//! | module | holds |
//! |---|---|
//! | `setting` | section V: codes, machines, nodes; what is exchanged |
//! | `column` | what a write takes with one choice of kernels, simulated |
//! | `engine` | the same by the engine itself, in virtual time |
//! | `figure4`, `figure5` | throttles; kernels side by side |
//! | `datasets` | table I and the arithmetic of section V |
//! | `noisy_exchange` | section III.B: the same of the real schedules |
//! | `straggler` | section III.B: what noise costs, by Monte-Carlo |

mod column;
mod datasets;
mod engine;
mod figure4;
mod figure5;
mod noisy_exchange;
mod setting;
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
    Measure {
        name: "throttles",
        about: "seconds of communication of the E3SM F case, balanced, under each throttle",
        run: figure4::throttles,
    },
    Measure { name: "seconds", about: "seconds of a part of a write, by kernels", run: figure5::seconds },
    Measure {
        name: "ratio",
        about: "a part with the fastest of the slow kernels over the slowest of the fast",
        run: figure5::ratio,
    },
    Measure { name: "scaling", about: "seconds of a part of a write, by nodes", run: figure5::scaling },
    Measure {
        name: "metadata-fan-in",
        about: "ranks that send metadata to an aggregator, on average",
        run: figure5::metadata_fan_in,
    },
];

pub(super) static DRAWINGS: &[Draw] =
    &[Draw { name: "throttles", run: figure4::draw }, Draw { name: "kernels", run: figure5::draw }];
