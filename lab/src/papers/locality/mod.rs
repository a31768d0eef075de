//! Bienz, Gautam, Kharel, "A Locality-Aware Bruck Allgather" (EuroMPI/USA 2022).
//!
//! | module | holds |
//! |---|---|
//! | `counts` | messages and values between regions, by the schedules |
//! | `model` | section 4: equations 3 and 4, figures 7 and 8 |
//! | `measured` | section 5: figures 9 and 10, simulated on Quartz and Lassen |

mod counts;
mod measured;
mod model;

use super::measure::{Draw, Measure};

pub(super) static MEASURES: &[Measure] = &[
    Measure { name: "counts", about: "what a rank sends to other regions, the most of any rank", run: counts::most },
    Measure { name: "modeled", about: "equations 3 and 4, in microseconds", run: model::times },
    Measure {
        name: "modeled-improvement",
        about: "equation 3 over equation 4, by ranks of a region",
        run: model::by_region_size,
    },
    Measure {
        name: "modeled-by-size",
        about: "equation 3 over equation 4, by bytes of a rank",
        run: model::by_message_size,
    },
    Measure { name: "simulated", about: "simulated times of the allgathers, in microseconds", run: measured::times },
    Measure {
        name: "fastest",
        about: "the share of process counts at which the locality-aware allgather is faster than all others named",
        run: measured::fastest,
    },
    Measure {
        name: "improvement",
        about: "another allgather over the locality-aware one, by ranks of a region",
        run: measured::improvement,
    },
];

pub(super) static DRAWINGS: &[Draw] = &[
    Draw { name: "modeled-regions", run: model::figure_7 },
    Draw { name: "modeled-sizes", run: model::figure_8 },
    Draw { name: "simulated", run: measured::figure },
];
