//! Measures which algorithm, in how many groups, is the fastest here.
//!
//! As HiMPI does (Hasanov, thesis, 3.1.3 and appendix), every operation is measured for all message sizes, and for all
//! divisors of the number of ranks as numbers of groups. The fastest make a table, [`tributary::tuned::Table`], which the
//! library uses.
//!
//! | module | holds |
//! |---|---|
//! | [`stopping`] | when a mean is known well enough |
//! | [`measure`] | the measurements |
//! | [`machine`] | what messages cost on this machine, [`tributary::tuned::machine`] |
//! | [`exchanges`] | the messages that it times |
//! | [`lists`] | the lists that it times |

pub mod exchanges;
pub mod lists;
pub mod machine;
pub mod measure;
pub mod stopping;

pub use measure::{Plan, best, tune};
pub use stopping::Rule;
