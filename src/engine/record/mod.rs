//! What is recorded of a call: on one rank, and over all.
//!
//! | module | holds |
//! |---|---|
//! | `totals` | the numbers of one rank |
//! | `report` | those of all ranks: [`CallReport`](report::CallReport), and the stopwatch |
//! | [`diary`] | what one rank did and when, for captures |

pub mod diary;
pub(in crate::engine) mod report;
pub(in crate::engine) mod totals;
