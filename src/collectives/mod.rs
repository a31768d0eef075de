//! The collective operations of the engine, as schedules. (Other algorithms, from papers, are in the crate
//! `tributary-lab`.)
//!
//! An algorithm is a pure function that returns a schedule. The functions of this module run schedules on an endpoint.
//! They are collective: every rank of the endpoint calls them, in the same order. Costs are given for p ranks: t_s is
//! the start-up time of a message, t_w the time to send one byte, and t_c the time to reduce one byte.
//!
//! | module | holds |
//! |---|---|
//! | `agreement` | the functions that the engine calls: allreduce, broadcast, gather, agreement on errors |
//! | [`mod@combine`] | a reduction over hosts to rank 0 and a broadcast back: the agreement when a file is opened |
//! | `on_host` | allreduce, broadcast and allgather of ranks that share memory |
//! | `gather` | a linear gather of blocks of different lengths |
//! | `allgather` | Bruck's allgather |
//! | [`binomial`] | broadcast and reduction along a binomial tree |
//! | [`part`], `group` | a collective among the members of a group, as a step of a larger one |

mod agreement;
mod allgather;
pub mod binomial;
pub mod combine;
mod gather;
mod group;
mod on_host;
pub mod part;

pub use agreement::{agree, allreduce, broadcast, broadcast_error, gather};
pub use allgather::allgather;
pub use group::Group;

/// Tags of the messages of each collective operation; the engine's tags begin at [`FIRST_FREE_TAG`].
const REDUCE: u16 = 0;
const BROADCAST: u16 = 1;
const GATHER: u16 = 2;
const ALLGATHER: u16 = 3;
/// Tag of the messages of a reduction over hosts.
const COMBINE: u16 = 4;
/// The first tag that the collectives do not use.
pub const FIRST_FREE_TAG: u16 = 5;
