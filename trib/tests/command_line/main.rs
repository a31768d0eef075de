//! The tests of the command line: one program.

#[path = "../common/ends.rs"]
mod ends;

mod advise;
mod capture;
mod cli;
mod doctor;
mod explain;
mod extremes;
mod import;
mod patterns;
mod run;
mod tune_machine;
