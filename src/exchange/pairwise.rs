//! The pairwise exchange: each rank has one partner at a time (main paper, figure 3 (c)).
//!
//! In step i a rank receives from rank + i and sends to rank - i (mod p). It begins the next step when both are finished. The
//! paper's form calls MPI_Sendrecv in all p - 1 steps, even for empty messages. So an aggregator may wait for a rank that has
//! nothing for it: this took over 20 minutes where the others took under 250 s (section V.B). This kernel skips empty
//! messages. The simulator has the paper's form, for the paper's claims.
//!
//! At most one send and one receive are outstanding. Time in the one-port model: (p - 1) t_s + k t_w (section II.B), plus the
//! wait of every step for its slowest rank.

use super::{Kernel, spread_out};
use crate::schedule::SendMode;

/// The pairwise kernel. Its throttle is always one message.
pub static PAIRWISE: Kernel = Kernel {
    name: "pairwise",
    about: "in step i from rank + i and to rank - i, as MPI_Sendrecv",
    source: Some("Main paper, section II.B, figure 3 (c)"),
    cost: "(p - 1) t_s + k t_w for k bytes at each receiver, and what every step waits for its slowest",
    when: "A rank must never have more than one message in each direction. A slow partner delays all later steps.",
    mode: SendMode::Standard,
    default_limit: Some(1),
    coupled: true,
    step: spread_out::step,
};
