//! The row of the Bruck allgather, which is the library's: [`mod@tributary::collectives::allgather::bruck`].

use crate::collectives::algorithm::{Algorithm, Operation};
use tributary::collectives::allgather::locality_bruck;

/// See the module.
pub static BRUCK: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "bruck",
    about: "each step, every rank sends all it has down the ranks, twice as far as before; one rotation at the end",
    source: "Bienz et al. 2022, Algorithm 1, equation 3; Bruck et al. 1997",
    cost: "ceil(log2 p) t_s + (p - 1) m t_w",
    irregular: true,
    schedule: |problem| locality_bruck::schedule(problem.rank, problem.sizes, &[]),
};
