//! Measures what messages cost here, for the hint `trib_machine`.
//!
//! | module | holds |
//! |---|---|
//! | [`stopping`] | when a mean is known well enough |
//! | [`machine`] | what messages cost on this machine, [`tributary::machine`] |
//! | [`exchanges`] | the messages that it times |
//! | [`lists`] | the lists that it times |

pub mod exchanges;
pub mod lists;
pub mod machine;
mod sample;
pub mod stopping;

pub use stopping::StoppingRule;
