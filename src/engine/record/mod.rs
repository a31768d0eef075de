//! What is recorded of a call: on one rank, and over all.
//!
//! | module | holds |
//! |---|---|
//! | `totals` | the numbers of one rank |
//! | `report` | those of all ranks: [`CallReport`](report::CallReport), and the stopwatch |
//! | [`timeline`] | what one rank did and when, for captures |

pub(in crate::engine) mod report;
pub mod timeline;
pub(in crate::engine) mod totals;
