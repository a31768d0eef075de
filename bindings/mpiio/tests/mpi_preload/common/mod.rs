//! Runs unmodified programs with and without the preload library.
//!
//! | module | holds |
//! |---|---|
//! | [`family`] | the MPI library that the tests run on: its compilers and its launcher |
//! | [`programs`] | the test programs in C, C++ and Fortran, compiled |
//! | [`launch`] | one run under `mpiexec`: its output, files and reports |
//! | [`report`] | the library's report on a file |
//! | [`matrix`] | the kernels and drivers that every program runs with, and the comparison of runs |

pub mod family;
pub mod launch;
pub mod matrix;
pub mod programs;
pub mod report;
