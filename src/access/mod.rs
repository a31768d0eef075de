//! Describes what a rank accesses: extents of the file, file views, the memory of the caller, and their encoding.
//! Everything here is local: nothing communicates.
//!
//! | module | holds |
//! |---|---|
//! | [`Extent`] | one (offset, length) |
//! | [`extents`] | sequences of extents, as nodes: a base repeated along strided levels, in O(dimensions) memory |
//! | `groups` | sequences built from others; subarrays and block-cyclic distributions |
//! | [`packed`] | irregular sequences, encoded in memory as on the wire |
//! | `plain` | irregular sequences from arrays, 8 bytes an extent |
//! | [`pairs`] | the codec of `packed`: varints and back-references over pairs of integers |
//! | [`view`] | a file view: a tile of extents repeated from a displacement on; slices of a sequence, and its shift from another |
//! | `memory` | the caller's memory, of which only pieces are accessed; the direction of a call; short copies |
//! | [`AccessStats`] | numbers of the accesses of several ranks: bytes, extents, range |
//! | [`Tiling`] | a hash that shows whether pieces tile a range |
//! | [`sublists`] | a sequence of extents, split into strided runs and slices of lists |
//! | [`walk`] | the pieces of an access: contiguous in the file and in memory; by sublists and in steps |

mod access_stats;
pub mod extents;
mod groups;
pub(crate) mod memory;
pub mod packed;
pub mod pairs;
mod plain;
pub mod sublists;
mod tiling;
pub mod view;
pub mod walk;

pub use access_stats::AccessStats;
pub use extents::Extents;
pub use memory::{Access, Direction, Memory, OwnedAccess, Sink, Source};
pub use packed::{Packed, PackedCursor, Packer};
pub use tiling::Tiling;
pub use tributary_base::Extent;
pub use view::FileView;
pub use walk::{BufferLayout, Piece, Walk};
