//! Allgather: every rank gets the blocks of all.

mod ring;

pub use ring::RING;
