//! What the library's kernels would take on a machine that is not here: workloads for the simulator ([`crate::sim`]).
//!
//! | module | holds |
//! |---|---|
//! | [`all_to_many`] | all ranks send to few, again and again |
//! | [`collective_write`] | a whole collective write: lists, rounds of data, placement, the file |
//! | [`message_counts`] | what every rank has for every aggregator and window |
//! | [`shared_file`] | its file: aggregators, domains, servers |
//! | [`written`] | what a collective write takes, by parts |
//! | `lockstep` | the paper's pairwise exchange with its empty messages, without simulating each |
//! | `rank_counts` | the counts of one rank |
//! | `exchange_messages` | an exchange of a collective write, in the order of its kernel |
//! | `matrix` | who sends how much to whom |
//! | `kernel_orders` | the orders of a kernel, in little memory |

pub mod all_to_many;
pub mod collective_write;
mod exchange_messages;
mod kernel_orders;
mod lockstep;
mod matrix;
pub mod message_counts;
mod rank_counts;
pub mod shared_file;
pub mod written;

pub use all_to_many::{AllToMany, AllToManyOptions, Way};
pub use collective_write::{CollectiveWrite, CollectiveWriteOptions};
pub use message_counts::{Division, Lists, MessageCounts};
pub use shared_file::SharedFile;
pub use written::{Parts, Written};
