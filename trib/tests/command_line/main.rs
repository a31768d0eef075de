//! The tests of the command line: one program.

mod advise;
mod batch;
mod capture;
mod cli;
mod collectives;
mod explain;
mod extremes;
mod import;
mod patterns;
mod reproduce;
mod sim;
mod tune_kernels;
mod tune_machine;
