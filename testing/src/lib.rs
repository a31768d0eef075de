//! The conformance suite of Tributary, for fabrics and storage of other projects: [`conformance`]. The other modules
//! are shared by the tests of this project, and may change at any time.
//!
//! | module | holds |
//! |---|---|
//! | [`conformance`] | the suite as others call it |
//! | [`mpiexec`], [`launcher`] | tests that start themselves again as the ranks of an MPI program; the wait for its end |
//! | [`suite`], [`reading`] | the conformance suite, which runs on every fabric: what is written; what is read |
//! | [`settings`] | the settings with which every fault and every real pattern is tested |
//! | [`pattern_matrix`], [`small`] | access patterns of real codes under these settings; on the command line |
//! | [`trial`], [`read_trial`] | trials in which one aggregator fails |
//! | [`interleaved`], [`periodic`] | a small write of many rounds; a file of any size that takes no space |
//! | [`around`] | a transport with faults or notes around its calls |
//! | [`damage`] | damage to inputs of any kind |
//! | [`mounted`] | small file systems for a single test |
//! | [`fault_sweep`] | a small program in C, of which one call fails in each run |
//! | [`layers`] | the order of crates and modules |
//! | [`installed`], [`wheels`], [`foreign_hints`] | the C API, installed; other MPI libraries, and hints for them |
//! | [`netcdf_tools`] | other projects' tools, which check NetCDF files |
//! | [`validate`] | checks of the schedules of all ranks: exactly-once delivery, no deadlock without buffering |
//! | [`virtual_time`] | ranks whose order, clock, network and files follow from a seed |
//! | [`chaos`] | random programs in virtual time, and what they may see |
//! | [`regret`] | what the engine's own choices lose, in virtual time |
//! | [`watchdog`] | a time limit for tests that might hang; ranks as threads with one |
//!
//! `c/` has the sources in C that the tests of several bindings share. Code that only one test program needs is
//! beside its `main.rs`.
#![allow(missing_docs, reason = "the names of what only tests use say it")]
#![allow(clippy::new_without_default, reason = "nobody asks for one")]

pub mod around;
pub mod chaos;
pub mod conformance;
pub mod damage;
pub mod fault_sweep;
pub mod foreign_hints;
pub mod installed;
pub mod interleaved;
pub mod launcher;
pub mod layers;
pub mod mounted;
pub mod mpiexec;
pub mod netcdf_tools;
pub mod pattern_matrix;
pub mod periodic;
pub mod read_trial;
pub mod reading;
pub mod regret;
pub mod seams;
pub mod settings;
pub mod small;
pub mod suite;
pub mod trial;
pub mod validate;
pub mod virtual_time;
pub mod watchdog;
pub mod wheels;
