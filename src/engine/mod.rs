//! The two-phase engine: collective writes of a shared file.
//!
//! ```text
//! view + buffer -> agree on ranges -> plan: domains, flatten -> metadata exchange
//!   -> rounds: data exchange -> place -> write behind -> agreement: error, bytes, statistics
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`] | [`File`]: open, write, close; what a caller uses |
//! | `setup` | what is fixed at open: topology, driver, aggregators, kernels |
//! | `plan` | ranges, the choice of path, domains; the plan that is used again |
//! | `flatten`, `flow` | the access cut by aggregator; its cursors, on both sides |
//! | `bodies`, `metadata` | exchange of bodies of unknown size; who tells whom what |
//! | `clusters`, `merge`, `relay` | what a local aggregator does with its members' extents and bytes |
//! | `windows`, `rounds`, `lockstep` | what an aggregator holds in a round; the data phase; rounds that all ranks take part in |
//! | `coverage`, `writer`, `sieve`, `sink`, `storage` | windows, the write-behind thread, holes, the file |
//! | `direct` | the path without exchange |
//! | `conclude`, `operation` | the agreement at the end; a call that is tested and waited for |
//! | [`planning`] | a plan without a run, at any scale |
//! | `report` | what a call did, in numbers |
//!
//! An error never leaves the exchange early: the rank that has one goes on with the rounds, and the agreement at the end
//! returns the same error on every rank.

mod bodies;
mod clusters;
mod conclude;
mod coverage;
mod direct;
pub mod file;
mod flatten;
mod flow;
mod lockstep;
mod merge;
mod metadata;
mod operation;
mod plan;
pub mod planning;
mod relay;
mod report;
mod rounds;
mod setup;
mod sieve;
mod sink;
pub mod storage;
mod windows;
mod writer;

pub use file::File;
pub use operation::Operation;
pub use report::{CallReport, FanIn, Path, Seconds};
pub use setup::Mode;
