//! Tests disturbances of a program and of this library by the machine, the system and other users. With the library
//! the program gets the same results and bytes as without, or an error that `docs/reference/faults.md` lists. No rank
//! hangs.
//!
//! | module | what happens |
//! |---|---|
//! | [`failing`] | a call that the library makes fails on one rank |
//! | [`storage`] | reads and writes are short, are interrupted, fail |
//! | [`processes`] | signals, forks, ranks that are stopped and killed |
//! | [`many`] | thousands of files, one after the other |
//! | [`groups`] | files of some ranks, of one, of sessions |
//! | [`places`] | places beyond 4 GiB, ranks that have no data |
//! | [`values`] | absurd values of hints |

mod failing;
mod groups;
mod many;
mod places;
mod processes;
mod storage;
mod values;
