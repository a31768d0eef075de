//! Calls on a shared file, and what they return: open, write, read, close.
//!
//! | module | holds |
//! |---|---|
//! | `file`, `write`, `read` | [`file::File`] with its collective calls |
//! | `setup`, `terms` | what is fixed at open: topology, driver, aggregators, kernels; the check that all ranks pass the same |
//! | `call_plan` | the plan of a call: an earlier one, a new one, or that of a trial |
//! | `finish_call`, `operation` | the agreement at the end of a call; non-blocking calls |
//! | `staging` | memory of a device, copied to the host or from there |
//! | `visible` | what hosts see of each other's bytes where they cache by themselves |
//! | `independent` | what one rank does alone; the size of the file |
//! | `capturing` | calls recorded for a capture, which is stored at the close |
//! | [`diary`] | what one rank did and when, for captures |
//! | [`patience`] | a line where a rank waits long for others to come |
//! | `alone` | a failure of one rank that has no endpoint yet |
//! | `report` | the numbers of a call |

pub(in crate::engine) mod alone;
pub(in crate::engine) mod call_plan;
pub(in crate::engine) mod capturing;
pub mod diary;
pub mod file;
pub(in crate::engine) mod finish_call;
pub(in crate::engine) mod independent;
pub(in crate::engine) mod operation;
pub mod patience;
pub(in crate::engine) mod read;
pub(in crate::engine) mod report;
pub(in crate::engine) mod setup;
pub(in crate::engine) mod staging;
pub(in crate::engine) mod terms;
pub(in crate::engine) mod visible;
pub(in crate::engine) mod write;
