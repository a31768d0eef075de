//! The tests of NetCDF files: one program.

#[path = "../../../tests/common/netcdf_tools.rs"]
mod tools;

mod dataset;
mod dumped;
mod large;
mod layout;
