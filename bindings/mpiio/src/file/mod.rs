//! The files that the program has open.
//!
//! | module | holds |
//! |---|---|
//! | [`files`] | the state of each file, and the table of them |
//! | [`backend`] | which library runs a file's collective calls; the engine's opening of a file in the first of them |
//! | [`arguments`], [`pending`] | the program's arguments of reads and writes; calls in flight |
//! | [`own_handle`] | this library's own handle of a file on NFS, for independent calls |
//! | [`single_rank`] | the handle of a file that a single rank has open, for collective calls of one piece |
//! | [`sieving`] | keeps MPI from data sieving while others may be writing; MPI's second handle of a file, which may sieve |
//! | [`hints`] | the hints of a file |
//! | [`counts`], [`failures`], [`deletions`] | counts of calls, of failed calls, and of calls that deleted nothing |
//! | [`gain`] | which independent calls would gain from being collective |
//! | [`rank_files`] | one report for the files that single ranks open by themselves |
//! | [`last_report`] | the last report, for Python |
//! | [`report`], [`job`] | TRIB_REPORT; what was accelerated of a job, and the line about it in the site's log |

pub mod arguments;
pub mod backend;
pub mod counts;
pub mod deletions;
pub mod failures;
pub mod files;
pub mod gain;
pub mod hints;
pub mod job;
pub mod last_report;
pub mod own_handle;
pub mod pending;
pub mod rank_files;
pub mod report;
pub mod sieving;
pub mod single_rank;
