//! Reduce: the root gets all ranks' lanes, combined. All in place (see [`super::in_place`]); members are counted from the
//! root but where the order of combination counts.

mod binomial;
mod chain;
mod flat;

pub use binomial::BINOMIAL;
pub use chain::CHAIN;
pub use flat::FLAT;
