//! NetCDF classic files (CDF-1, CDF-2 and CDF-5), as far as decomposition maps need them: dimensions, global
//! attributes, variables of 32-bit integers.
//!
//! | module | holds |
//! |---|---|
//! | [`file`](mod@file) | an open file: look-ups and data |
//! | [`writer`] | writes CDF-5 |
//!
//! Reading any bytes ends with a value or one error; memory is bounded by the file's size.

mod cursor;
pub mod file;
mod header;
pub mod writer;

pub use file::{File, Ints};
pub use writer::Writer;

/// External types by their NetCDF numbers.
const CHAR: u32 = 2;
const INT: u32 = 4;

/// Tags that open the lists of a header.
const TAG_DIMENSIONS: u32 = 0x0a;
const TAG_VARIABLES: u32 = 0x0b;
const TAG_ATTRIBUTES: u32 = 0x0c;

/// Names and values are padded to this many bytes.
const ALIGN: u64 = 4;
