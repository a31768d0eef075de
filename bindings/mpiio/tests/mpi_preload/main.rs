//! The tests of the preload library that start ranks under `mpiexec`: one program.

mod abis;
mod capture;
mod common;
mod constructors;
mod datatypes;
mod device;
mod errors;
mod examples;
mod fortran;
mod guard;
mod hdf5;
mod hints;
mod hostile;
mod hosts;
mod late;
mod mpi4py;
mod names;
mod pack_trial;
mod packaged;
mod pnetcdf;
mod programs;
mod random_recipe;
mod recipe;
mod report;
mod stripes;
mod typemap;
