//! The library's kernels on other machines: workloads for the simulator ([`crate::sim`]).
//!
//! | module | holds |
//! |---|---|
//! | [`all_to_many`] | repeated all-to-many exchanges |
//! | [`collective_write`] | a whole collective write: metadata, rounds of data, placement, file I/O |
//! | [`costs`] | a machine's figures for the library's cost model |
//! | [`message_counts`] | the bytes of every rank for every aggregator and window |
//! | [`shared_file`] | the file: aggregators, file domains, servers |
//! | [`written`] | the times of a collective write, by parts |
//! | `lockstep` | the paper's pairwise exchange with empty messages, computed without simulating each |
//! | `rank_counts` | the counts of one rank |
//! | `exchange_messages` | one exchange of a collective write, in the order of its kernel |
//! | `matrix` | the sparse matrix of messages |
//! | `kernel_orders` | the orders of a kernel, compressed |

pub mod all_to_many;
pub mod collective_write;
pub mod costs;
mod exchange_messages;
mod kernel_orders;
mod lockstep;
mod matrix;
pub mod message_counts;
mod rank_counts;
pub mod shared_file;
pub mod written;

pub use all_to_many::{AllToMany, AllToManyKernel, AllToManyOptions};
pub use collective_write::{CollectiveWrite, CollectiveWriteOptions};
pub(crate) use message_counts::dealt;
pub use message_counts::{FileDivision, MessageCounts, MetadataForm};
pub use shared_file::SharedFile;
pub use written::{Parts, Written};
