//! The fastest collective algorithms, as a table in a file says: hint `trib_tuned_table`.
//!
//! HiMPI's idea (Hasanov, thesis, 3.1.3 and appendix): the fastest algorithm of each operation, in its number of groups, is
//! measured once (`trib tune collectives`), kept in a file, and used by the agreements of every file from then on.
//!
//! | module | holds |
//! |---|---|
//! | [`candidate`] | what an entry names: an algorithm in some number of groups |
//! | [`table`] | the table, and its text |
//! | [`chosen`] | a table as the choice of an endpoint's agreements |

pub mod candidate;
pub mod chosen;
pub mod table;

pub use candidate::Candidate;
pub use chosen::{Chosen, load};
pub use table::{Entry, Table};
