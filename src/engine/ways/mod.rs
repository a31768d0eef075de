//! The code of each path of the bytes of a call, over the parts of a file that it needs.
//!
//! | module | holds |
//! |---|---|
//! | `windows` | through windows in memory that the ranks of a team share |
//! | `exchange` | the two-phase exchange, by an earlier plan or a new one |

pub(in crate::engine) mod exchange;
pub(in crate::engine) mod windows;
