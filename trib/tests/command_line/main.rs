//! The tests of the command line: one program.

#[path = "../common/ends.rs"]
mod ends;
#[path = "../common/small.rs"]
mod small;

mod advise;
mod capture;
mod cli;
mod explain;
mod extremes;
mod import;
mod patterns;
mod tune_machine;
