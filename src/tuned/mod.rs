//! What was measured on a machine, from files: hints `trib_tuned_table` and `trib_machine`.
//!
//! A tuned table names the fastest collective algorithms. The idea is HiMPI's (Hasanov, thesis, 3.1.3 and appendix):
//! `trib tune collectives` measures the fastest algorithm and number of groups for each operation once and writes them to a
//! file; the agreements of every file then use them.
//!
//! | module | holds |
//! |---|---|
//! | [`candidate`] | an algorithm in a number of groups |
//! | [`table`] | the table, and its text |
//! | [`chosen`] | a table as the algorithms of an endpoint's agreements |
//! | [`machine`] | what messages cost |
//! | `sample` | repeated measurements, for whoever makes one of these, and for trials |

pub mod candidate;
pub mod chosen;
pub mod machine;
mod sample;
pub mod table;

pub use candidate::Candidate;
pub use chosen::{Chosen, load};
pub use sample::{STUDENT, Sample};
pub use table::{Entry, Table};
