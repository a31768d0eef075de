//! Which algorithm, in how many groups, is the fastest here: measured once, kept in a file, used from then on.
//!
//! HiMPI's job (Hasanov, thesis, 3.1.3 and appendix): every operation is measured over message sizes and over the factors of
//! the number of ranks as numbers of groups; the table of the best is written once, and hint `trib_tuned_table` has a file's
//! agreements use it.
//!
//! | module | holds |
//! |---|---|
//! | [`candidate`] | what is measured: an algorithm in some number of groups |
//! | [`stopping`] | when a mean is known well enough |
//! | [`measure`] | the measurements |
//! | [`table`] | the table of the best, and its text |
//! | [`chosen`] | a table as the choice of an endpoint's agreements |

pub mod candidate;
pub mod chosen;
pub mod measure;
pub mod stopping;
pub mod table;

pub use candidate::Candidate;
pub use chosen::{Chosen, load};
pub use measure::{Plan, best, tune};
pub use stopping::Rule;
pub use table::{Entry, Table};
