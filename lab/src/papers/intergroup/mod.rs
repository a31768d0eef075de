//! Kang et al., "Scalable Algorithms for MPI Intergroup Allgather and Allgatherv" (Parallel Computing 85, 2019).
//!
//! | module | holds |
//! |---|---|
//! | `setting` | the eight settings of section 5: two groups and their blocks |
//! | `costs` | the equations and theorems, by schedules in the one-port model |
//! | `inside` | the algorithms with an allgather round a ring inside the groups, as MPI libraries have it |
//! | `cori` | section 5, simulated on Cori |

mod cori;
mod costs;
mod inside;
mod setting;

use super::measure::{Draw, Measure};

pub(super) static MEASURES: &[Measure] = &[
    Measure { name: "equation-5", about: "equation 5: the improvement to converge to", run: costs::equation_5 },
    Measure {
        name: "one-port",
        about: "transfer time of root gathering over that of an algorithm, by their schedules, one port a rank",
        run: costs::ratio,
    },
    Measure {
        name: "over-bound",
        about: "transfer time of a schedule, one port a rank, over a bound of the paper",
        run: costs::over_bound,
    },
    Measure {
        name: "best-root-gathering",
        about: "equation 1 without startups, over the lower bound",
        run: costs::best_root_gathering,
    },
    Measure { name: "startups", about: "startups of a schedule over those of the paper", run: costs::startups },
    Measure { name: "subgroups", about: "how many ranks of A each rank of B exchanges with", run: costs::subgroups },
    Measure {
        name: "links",
        about: "pairs of ranks that a schedule has messages between, over the paper's number",
        run: costs::links,
    },
    Measure {
        name: "improvement",
        about: "simulated time of root gathering over that of the setting's algorithm",
        run: cori::improvement,
    },
    Measure { name: "shape", about: "the same, for several message sizes", run: cori::shape },
    Measure {
        name: "over-equation-5",
        about: "the simulated improvement over that of equation 5",
        run: cori::over_equation_5,
    },
    Measure {
        name: "extreme",
        about: "the greatest or least of the simulated improvements over settings and message sizes",
        run: cori::extreme,
    },
    Measure {
        name: "one-step-over-two",
        about: "simulated time of Algorithm 1 over that of the algorithm in two steps",
        run: cori::one_step_over_two,
    },
];

pub(super) static DRAWINGS: &[Draw] =
    &[Draw { name: "times", run: cori::times }, Draw { name: "improvements", run: cori::improvements }];
