//! Hierarchical allgather: every node gathers to a leader, the leaders gather among themselves, every leader
//! broadcasts.
//!
//! Träff, Efficient Allgather for Regular SMP-Clusters (2006), as Bienz et al. 2022 compare with it (sections 2.2 and
//! 5). It is the multi-lane allgather with one lane: a binomial gather, Bruck's allgather among the leaders, a binomial
//! broadcast (which also brings a rank its own block). With q ranks on each of N nodes, only leaders send between
//! nodes: (2 ceil(log2 q) + ceil(log2 N)) t_s + ((q - 1) + (N - 1) q + ceil(log2 q) p) m t_w. O(p) memory for the
//! sizes.

use super::multi_lane::{Lanes, through};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use tributary::schedule::Schedule;

/// Hierarchical allgather (see the module).
pub static HIERARCHICAL: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "hierarchical",
    about: "every node gathers to its lowest rank; these gather among themselves and broadcast on their nodes",
    source: "Bienz et al. 2022, sections 2.2 and 5; Träff 2006",
    cost: "N nodes of q ranks: (2 ceil(log2 q) + ceil(log2 N)) t_s + ((q - 1) + (N - 1) q + ceil(log2 q) p) m t_w",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    through(problem, &Lanes { topology: problem.topology, lanes: 1 })
}
