//! The collective algorithms of the papers, as schedules: to compare, to simulate and to draw. What the library itself
//! uses is in [`tributary::collectives`]; its algorithms have a row here too.
//!
//! Each algorithm has a file and a row in [`ALGORITHMS`]; it is a pure function that returns a schedule.
//! [`mod@algorithm`] says where the bytes are; `trib-lab algorithms` lists all. The functions that run schedules on an
//! endpoint are collective: every rank of the endpoint calls them, in the same order.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@algorithm`] | the problem of one rank, and the row of the registry |
//! | [`mod@allgather`] | allgathers; three of them use the topology |
//! | [`mod@gatherv`] | irregular gather and scatter; the ordered tree, and its construction from sizes known only locally |
//! | [`mod@broadcast`], [`reduce`], [`mod@allreduce`] | the algorithms of the thesis |
//! | [`in_place`], [`mod@hierarchical`] | algorithms among any ranks, and hierarchies of them |
//! | `part`, `group` | a collective among the members of a group, as a step of a larger one |
//! | [`intergroup`] | allgathers between two groups |
//! | `blocks`, `division`, `fold`, `rates` | shared: blocks of messages, groups of groups, powers of two, cost of a message |

pub mod algorithm;
pub mod allgather;
pub mod allreduce;
mod blocks;
pub mod broadcast;
mod division;
mod fold;
pub mod gatherv;
mod group;
pub mod hierarchical;
pub mod in_place;
pub mod intergroup;
mod part;
mod rates;
pub mod reduce;

pub use algorithm::{Algorithm, Operation, Problem};
pub use allgather::locality_bruck;
pub use gatherv::{Gather, gatherv, scatterv};
pub use group::Group;
pub use hierarchical::{Groups, Scheme, hierarchical};
pub use in_place::InPlace;
pub use intergroup::{TwoGroups, intergroup_allgatherv};
pub use rates::Rates;

use tributary::collectives::FIRST_FREE_TAG;

/// Registry of all collective algorithms, by operation.
pub static ALGORITHMS: &[&Algorithm] = &[
    &allgather::RING,
    &allgather::RECURSIVE_DOUBLING,
    &allgather::DISSEMINATION,
    &allgather::BRUCK,
    &allgather::HIERARCHICAL,
    &allgather::MULTI_LANE,
    &allgather::LOCALITY_BRUCK,
    gatherv::LINEAR.gather,
    gatherv::LINEAR_SYNCHRONIZED.gather,
    gatherv::BINOMIAL.gather,
    gatherv::MINIMUM_SPANNING_TREE.gather,
    gatherv::ORDERED.gather,
    &gatherv::ORDERED_GATHER_THRESHOLD,
    &gatherv::HIERARCHICAL_GATHER,
    gatherv::LINEAR.scatter,
    gatherv::LINEAR_SYNCHRONIZED.scatter,
    gatherv::BINOMIAL.scatter,
    gatherv::MINIMUM_SPANNING_TREE.scatter,
    gatherv::ORDERED.scatter,
    &gatherv::ORDERED_SCATTER_THRESHOLD,
    &gatherv::HIERARCHICAL_SCATTER,
    &broadcast::FLAT.algorithm,
    &broadcast::CHAIN.algorithm,
    &broadcast::PIPELINE.algorithm,
    &broadcast::BINARY.algorithm,
    &broadcast::SPLIT_BINARY.algorithm,
    &broadcast::BINOMIAL.algorithm,
    &broadcast::SCATTER_RING_ALLGATHER.algorithm,
    &broadcast::SCATTER_RECURSIVE_DOUBLING_ALLGATHER.algorithm,
    &hierarchical::BROADCAST,
    &reduce::FLAT.algorithm,
    &reduce::SEGMENTED_FLAT.algorithm,
    &reduce::CHAIN.algorithm,
    &reduce::PIPELINE.algorithm,
    &reduce::BINARY.algorithm,
    &reduce::BINOMIAL.algorithm,
    &reduce::IN_ORDER_BINARY.algorithm,
    &reduce::RABENSEIFNER.algorithm,
    &hierarchical::REDUCE,
    &allreduce::LINEAR.algorithm,
    &allreduce::NON_OVERLAPPING.algorithm,
    &allreduce::RECURSIVE_DOUBLING.algorithm,
    &allreduce::RING.algorithm,
    &allreduce::SEGMENTED_RING.algorithm,
    &allreduce::RABENSEIFNER.algorithm,
    &hierarchical::ALLREDUCE,
    &intergroup::allgather::ALLGATHER,
    &intergroup::allgatherv::ALLGATHERV,
    &intergroup::two_step::TWO_STEP,
    &intergroup::root_gathering::ROOT_GATHERING,
];

/// The algorithms of [`ALGORITHMS`] that work in place among any ranks. Hierarchies are built from them.
pub static IN_PLACE: &[&InPlace] = &[
    &broadcast::FLAT,
    &broadcast::CHAIN,
    &broadcast::PIPELINE,
    &broadcast::BINARY,
    &broadcast::SPLIT_BINARY,
    &broadcast::BINOMIAL,
    &broadcast::SCATTER_RING_ALLGATHER,
    &broadcast::SCATTER_RECURSIVE_DOUBLING_ALLGATHER,
    &reduce::FLAT,
    &reduce::SEGMENTED_FLAT,
    &reduce::CHAIN,
    &reduce::PIPELINE,
    &reduce::BINARY,
    &reduce::BINOMIAL,
    &reduce::IN_ORDER_BINARY,
    &reduce::RABENSEIFNER,
    &allreduce::LINEAR,
    &allreduce::NON_OVERLAPPING,
    &allreduce::RECURSIVE_DOUBLING,
    &allreduce::RING,
    &allreduce::SEGMENTED_RING,
    &allreduce::RABENSEIFNER,
];

/// The gathers and scatters of [`ALGORITHMS`] that work among any ranks. Hierarchies are built from them.
pub static GATHERS: &[&Gather] = &[
    &gatherv::LINEAR,
    &gatherv::LINEAR_SYNCHRONIZED,
    &gatherv::BINOMIAL,
    &gatherv::MINIMUM_SPANNING_TREE,
    &gatherv::ORDERED,
];

/// Returns the algorithm with this operation and name.
pub fn algorithm(operation: Operation, name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().copied().find(|algorithm| algorithm.operation == operation && algorithm.name == name)
}

/// Tag of the messages of gatherv and scatterv. The engine's tags begin at [`FIRST_FREE_TAG`]; these are far behind
/// them.
const IRREGULAR: u16 = FIRST_FREE_TAG + 64;
/// Tag of the messages of the allgather between two groups.
const INTERGROUP: u16 = FIRST_FREE_TAG + 65;
