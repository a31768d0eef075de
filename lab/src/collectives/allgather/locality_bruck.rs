//! The row of the locality-aware Bruck allgather, which is the library's: [`mod@bruck`].

use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use tributary::collectives::allgather::locality_bruck as bruck;
use tributary::error::{Error, Result};
use tributary::schedule::Schedule;
use tributary::topology::Topology;

/// See the module.
pub static LOCALITY_BRUCK: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "locality_bruck",
    about: "each rank of a node fetches from another node, then the node gathers: few and small messages between nodes",
    source: "Bienz et al. 2022, Algorithm 2, equation 4",
    cost: "q^k nodes of q ranks: k t_s + (q + ... + q^k) m t_w between nodes, ceil(log2 q) (k + 1) t_s + (p - 1) m t_w inside",
    irregular: true,
    schedule: |problem| bruck::schedule(problem.rank, problem.sizes, &[problem.topology]),
};

/// The schedule of one rank over several levels of locality ([`bruck::schedule`]).
///
/// # Errors
/// A level that does not have as many ranks as the problem.
pub fn locality_bruck(problem: &Problem<'_>, levels: &[&Topology]) -> Result<Schedule> {
    for (index, level) in levels.iter().enumerate() {
        if level.ranks() != problem.ranks() {
            let what = format!("ranks of locality level {index}");
            return Err(Error::argument(what, level.ranks(), format!("{}, as the problem has", problem.ranks())));
        }
    }
    Ok(bruck::schedule(problem.rank, problem.sizes, levels))
}
