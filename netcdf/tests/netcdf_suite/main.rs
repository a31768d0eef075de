//! The tests of NetCDF files: one program.

mod dataset;
mod dumped;
mod large;
mod layout;
mod reader;
