//! The numbers of ranks and nodes: all that an error needs to know of them.

/// A process (or embedded thread) of the program, `0..ranks`.
pub type Rank = usize;
/// A shared-memory node, `0..nodes`, numbered by the lowest rank on it.
pub type Node = usize;
