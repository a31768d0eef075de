//! What a rank touches: extents and runs, file views, the memory they come from, and their encoding.
//!
//! | module | holds |
//! |---|---|
//! | [`extent`] | one (offset, length) |
//! | [`extents`] | sequences of them, regular parts as runs in O(dimensions) memory |
//! | `node` | a part of such a sequence: a base repeated along strided levels |
//! | `groups` | sequences put together from others |
//! | `shapes` | subarrays and block-cyclic distributions |
//! | `moved` | whether a sequence is another one, some way further on |
//! | `slice` | a part of a sequence, by arithmetic where it is regular |
//! | [`packed`] | irregular sequences, encoded; the same bytes travel on the wire |
//! | `plain` | irregular sequences as arrays give them, 8 bytes an extent |
//! | [`pairs`] | the codec below both: varints and back-references over pairs of integers |
//! | [`view`] | a file view: a tile of extents repeated from a displacement on |
//! | `memory` | the caller's memory: only pieces of it are looked at |
//! | [`pieces`] | a file side and a memory side walked together |
//! | [`batches`] | a sequence in as few parts as it is held in: runs, and slices of lists |
//! | [`walk`] | a file side and a memory side together, by batches, in steps |

pub mod batches;
pub mod extents;
mod groups;
mod memory;
mod moved;
mod node;
pub mod packed;
pub mod pairs;
pub mod pieces;
mod plain;
mod shapes;
mod slice;
pub(crate) mod varint;
pub mod view;
pub mod walk;

pub use extents::Extents;
pub use memory::{Sink, Source};
pub use packed::{Packed, PackedCursor, Packer};
pub use pieces::{BufferLayout, Piece};
pub use tributary_base::extent::{self, Extent};
pub use view::FileView;
pub use walk::Walk;
