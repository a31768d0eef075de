//! Tests of the command line: one program.

#[path = "../common/ends.rs"]
mod ends;
#[path = "../common/installation.rs"]
mod installation;

mod capture;
mod cli;
mod doctor;
mod explain;
mod extremes;
mod patterns;
mod run;
