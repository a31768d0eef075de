//! Broadcast: every rank gets the root's message. All algorithms work in place (see [`super::in_place`]); members are
//! counted from the root.

mod binary;
mod binomial;
mod chain;
mod flat;
mod pipeline;
mod scatter_recursive_doubling_allgather;
mod scatter_ring_allgather;
mod split_binary;

pub use binary::BINARY;
pub use binomial::BINOMIAL;
pub use chain::CHAIN;
pub use flat::FLAT;
pub use pipeline::PIPELINE;
pub use scatter_recursive_doubling_allgather::SCATTER_RECURSIVE_DOUBLING_ALLGATHER;
pub use scatter_ring_allgather::SCATTER_RING_ALLGATHER;
pub use split_binary::SPLIT_BINARY;
