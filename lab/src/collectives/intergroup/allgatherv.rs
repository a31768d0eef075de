//! Intergroup allgatherv: every rank gets an equal part of the other group's full message; then an allgather inside
//! both groups.
//!
//! Paper: Kang et al. 2019 (see `allgather`), Algorithm 2, section 4.1. The bytes of a group, in rank order, are cut
//! into as many parts as the other group has ranks; the parts differ by at most one byte, the larger first. A large
//! block goes to several ranks in several messages; several small blocks go to one rank. The messages have the order of
//! the paper (see `exchange`). An allgather by dissemination, in place, completes the operation. All ranks know all
//! sizes, so the paper's Allreduce and Exscan are not needed.
//!
//! At most p + q - 1 messages each way between the groups, and at most 2 p ceil(log2 p) + 2 q ceil(log2 q) inside;
//! every rank gets every byte of the other group once. A rank's message rounds: the larger of its numbers of senders
//! and receivers, and at most 2 ceil(log2 p).
//!
//! The transfer time is at most M + max(block) t_w, where M = max(sum of A's blocks, sum of B's) t_w is the minimum.
//! This is the second expression of Theorem 3, equation 4, less the log(pq) t_w of the Allreduce. It assumes equal
//! parts: sums that are multiples of the number of receivers; [`time`] is for any sums. The *first* expression of
//! equation 4 does not hold with one port a rank: its proof lets the allgather in B (Line 26) run in parallel with the
//! sends of B's blocks (Lines 22-24), which need the same ports. O(p + q) memory.

use super::Pair;
use super::exchange::{Side, share};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::allgather::{Circle, disseminate};
use tributary::schedule::{Builder, Schedule};

/// Intergroup allgather for blocks of any size, Algorithm 2 (see the module).
pub static ALLGATHERV: Algorithm = Algorithm {
    operation: Operation::IntergroupAllgather,
    name: "allgatherv",
    about: "an equal part of the full message to every rank of the other group, then an allgather inside both groups",
    source: "Kang et al. 2019, Algorithm 2, equation 4",
    cost: "at most (p + q + 2 ceil(log2 p)) t_s + (max(sum of A, sum of B) + largest block) t_w for p >= q",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let Some(side) = Side::of(problem) else { return Schedule::default() };
    let mut builder = Builder::default();
    let (parts, done) = side.exchange(evenly, &mut builder);
    disseminate(&side.group, &parts, 0, &mut builder, done);
    builder.finish()
}

/// Returns the full message of `blocks` in equal parts, one for each receiver (Algorithm 2, Lines 5-11 and 15-21).
fn evenly(blocks: &Circle, receivers: usize) -> Circle {
    Circle::new((0..receivers).map(|receiver| share(blocks.total(), receivers, receiver)))
}

/// Returns the bound of Theorem 3 on the transfer time, equation 4, second expression: M, the `largest` block of all,
/// and log2(pq) t_w for the paper's Allreduce of one word.
pub fn bound(rates: &Rates, pair: &Pair, largest: f64) -> f64 {
    pair.least(rates) + (largest + (pair.p * pair.q).log2()) * rates.byte
}

/// Returns an upper bound of the time, with parts rounded up to whole bytes: the exchange, which ends with the largest
/// block or part, then the longer of the two allgathers. Never above [`bound`] if the parts are equal.
pub fn time(rates: &Rates, pair: &Pair, largest: f64) -> f64 {
    let Pair { p, q, k_a, k_b } = *pair;
    let (of_a, of_b) = ((p * k_a / q).ceil(), (q * k_b / p).ceil());
    let startups = p + q + 2.0 * p.max(q).log2().ceil();
    let inside = ((q - 1.0) * of_a).max((p - 1.0) * of_b);
    startups * rates.startup + (largest.max(of_a).max(of_b) + inside) * rates.byte
}
