//! The pattern of any access: a list of extents for each rank, from a memory-mapped file.
//!
//! A list may be in any order, and may overlap itself and other lists. The file has one of two forms, which differ in
//! their first bytes:
//!
//! *Text*, lines of decimal numbers, `#` begins a comment. First `ranks P`, then for every rank from 0 to P - 1 a line
//! `rank R` and below it the rank's extents, a line `OFFSET LENGTH` for each, in bytes; none for a rank that writes
//! nothing.
//!
//! ```text
//! ranks 2
//! rank 0
//! 4096 512      # offset, length
//! 0 100
//! rank 1
//! 100 3996
//! ```
//!
//! *Binary*, little-endian: the 8 bytes `TRIBLIST`, a 32-bit version (1), a 32-bit zero, the number of ranks P and then P
//! numbers of extents (64 bits each), then all extents, rank after rank, as pairs of 64-bit offset and length; nothing
//! behind them. [`write_binary`] makes one.
//!
//! | module | holds |
//! |---|---|
//! | `lists` | an open file of either form, checked |
//! | `text`, `binary` | the forms |
//! | `pattern` | the pattern [`ListPattern`] |
//! | `extent_index` | a rank's extents by file offset |

mod binary;
mod extent_index;
mod lists;
mod pattern;
mod text;

pub use binary::write_binary;
pub(crate) use extent_index::ExtentIndex;
pub use lists::Lists;
pub use pattern::ListPattern;
