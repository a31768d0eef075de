//! Access patterns of real codes, as pure functions of rank and ranks: what a rank writes, with which bytes, and the
//! whole file written serially to compare with.
//!
//! | module | holds |
//! |---|---|
//! | [`pattern`] | the trait all patterns implement |
//! | [`closed_form`] | what a pattern states about itself: sums and fan-in |
//! | [`e3sm`] | the F case of E3SM-IO, from decomposition maps or generated for any number of ranks |
//! | [`netcdf_case`] | patterns that are a NetCDF file |
//! | [`netcdf`] | NetCDF classic files, as far as decomposition maps need them |
//! | [`value`] | the payload |

pub mod closed_form;
pub mod e3sm;
pub mod error;
pub mod netcdf;
pub mod netcdf_case;
pub mod pattern;
pub mod value;

pub use closed_form::{ClosedForm, Division};
pub use e3sm::{E3smF, ElementType, GeneratorOptions};
pub use error::PatternError;
pub use netcdf_case::{NetcdfCase, Put, Written, write_case, write_case_serially};
pub use pattern::{Pattern, RankAccess, Totals};
