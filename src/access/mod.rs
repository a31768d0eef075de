//! What a rank touches: extents and runs, file views, the memory they come from, and their encoding.
//!
//! | module | holds |
//! |---|---|
//! | [`extents`] | sequences of (offset, length), regular parts as runs in O(dimensions) memory |
//! | [`packed`] | irregular sequences, encoded; the same bytes travel on the wire |
//! | [`pairs`] | the codec below both: varints and back-references over pairs of integers |
//! | [`view`] | a file view: a tile of extents repeated from a displacement on |
//! | [`pieces`] | a file side and a memory side walked together |

pub mod extents;
pub mod packed;
pub mod pairs;
pub mod pieces;
pub(crate) mod varint;
pub mod view;

pub use extents::{Extent, Extents};
pub use packed::{Packed, PackedCursor, Packer};
pub use pieces::{BufferLayout, Piece};
pub use view::FileView;
