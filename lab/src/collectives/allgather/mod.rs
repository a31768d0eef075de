//! Allgather: every rank gets the blocks of all.

mod bruck;
mod dissemination;
mod hierarchical;
mod locality_bruck;
mod multi_lane;
mod recursive_doubling;
mod ring;
mod staged;

pub use bruck::BRUCK;
pub use dissemination::DISSEMINATION;
pub(super) use dissemination::among as disseminate;
pub use hierarchical::HIERARCHICAL;
pub use locality_bruck::{LOCALITY_BRUCK, locality_bruck};
pub use multi_lane::MULTI_LANE;
pub use recursive_doubling::RECURSIVE_DOUBLING;
pub use ring::RING;
pub(super) use staged::Circle;
