//! Allreduce: every rank gets all ranks' lanes, combined. All in place (see [`super::in_place`]).

mod linear;
mod non_overlapping;
mod recursive_doubling;

pub use linear::LINEAR;
pub use non_overlapping::NON_OVERLAPPING;
pub use recursive_doubling::RECURSIVE_DOUBLING;
