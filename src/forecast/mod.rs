//! What the library's kernels would take on a machine that is not here: workloads for the simulator ([`crate::sim`]).
//!
//! | module | holds |
//! |---|---|
//! | [`all_to_many`] | all ranks send to few, again and again |
//! | `orders` | the orders of a kernel, in little memory |

pub mod all_to_many;
mod orders;

pub use all_to_many::{AllToMany, AllToManyOptions, Way};
