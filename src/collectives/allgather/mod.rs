//! Allgather: every rank gets the blocks of all. The engine's own; the laboratory compares them with others.

pub mod bruck;
pub mod locality_bruck;
pub mod staged;
