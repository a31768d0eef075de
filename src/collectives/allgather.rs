//! Bruck's allgather: in each step every rank sends all blocks that it has to a lower rank, and has twice as many
//! afterwards.
//!
//! Paper: Bruck, Ho, Kipnis, Upfal, Weathersby, Efficient Algorithms for All-to-All Communications in Multiport
//! Message-Passing Systems (1997). In step i rank r sends the first min(2^i, p - 2^i) blocks to rank r - 2^i, and
//! appends the blocks of rank r + 2^i. A rotation at the end brings the blocks into rank order. ceil(log2 p) t_s + (p -
//! 1) m t_w for blocks of m bytes.

use std::sync::Arc;

use super::ALLGATHER;
use crate::error::Result;
use crate::fabric::shared::{SLOT, Shared};
use crate::fabric::{Buffers, Endpoint};
use crate::schedule::{Buffer, Builder, Schedule, SendMode, Span};
use crate::topology::Rank;

/// Returns the blocks of all ranks on every rank, in rank order. Collective; all blocks must have the same length.
/// Ranks that share memory send no messages.
///
/// # Errors
/// Errors of the message transport.
pub async fn allgather(endpoint: &mut Endpoint, own: &[u8]) -> Result<Vec<u8>> {
    if let Some(shared) = endpoint.shared() {
        return in_slots(endpoint, &shared, own).await;
    }
    let mut buffers = Buffers::exact();
    buffers.set(Buffer::Send, own.to_vec());
    endpoint.run(schedule(endpoint.rank(), endpoint.ranks(), own.len() as u64), &mut buffers, ALLGATHER).await?;
    Ok(buffers.get(Buffer::Receive).to_vec())
}

/// Returns the blocks of ranks that share memory, which read each other's slots: one wait for each slot of bytes.
async fn in_slots(endpoint: &mut Endpoint, shared: &Arc<Shared>, own: &[u8]) -> Result<Vec<u8>> {
    let mut all = vec![0; own.len() * endpoint.ranks()];
    for (number, part) in own.chunks(SLOT).enumerate() {
        let leave = |part: &mut &[u8], slot: &mut [u8]| slot[..part.len()].copy_from_slice(part);
        endpoint.combine_in(shared, part, leave, |_, _, _| {}).await?;
        let slots = shared.combined().slots;
        for (rank, place) in all.chunks_exact_mut(own.len()).enumerate() {
            place[number * SLOT..][..part.len()].copy_from_slice(&slots.slot(rank)[..part.len()]);
        }
    }
    Ok(all)
}

/// Returns the schedule of one rank for blocks of `len` bytes. O(log ranks).
fn schedule(rank: Rank, ranks: usize, len: u64) -> Schedule {
    let blocks = |buffer, first: usize, count: usize| Span::new(buffer, first as u64 * len, count as u64 * len);
    // Blocks in the order of ranks from this rank on.
    let turned = Buffer::Stage(0);
    let mut builder = Builder::default();
    let mut before = vec![builder.copy(blocks(Buffer::Send, 0, 1), blocks(turned, 0, 1), &[])];
    let mut held = 1;
    while held < ranks {
        let more = held.min(ranks - held);
        builder.send((rank + ranks - held) % ranks, SendMode::Standard, blocks(turned, 0, more), &before);
        before.push(builder.receive((rank + held) % ranks, blocks(turned, held, more), &[]));
        held += more;
    }
    let behind = ranks - rank;
    for (from, to, count) in [(0, rank, behind), (behind, 0, rank)] {
        if count > 0 {
            builder.copy(blocks(turned, from, count), blocks(Buffer::Receive, to, count), &before);
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::fabric::threads;

    #[test]
    fn every_rank_gets_the_blocks_in_rank_order() {
        for ranks in [1, 2, 3, 5, 8, 13, 16, 33] {
            for len in [1, 16, 48] {
                let block = |rank: usize| vec![rank as u8 + 1; len];
                let all = threads::run(ranks, |transport| {
                    let endpoint = &mut Endpoint::new(transport);
                    let (waiting, own) = (endpoint.waiting().clone(), block(endpoint.rank()));
                    waiting.wait(pin!(allgather(endpoint, &own))).unwrap()
                });
                let due: Vec<u8> = (0..ranks).flat_map(block).collect();
                assert!(all.unwrap().iter().all(|got| *got == due), "{ranks} ranks, {len} bytes");
            }
        }
    }
}
