//! The tests of the patterns: one program.

mod any_decomposition;
mod block4d;
mod btio;
mod cdl;
mod columns;
mod common;
mod e3sm_cases;
mod e3sm_paper;
mod f_case;
mod flash;
mod hostile;
mod ior;
mod list;
mod map_inputs;
mod netcdf_cases;
mod s3d;
mod wrf;
