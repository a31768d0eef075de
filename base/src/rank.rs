//! The numbers of ranks and nodes.

/// The number of a process (or of a thread in its place), `0..ranks`.
pub type Rank = usize;
/// The number of a shared-memory node, `0..nodes`, in the order of the lowest rank on each.
pub type Node = usize;
