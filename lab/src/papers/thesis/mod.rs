//! Hierarchical collectives (Hasanov, thesis, 2015): its models by its equations and one-port time of the schedules,
//! its measurements by simulation.
//!
//! | file | holds |
//! |---|---|
//! | `model` | the best number of groups, the exascale prediction |
//! | `bluegene` | broadcasts on BlueGene/P |
//! | `grid` | collectives on Grid'5000 |
//! | `product` | SUMMA and HSUMMA on BlueGene/P |
//! | `broadcasts` | broadcasts step by step, as a workload |

mod bluegene;
mod broadcasts;
mod grid;
mod model;
mod product;

use super::{Draw, Measure, PapersError, Values};

pub(super) static MEASURES: &[Measure] = &[
    Measure {
        name: "one-port-times",
        about: "us of the schedules by groups, one port a rank",
        run: model::one_port_times,
    },
    Measure { name: "crossing", about: "scatter-ring-allgather with sqrt(p) groups over none", run: model::crossing },
    Measure { name: "product-times", about: "seconds HSUMMA communicates, by groups", run: model::product_times },
    Measure {
        name: "product-gains",
        about: "communication of SUMMA over HSUMMA's, by groups",
        run: model::product_gains,
    },
    Measure { name: "optimum", about: "equation 4.12 over the sum of the broadcasts", run: model::optimum },
    Measure { name: "broadcast-speedup", about: "simulated, none over the best groups", run: bluegene::speedup },
    Measure { name: "broadcast-speedups", about: "the same, by ranks", run: bluegene::speedups },
    Measure { name: "between-groups", about: "us among the leaders, by groups", run: bluegene::between },
    Measure { name: "inside-groups", about: "us inside a group, by groups", run: bluegene::inside },
    Measure { name: "grid-speedup", about: "simulated, none over the best groups", run: grid::speedup },
    Measure { name: "hsumma-communication", about: "simulated, SUMMA over HSUMMA", run: product::communication },
    Measure { name: "hsumma-execution", about: "simulated, SUMMA over HSUMMA", run: product::execution },
];

pub(super) static DRAWINGS: &[Draw] = &[
    Draw { name: "broadcast", run: bluegene::draw },
    Draw { name: "product-model", run: model::draw },
    Draw { name: "product", run: product::draw },
];

/// Returns a named value for each of `numbers`; the name is the number.
fn named(numbers: &[usize], value: impl Fn(usize) -> Result<f64, PapersError>) -> Result<Values, PapersError> {
    numbers.iter().map(|&number| Ok((number.to_string(), value(number)?))).collect()
}

/// Returns the least of the times that `time` returns for all items.
fn best<T>(all: impl IntoIterator<Item = T>, time: impl Fn(T) -> Result<f64, PapersError>) -> Result<f64, PapersError> {
    let mut least = f64::INFINITY;
    for one in all {
        least = least.min(time(one)?);
    }
    Ok(least)
}
