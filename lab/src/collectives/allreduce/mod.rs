//! Allreduce: every rank gets all ranks' words, combined. All algorithms work in place (see [`super::in_place`]).

mod linear;
mod non_overlapping;
mod rabenseifner;
mod recursive_doubling;
mod ring;
mod segmented_ring;

pub use linear::LINEAR;
pub use non_overlapping::NON_OVERLAPPING;
pub use rabenseifner::RABENSEIFNER;
pub use recursive_doubling::RECURSIVE_DOUBLING;
pub use ring::RING;
pub use segmented_ring::SEGMENTED_RING;
