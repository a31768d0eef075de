//! The collective operations of the engine, as schedules. (Other algorithms, from papers, are in the crate
//! `tributary-lab`.)
//!
//! An algorithm is a pure function that returns a schedule. The functions of this module run schedules on an endpoint.
//! They are collective: every rank of the endpoint calls them, in the same order. Costs are given for p ranks: t_s is
//! the start-up time of a message, t_w the time to send one byte, and t_c the time to reduce one byte.
//!
//! | module | holds |
//! |---|---|
//! | [`team`] | ranks that decide together: every agreement of the engine |
//! | `agreement` | the functions that the engine calls: allreduce, broadcast, gather, agreement on errors |
//! | `gather` | a linear gather of blocks of different lengths |
//! | `allgather` | Bruck's allgather, and the allgather of ranks that share memory |

mod agreement;
mod allgather;
mod gather;
pub mod team;

pub use agreement::{agree, allreduce, broadcast, broadcast_error, gather};
pub use allgather::allgather;

/// Tags of the messages of each collective operation; the engine's tags begin at [`FIRST_FREE_TAG`].
const GATHER: u16 = 0;
const ALLGATHER: u16 = 1;
/// Tag of the messages of a team's decision.
const COMBINE: u16 = 2;
/// The first tag that the collectives do not use.
pub const FIRST_FREE_TAG: u16 = 3;
