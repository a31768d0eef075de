//! Pairwise exchange: one partner at a time (main paper, figure 3 (c)).
//!
//! In step i a rank receives from rank + i and sends to rank - i (mod p), and does not go on before both are done. The
//! paper's form calls MPI_Sendrecv in all p - 1 steps, empty or not, so an aggregator may wait for a rank that has
//! nothing for it: over 20 minutes where the others took under 250 s (section V.B). Ours skips the empty messages;
//! `trib_pairwise_empty=send` gives the paper's ([`with_empty`]).
//!
//! At most one send and one receive outstanding. Time in the one-port model (p - 1) t_s + k t_w (section II.B), plus
//! what every step waits for its slowest.

use super::{Kernel, Transfer, spread_out};
use crate::schedule::{SendMode, Span};
use crate::topology::Rank;

/// The pairwise kernel; its throttle is one by construction.
pub static PAIRWISE: Kernel = Kernel {
    name: "pairwise",
    about: "one partner at a time, as MPI_Sendrecv (main paper, figure 3 (c))",
    mode: SendMode::Standard,
    default_limit: Some(1),
    coupled: true,
    step: spread_out::step,
};

/// The paper's form: `messages` (by ascending peer) filled up with empty ones, so that each of `peers` has one. O(peers).
pub fn with_empty(messages: &[Transfer], peers: std::ops::Range<Rank>, empty: Span) -> Vec<Transfer> {
    let mut given = messages.iter().peekable();
    peers
        .map(|peer| match given.next_if(|m| m.peer == peer) {
            Some(message) => *message,
            None => Transfer { peer, span: Span { len: 0, ..empty } },
        })
        .collect()
}
