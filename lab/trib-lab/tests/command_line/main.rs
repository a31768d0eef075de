//! Tests of the laboratory's command line: one program.

#[path = "../../../../trib/tests/common/ends.rs"]
mod ends;

mod advise;
mod algorithms;
mod batch;
mod collectives;
mod explain;
mod extremes;
mod import;
mod patterns;
mod program;
mod reproduce;
mod scale;
mod sim;
mod tune_kernels;
mod tune_machine;
