//! The tests of the laboratory's command line: one program.

#[path = "../../../trib/tests/common/ends.rs"]
mod ends;

mod algorithms;
mod batch;
mod collectives;
mod extremes;
mod program;
mod reproduce;
mod sim;
mod tune_kernels;
