//! The exchange of ROMIO: messages in ascending order of ranks, all at once.
//!
//! Every receiver posts its receives from rank 0 upwards, and every sender its sends from the lowest receiver upwards; then
//! all wait for all messages. With Isend this is ROMIO's default. A sender that is ahead piles up buffered messages ("request
//! contention at senders", main paper, section IV.A). With Issend this is the paper's baseline: a sender cannot leave the
//! exchange before its receivers have entered it.
//!
//! A rank that sends m messages and receives n has m + n messages outstanding, or w with a throttle. Time in the one-port
//! model: max over ranks of (m + n) t_s + bytes t_w. The model does not show the contention of all ranks that start with the
//! same receiver.

use super::{Exchange, Kernel, ReceiverIndex};
use crate::schedule::SendMode;
use crate::topology::Rank;

const COST: &str =
    "(sends + receives) t_s + bytes t_w of the busiest rank, and the contention of all at the same receiver";

/// ROMIO's default: ascending order, MPI_Isend, no throttle.
pub static ASCENDING_ISEND: Kernel = Kernel {
    name: "ascending_isend",
    about: "all at once, ascending ranks, Isend: ROMIO's default",
    source: Some("Main paper, section IV.A"),
    cost: COST,
    when: "To compare with ROMIO. All ranks start with the same aggregator, without a limit of outstanding messages: in the drawing, with one message at a time, the other ranks wait.",
    mode: SendMode::Standard,
    default_limit: None,
    coupled: false,
    step,
};

/// The paper's baseline: ascending order, MPI_Issend, no throttle (main paper, section V, algorithm (1)).
pub static ASCENDING_ISSEND: Kernel = Kernel {
    name: "ascending_issend",
    about: "all at once, ascending ranks, Issend: the main paper's baseline",
    source: Some("Main paper, sections IV.A and V"),
    cost: COST,
    when: "To compare with the main paper. Like ascending_isend, but a sender cannot end before its receivers have entered.",
    mode: SendMode::Synchronous,
    default_limit: None,
    coupled: false,
    step,
};

/// Returns the step of a message. Both the receivers of a sender and the senders of a receiver are in ascending
/// order.
fn step(exchange: &Exchange<'_>, sender: Rank, receiver: ReceiverIndex) -> u64 {
    sender as u64 * exchange.receivers.len() as u64 + receiver.0 as u64
}
