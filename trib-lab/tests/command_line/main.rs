//! The tests of the laboratory's command line: one program.

#[path = "../../../trib/tests/common/ends.rs"]
mod ends;
#[path = "../../../trib/tests/common/small.rs"]
#[allow(dead_code, reason = "nothing here starts all of its ranks")]
mod small;

mod algorithms;
mod batch;
mod collectives;
mod extremes;
mod program;
mod reproduce;
mod sim;
mod tune_kernels;
