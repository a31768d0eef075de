//! NetCDF classic files (CDF-1, CDF-2, CDF-5), written collectively.
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | dimensions, variables and attributes: what a file holds |
//! | [`layout`] | where everything lies in the file |
//! | [`alignment`] | PnetCDF's alignment hints |
//! | [`format`](mod@format) | the three formats and their types |
//! | [`requests`] | parts of a variable as a list |
//! | [`values`] | what attributes hold |

pub mod alignment;
pub mod format;
mod header;
pub mod layout;
mod name;
pub mod requests;
mod runs;
pub mod schema;
pub mod values;

pub use alignment::Alignment;
pub use format::{Format, Type};
pub use layout::Layout;
pub use requests::Requests;
pub use schema::{Attribute, Dimension, DimensionId, FILL_VALUE, Schema, UNLIMITED, Variable, VariableId};
pub use values::Values;
