//! The tests of the preload library that start ranks under `mpiexec`: one program.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/constructors.rs"]
mod constructors;
#[path = "../common/datatype_examples.rs"]
mod examples;
#[path = "../../../../tests/common/mounted.rs"]
mod mounted;
#[path = "../../../../tests/common/mpiexec.rs"]
mod mpiexec;
#[path = "../common/pack_trial.rs"]
mod pack_trial;
#[path = "../common/random_recipe.rs"]
mod random_recipe;
#[path = "../common/recipe.rs"]
mod recipe;
#[path = "../common/typemap.rs"]
mod typemap;
#[path = "../../../../tests/common/wheels.rs"]
mod wheels;

mod abis;
mod capture;
mod datatypes;
mod device;
mod errors;
mod fortran;
mod guard;
mod hdf5;
mod hints;
mod hostile;
mod hosts;
mod mpi4py;
mod pnetcdf;
mod programs;
mod report;
