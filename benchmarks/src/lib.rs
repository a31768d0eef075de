//! Access patterns of real codes, as pure functions of rank and ranks: what a rank writes, with which bytes, and the
//! whole file written serially to compare with.
//!
//! | module | holds |
//! |---|---|
//! | [`pattern`] | the trait all patterns implement |
//! | [`closed_form`] | what a pattern states about itself: sums and fan-in |
//! | [`e3sm`] | the F, G and I cases of E3SM-IO, from decomposition maps or generated for any number of ranks |
//! | [`list`] | any lists of extents, one a rank, from a file |
//! | [`netcdf_case`] | patterns that are a NetCDF file |
//! | [`netcdf`] | NetCDF classic files, as far as decomposition maps need them |
//! | [`source`] | the bytes of an input file: mapped, or in memory |
//! | [`value`] | the payload |
//! | [`wrf`] | a recorded all-to-many exchange, replayed without a file |

pub mod closed_form;
pub mod e3sm;
pub mod error;
pub mod list;
pub mod netcdf;
pub mod netcdf_case;
pub mod pattern;
pub mod source;
pub mod value;
pub mod wrf;

pub use closed_form::{ClosedForm, Division};
pub use e3sm::{E3sm, E3smF, ElementType, GeneratorOptions};
pub use error::PatternError;
pub use list::List;
pub use netcdf_case::{NetcdfCase, Put};
pub use pattern::{Pattern, RankAccess, Totals};
