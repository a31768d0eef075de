//! Broadcast: every rank gets the root's message. All in place (see [`super::in_place`]); members are counted from the root.

mod binary;
mod binomial;
mod chain;
mod flat;
mod pipeline;

pub use binary::BINARY;
pub use binomial::BINOMIAL;
pub use chain::CHAIN;
pub use flat::FLAT;
pub use pipeline::PIPELINE;
