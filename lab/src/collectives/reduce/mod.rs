//! Reduce: the root gets all ranks' words, combined. All algorithms work in place (see [`super::in_place`]). Members
//! are counted from the root, except in `in_order_binary`.

mod binary;
mod binomial;
mod chain;
mod flat;
mod in_order_binary;
mod pipeline;
mod rabenseifner;
mod segmented_flat;

pub use binary::BINARY;
pub use binomial::BINOMIAL;
pub use chain::CHAIN;
pub use flat::FLAT;
pub use in_order_binary::IN_ORDER_BINARY;
pub use pipeline::PIPELINE;
pub use rabenseifner::RABENSEIFNER;
pub(in crate::collectives) use rabenseifner::fold_halves;
pub use segmented_flat::SEGMENTED_FLAT;
