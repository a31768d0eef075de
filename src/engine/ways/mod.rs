//! The code of each path of the bytes of a call, each a part of [`File`](crate::engine::file::File).
//!
//! | module | holds |
//! |---|---|
//! | `windows` | through windows in memory that the ranks of a team share |
//! | `exchange` | the two-phase exchange; `call_plan`: its plan, an earlier one or a new one |

mod call_plan;
mod exchange;
pub(in crate::engine) mod windows;
