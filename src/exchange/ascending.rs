//! Ascending order, all at once: what ROMIO does today.
//!
//! Every receiver posts its receives from rank 0 upwards, every sender its sends to the lowest receiver first, and all
//! wait for everything. With Isend it is ROMIO's default; a sender that is ahead piles up buffered messages ("request
//! contention at senders", main paper, section IV.A). With Issend, the paper's baseline, a sender cannot leave the
//! exchange before its receivers have entered it.
//!
//! A rank that sends m messages and receives n: m + n messages, one batch, m + n requests outstanding (or w with a
//! throttle). Time in the one-port model: max over ranks of (m + n) t_s + bytes t_w, plus the contention of all ranks
//! starting at the same receiver, which the model does not show.

use super::{Exchange, Kernel};
use crate::schedule::SendMode;
use crate::topology::Rank;

/// ROMIO's default: ascending order, MPI_Isend, no throttle.
pub static ASCENDING_ISEND: Kernel = Kernel {
    name: "ascending_isend",
    about: "all requests at once, ascending ranks, Isend (ROMIO's default)",
    mode: SendMode::Standard,
    default_limit: None,
    coupled: false,
    step,
};

/// The paper's baseline: ascending order, MPI_Issend, no throttle (main paper, section V, algorithm (1)).
pub static ASCENDING_ISSEND: Kernel = Kernel {
    name: "ascending_issend",
    about: "all requests at once, ascending ranks, Issend (main paper, section IV.A)",
    mode: SendMode::Synchronous,
    default_limit: None,
    coupled: false,
    step,
};

/// A sender sees its receivers ascend, a receiver its senders.
fn step(exchange: &Exchange<'_>, sender: Rank, receiver: usize) -> u64 {
    sender as u64 * exchange.receivers.len() as u64 + receiver as u64
}
