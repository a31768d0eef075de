//! The two-phase engine: collective writes and reads of a shared file.
//!
//! ```text
//! view + buffer -> agree on ranges -> plan: domains, flatten -> metadata exchange
//!   -> rounds: data exchange -> place -> write behind -> agreement: error, bytes, statistics
//! ```
//!
//! A read goes the same road the other way: the same plan and metadata, then rounds of read ahead, exchange backwards (the
//! transposed schedules), deliver.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`], `write`, `read` | [`File`]: open, write, read, close; what a caller uses |
//! | `setup` | what is fixed at open: topology, driver, aggregators, kernels |
//! | `plan` | ranges, the choice of path, domains; the plan that is used again |
//! | `flatten`, `duplicate_reads`, `flow` | the access cut by aggregator; what it wants twice; its cursors, on both sides |
//! | `phase`, `variable_exchange`, `metadata` | which way it goes; exchange of messages whose sizes only their senders know; who tells whom what |
//! | `overlaps`, `merge`, `local_aggregation` | what a local aggregator does with its members' extents and bytes |
//! | `gather_tree` | the ordered trees between a local aggregator and its members |
//! | `node` | what goes between them in memory that they share |
//! | `windows` | what an aggregator holds in a round |
//! | `rounds` | where a rank stands in the data phase |
//! | `writing`, `placing` | the rounds of a write, and one of them in memory |
//! | `reading`, `delivering` | the rounds of a read, and one of them in memory |
//! | `coverage`, `buffer`, `worker`, `sieve`, `window_queue`, `storage` | windows, the thread that writes behind and reads ahead, holes, the file |
//! | `direct`, `direct_read` | the path without exchange |
//! | `shared` | calls of ranks that share memory: none of the above |
//! | `handing_over` | dedicated I/O ranks: writes that end later |
//! | `staging` | memory of a device, copied to the host or from there |
//! | `independent` | what one rank does alone; the size of the file |
//! | `alone` | a failure of one rank that has no endpoint yet |
//! | `finish_call`, `operation` | the agreement at the end; a call that is tested and waited for |
//! | [`planning`] | a plan without a run, at any scale |
//! | `report` | what a call did, in numbers |
//!
//! An error never leaves the exchange early: the rank that has one goes on with the rounds, and the agreement at the end
//! returns the same error on every rank.

#[cfg(feature = "mpi")]
mod alone;
mod buffer;
mod copy;
mod coverage;
mod delivering;
mod direct;
mod direct_read;
mod duplicate_reads;
pub mod file;
mod finish_call;
mod flatten;
mod flow;
mod gather_tree;
mod handing_over;
mod independent;
mod local_aggregation;
mod merge;
mod metadata;
mod node;
mod opening;
mod operation;
mod overlaps;
mod phase;
mod placing;
mod plan;
pub mod planning;
mod read;
mod reading;
mod report;
mod rounds;
mod scratch;
mod setup;
mod shared;
mod sieve;
mod staging;
pub mod storage;
mod terms;
pub(crate) mod variable_exchange;
mod window_queue;
mod windows;
mod worker;
mod write;
mod writing;

#[cfg(feature = "mpi")]
pub use alone::alone;
pub use file::File;
pub use operation::Operation;
pub use plan::Direction;
pub use read::ReadReport;
pub use report::{CallReport, FanIn, Path, Seconds};
pub use setup::Mode;
pub use worker::leave_to_program;
