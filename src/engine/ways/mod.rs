//! The code of each path of the bytes of a call, each a part of [`File`](crate::engine::file::File).
//!
//! | module | holds |
//! |---|---|
//! | `write_windows`, `read_windows` | through windows in memory that all ranks share, or the ranks of each host |
//! | `exchange` | the two-phase exchange; `call_plan`: its plan, an earlier one or a new one |

mod call_plan;
mod exchange;
mod read_windows;
pub(in crate::engine) mod write_windows;
