//! Types for the numbers of ranks and nodes.

/// The number of a process (or of a thread that stands for one), from 0 to the number of ranks minus 1.
pub type Rank = usize;
/// The number of a shared-memory node, from 0, in the order of the lowest rank on each node.
pub type Node = usize;
