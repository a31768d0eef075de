//! Allreduce, broadcast and allgather of ranks that share memory, without messages: ranks write to their slots and read
//! the slots of the others.

use crate::error::Result;
use crate::fabric::Endpoint;
use crate::fabric::shared::{DECISION, SLOT, Slots};
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// Number of bytes of a slot that hold a length.
const LENGTH: usize = 8;

/// Returns true if all ranks of an endpoint share memory.
pub fn applies_to(endpoint: &Endpoint) -> bool {
    endpoint.combined().is_some()
}

/// Returns true if the words of an allreduce fit in a slot and in a decision.
pub fn fits(words: usize) -> bool {
    words * 8 <= SLOT.min(DECISION)
}

/// Runs an allreduce: the last rank to arrive reduces the words in all slots. Collective; one wait, O(p words).
///
/// # Errors
/// Errors of the message transport.
pub async fn allreduce(endpoint: &mut Endpoint, ops: &[ReduceOp], words: &mut [u64]) -> Result<()> {
    let own = &*words;
    let leave = |slot: &mut [u8]| {
        slot.chunks_exact_mut(8).zip(own).for_each(|(place, value)| place.copy_from_slice(&value.to_le_bytes()));
    };
    let decide = |slots: Slots<'_>, decision: &mut [u8]| {
        for (index, (op, place)) in ops.iter().zip(decision.chunks_exact_mut(8)).enumerate() {
            let of = |rank| word(slots.slot(rank), index * 8);
            let all = (1..slots.ranks()).fold(of(0), |all, rank| op.apply(all, of(rank)));
            place.copy_from_slice(&all.to_le_bytes());
        }
    };
    endpoint.combine(leave, decide).await?;
    if let Some(combined) = endpoint.combined() {
        words.iter_mut().enumerate().for_each(|(index, value)| *value = word(combined.decision(), index * 8));
    }
    Ok(())
}

/// Runs a broadcast, with one wait for each slot of bytes. Collective.
///
/// # Errors
/// Errors of the message transport.
pub async fn broadcast(endpoint: &mut Endpoint, root: Rank, bytes: &[u8]) -> Result<Vec<u8>> {
    let is_root = endpoint.rank() == root;
    let mut all = Vec::new();
    let mut at = 0;
    loop {
        let rest = if is_root { &bytes[at..] } else { &[] };
        let part = &rest[..rest.len().min(SLOT - LENGTH)];
        let leave = |slot: &mut [u8]| {
            if is_root {
                slot[..LENGTH].copy_from_slice(&(rest.len() as u64).to_le_bytes());
                slot[LENGTH..][..part.len()].copy_from_slice(part);
            }
        };
        endpoint.combine(leave, |_, _| {}).await?;
        let Some(combined) = endpoint.combined() else { return Ok(all) };
        let slot = combined.slots.slot(root);
        let left = word(slot, 0) as usize;
        let here = left.min(SLOT - LENGTH);
        all.extend_from_slice(&slot[LENGTH..][..here]);
        at += here;
        if here == left {
            return Ok(all);
        }
    }
}

/// Runs an allgather of blocks of the same length, in rank order, with one wait for each slot of bytes. Collective.
///
/// # Errors
/// Errors of the message transport.
pub async fn allgather(endpoint: &mut Endpoint, own: &[u8]) -> Result<Vec<u8>> {
    let mut all = vec![0; own.len() * endpoint.ranks()];
    for (number, part) in own.chunks(SLOT).enumerate() {
        endpoint.combine(|slot| slot[..part.len()].copy_from_slice(part), |_, _| {}).await?;
        if let Some(combined) = endpoint.combined() {
            for (rank, place) in all.chunks_exact_mut(own.len()).enumerate() {
                place[number * SLOT..][..part.len()].copy_from_slice(&combined.slots.slot(rank)[..part.len()]);
            }
        }
    }
    Ok(all)
}

/// Returns the integer at byte `at`; 0 if it is not within `bytes`.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::shared::HostsAre;
    use crate::fabric::threads;
    use std::pin::pin;

    #[test]
    fn slots_give_what_messages_give() {
        for ranks in [1, 2, 3, 8, 17] {
            threads::run(ranks, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let waiting = endpoint.waiting().clone();
                waiting.wait(pin!(async {
                    endpoint.find_hosts(HostsAre::Real, (0, 1 << 20)).await.unwrap();
                    assert!(applies_to(&endpoint));
                    for round in 0..20u64 {
                        let rank = endpoint.rank() as u64;
                        let mut words = [rank + round, 100 - rank];
                        allreduce(&mut endpoint, &[ReduceOp::Sum, ReduceOp::Min], &mut words).await.unwrap();
                        let n = ranks as u64;
                        assert_eq!(words, [n * (n - 1) / 2 + n * round, 101 - n]);
                        let long: Vec<u8> = (0..round * 1000).map(|at| (at % 251) as u8).collect();
                        let root = round as usize % ranks;
                        let mine = if endpoint.rank() == root { &long[..] } else { &[] };
                        assert_eq!(broadcast(&mut endpoint, root, mine).await.unwrap(), long);
                        let own = vec![rank as u8; 1 + round as usize * 700];
                        let all = allgather(&mut endpoint, &own).await.unwrap();
                        let expected = (0..ranks).flat_map(|rank| vec![rank as u8; own.len()]);
                        assert_eq!(all, expected.collect::<Vec<_>>());
                    }
                }));
            })
            .unwrap();
        }
    }
}
