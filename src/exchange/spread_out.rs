//! The spread-out order of MPI_Alltoallv, for many receivers among all (main paper, Algorithm 1).
//!
//! In step i, receiver r receives from rank (r + i) mod p: every receiver starts with itself. If all receivers are low ranks,
//! all ranks above the highest receiver start with that receiver (main paper, figure 1 (a)). This is the straggler effect; its
//! expected sum is (p - 1) sigma sqrt(1 / (2 pi)) (equation 4). [`super::BALANCED`] removes it.
//!
//! A receiver of n messages has ceil(n / w) batches of w messages. Time in the one-port model: (p - 1) t_s + k t_w for k bytes
//! at each receiver (section II.B).

use super::{Exchange, Kernel, ReceiverIndex};
use crate::schedule::SendMode;
use crate::topology::Rank;

/// The spread-out kernel: Algorithm 1 of the main paper with the throttle of section IV.B.
pub static SPREAD_OUT: Kernel = Kernel {
    name: "spread_out",
    about: "receiver r starts at rank r",
    source: Some("Main paper, Algorithm 1, section II.B, equation 4"),
    cost: "(p - 1) t_s + k t_w for k bytes at each receiver; stragglers: (p - 1) sigma sqrt(1 / (2 pi)) more",
    when: "All ranks are aggregators, or aggregators are spread evenly over the ranks: then no two of them receive from one rank at a time. If they are neighbours, as in the drawing, other ranks wait.",
    mode: SendMode::Synchronous,
    default_limit: Some(32),
    coupled: false,
    step,
};

/// Returns the step of a message: the distance from the receiver to `sender` around the ring of ranks.
pub(super) fn step(exchange: &Exchange<'_>, sender: Rank, receiver: ReceiverIndex) -> u64 {
    ((sender + exchange.ranks - exchange.rank_of(receiver)) % exchange.ranks) as u64
}
