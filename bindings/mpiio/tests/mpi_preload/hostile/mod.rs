//! What is done to a program, and to this library under it, by the machine, the system and other people: with the library the
//! program gets the verdict and the bytes that it gets without, or an error that `docs/reference/faults.md` lists. Nobody waits for ever.
//!
//! | module | what happens |
//! |---|---|
//! | [`failing`] | a call of the library's fails on one rank |
//! | [`storage`] | reads and writes are short, are interrupted, fail |
//! | [`processes`] | signals, forks, ranks that are stopped and killed |
//! | [`many`] | thousands of files, one after the other |
//! | [`groups`] | files of some ranks, of one, of sessions |
//! | [`places`] | places beyond 4 GiB, ranks that have no data |
//! | [`values`] | hints that nobody means |
//! | [`random`] | views, memory, hints and numbers of ranks by chance |

mod failing;
mod groups;
mod many;
mod places;
mod processes;
mod random;
mod storage;
mod values;
