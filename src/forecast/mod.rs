//! What the library's kernels would take on a machine that is not here: workloads for the simulator ([`crate::sim`]).
//!
//! | module | holds |
//! |---|---|
//! | [`all_to_many`] | all ranks send to few, again and again |
//! | [`collective_write`] | a whole collective write: lists, rounds of data, placement, the file |
//! | [`census`] | what every rank has for every aggregator and window |
//! | [`shared_file`] | its file: aggregators, domains, servers |
//! | [`written`] | what a collective write takes, by parts |
//! | `lockstep` | the paper's pairwise exchange with its empty messages, without simulating each |
//! | `tally` | the counts of one rank |
//! | `travel` | an exchange of a collective write, in the order of its kernel |
//! | `matrix` | who sends how much to whom |
//! | `orders` | the orders of a kernel, in little memory |

pub mod all_to_many;
pub mod census;
pub mod collective_write;
mod lockstep;
mod matrix;
mod orders;
pub mod shared_file;
mod tally;
mod travel;
pub mod written;

pub use all_to_many::{AllToMany, AllToManyOptions, Way};
pub use census::{Census, Division, Lists};
pub use collective_write::{CollectiveWrite, CollectiveWriteOptions};
pub use shared_file::SharedFile;
pub use written::{Parts, Written};
