//! The tests of the patterns: one program.

#[path = "../common/cdl.rs"]
mod cdl;
#[path = "../common/columns.rs"]
mod columns;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../../tests/common/damage.rs"]
mod damage;
#[path = "../../../tests/common/netcdf_tools.rs"]
mod tools;

mod any_decomposition;
mod block4d;
mod btio;
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
