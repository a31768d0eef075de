//! Numbers, reports and timelines of calls.
//!
//! | module | holds |
//! |---|---|
//! | `report` | the numbers of one call, on one rank and over all ranks: [`CallReport`](report::CallReport); the stopwatch |
//! | [`timeline`] | times of one rank's calls and windows, for captures |

pub(in crate::engine) mod report;
pub mod timeline;
