//! Numbers, reports and timelines of calls.
//!
//! | module | holds |
//! |---|---|
//! | `totals` | the numbers of one call on one rank |
//! | `report` | the numbers of one call over all ranks: [`CallReport`](report::CallReport), and the stopwatch |
//! | [`timeline`] | times of one rank's calls and windows, for captures |

pub(in crate::engine) mod report;
pub mod timeline;
pub(in crate::engine) mod totals;
