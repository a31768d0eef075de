//! The small collective operations of the engine, as schedules: allreduce, broadcast, gather, allgather, and agreement on errors.
//! (Other algorithms, from papers, are in the crate `tributary-lab`.)
//!
//! They are collective: every rank of the endpoint calls them, in the same order. Allreduce and broadcast each use
//! [`Team::combine`] over all ranks: through shared memory, through the leaders of hosts, or by messages only. [`team`]
//! defines the ranks that decide together; every agreement of the engine uses it. Costs are given for p ranks: t_s is the
//! start-up time of a message, t_w the time to send one byte, and t_c the time to reduce one byte.
//!
//! **Gather** is linear. The root receives from every other rank, at most 32 messages at a time; each receive has room for
//! the longest block. It costs (p - 1) t_s + (sum of blocks) t_w at the root. Use it for statistics, not for data.
//!
//! **Allgather** is Bruck's: in each step every rank sends all blocks that it has to a lower rank, and has twice as many
//! afterwards. Paper: Bruck, Ho, Kipnis, Upfal, Weathersby, Efficient Algorithms for All-to-All Communications in Multiport
//! Message-Passing Systems (1997). In step i rank r sends the first min(2^i, p - 2^i) blocks to rank r - 2^i, and appends the
//! blocks of rank r + 2^i. A rotation at the end brings the blocks into rank order. ceil(log2 p) t_s + (p - 1) m t_w for blocks
//! of m bytes.

pub mod team;

use std::sync::Arc;

use tributary_base::wire::frame::{Encoder, LENGTH};
use tributary_base::wire::{self, Output, Wire};

use crate::error::{Error, Result};
use crate::fabric::shared::{SLOT, Shared};
use crate::fabric::{Buffers, Endpoint, Memory, Message};
use crate::schedule::{Action, Buffer, Builder, ReduceOp, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;
use team::{Combine, Team};

/// Tags of the messages of each collective operation; the engine's tags begin at [`FIRST_FREE_TAG`].
const GATHER: u16 = 0;
const ALLGATHER: u16 = 1;
/// Tag of the messages of a team's decision.
const COMBINE: u16 = 2;
/// The first tag that the collectives do not use.
pub const FIRST_FREE_TAG: u16 = 3;

/// Reduces each of `values` over all ranks; every rank gets the results in `values`. Collective, with the same `ops` on
/// all ranks. One decision of all ranks for each 16 KiB of values: 2 ceil(log2 p) (t_s + 8 values t_w) for p ranks
/// without shared memory.
///
/// # Errors
/// Errors of the message transport.
pub async fn allreduce(endpoint: &mut Endpoint, ops: &[ReduceOp], values: &mut [u64]) -> Result<()> {
    let team = Team::of_all(endpoint);
    let most = team.longest_answer() / 8;
    for (ops, values) in ops.chunks(most).zip(values.chunks_mut(most)) {
        let answer = team.combine(endpoint, &mut Reduced { ops, values }).await?;
        let mut from = &answer[..];
        values.iter_mut().zip(numbers(&mut from)).for_each(|(value, result)| *value = result);
    }
    Ok(())
}

/// Decodes the integers in `from`, in order.
fn numbers(from: &mut &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(|| u64::decode(from))
}

/// This rank's values in an allreduce, and the operation for each.
struct Reduced<'a> {
    ops: &'a [ReduceOp],
    values: &'a mut [u64],
}

impl Combine for Reduced<'_> {
    fn merge(&mut self, mut other: &[u8]) {
        let own = self.values.iter_mut().zip(self.ops);
        own.zip(numbers(&mut other)).for_each(|((value, op), other)| *value = op.apply(*value, other));
    }

    fn encode(&self, _others: &[&[u8]], out: &mut Encoder<'_>) {
        self.values.iter().for_each(|value| out.put(value));
    }

    fn decide(&mut self, others: &[&[u8]], out: &mut Encoder<'_>) {
        self.encode(others, out);
    }
}

/// Returns the bytes of `root` on every rank; `bytes` is ignored on the other ranks. Collective. One decision of all
/// ranks for each 16 KiB: 2 ceil(log2 p) (t_s + bytes t_w) without shared memory.
///
/// # Errors
/// Errors of the message transport.
pub async fn broadcast(endpoint: &mut Endpoint, root: Rank, bytes: &[u8]) -> Result<Vec<u8>> {
    let (team, is_root, mut all) = (Team::of_all(endpoint), endpoint.rank() == root, Vec::new());
    let most = team.longest_answer() - LENGTH;
    loop {
        let mut own = RootBytes(Vec::new());
        if is_root {
            let rest = &bytes[all.len()..];
            own.0 = (rest.len() as u64).to_le_bytes().to_vec();
            own.0.extend_from_slice(&rest[..rest.len().min(most)]);
        }
        let answer = team.combine(endpoint, &mut own).await?;
        let Some((left, part)) = answer.split_first_chunk() else {
            return Err(Error::internal(root, "a broadcast arrived without its length"));
        };
        all.extend_from_slice(part);
        if u64::from_le_bytes(*left) == part.len() as u64 {
            return Ok(all);
        }
    }
}

/// A message of a broadcast: the number of bytes that the root still has to send, then the next of these bytes. Empty on
/// ranks that have not received the message.
struct RootBytes(Vec<u8>);

impl Combine for RootBytes {
    fn merge(&mut self, other: &[u8]) {
        self.0.extend_from_slice(other);
    }

    fn encode(&self, _others: &[&[u8]], out: &mut Encoder<'_>) {
        out.bytes(&self.0);
    }

    fn decide(&mut self, others: &[&[u8]], out: &mut Encoder<'_>) {
        self.encode(others, out);
    }
}

/// Returns the bytes of every rank on `root`, in rank order; an empty list on the other ranks. Collective. An allreduce
/// of the longest length, then one message per rank, at most 32 of them outstanding: (2 ceil(log2 p) + p) t_s + (sum of
/// bytes) t_w.
///
/// # Errors
/// Errors of the message transport.
pub async fn gather(endpoint: &mut Endpoint, root: Rank, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut longest = [bytes.len() as u64];
    allreduce(endpoint, &[ReduceOp::Max], &mut longest).await?;
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let mut slots = GatherSlots::new(bytes, rank, if rank == root { ranks } else { 0 });
    let schedule = gather_schedule(rank, ranks, root, bytes.len() as u64, longest[0]);
    endpoint.run(schedule, &mut slots, GATHER).await?;
    Ok(slots.into_blocks())
}

/// Agrees on an outcome: if any rank has an error, all ranks get the error of the lowest such rank. Collective. An
/// allreduce of 8 bytes, and a broadcast if there is an error.
///
/// # Errors
/// The agreed error; errors of the message transport.
pub async fn agree<T>(endpoint: &mut Endpoint, outcome: Result<T>) -> Result<T> {
    let mut first = [if outcome.is_err() { endpoint.rank() as u64 } else { u64::MAX }];
    allreduce(endpoint, &[ReduceOp::Min], &mut first).await?;
    match (first[0], outcome) {
        (u64::MAX, Ok(value)) => Ok(value),
        (root, outcome) => Err(broadcast_error(endpoint, root as Rank, outcome.err().as_ref()).await?),
    }
}

/// Returns the error of `root` on every rank; it names `root` if there are several ranks. `error` is ignored on the
/// other ranks. Collective. Costs a broadcast.
///
/// # Errors
/// Errors of the message transport.
pub async fn broadcast_error(endpoint: &mut Endpoint, root: Rank, error: Option<&Error>) -> Result<Error> {
    let internal = |what: String| Error::internal(root, what);
    if root >= endpoint.ranks() {
        return Err(internal("a rank that is not there reported an error".to_string()));
    }
    let received = broadcast(endpoint, root, &wire::to_bytes(&error.cloned())).await?;
    let error = match wire::from_bytes::<Option<Error>>(&received) {
        Some(Some(error)) => error.of_rank_among(root, endpoint.ranks()),
        Some(None) => internal("a rank reported an error but sent none".to_string()),
        None => internal("an error could not be decoded".to_string()),
    };
    Ok(error.agreed())
}

/// Returns this rank's schedule of a gather. This rank's block has `len` bytes; the longest block has `longest` bytes.
fn gather_schedule(rank: Rank, ranks: usize, root: Rank, len: u64, longest: u64) -> Schedule {
    let mut builder = Builder::default();
    if rank == root {
        let place = |from: Rank| Span::new(Buffer::Receive, from as u64 * longest, longest);
        let chain: Vec<_> =
            (0..ranks).filter(|&r| r != root).map(|from| (Action::Receive { from }, place(from))).collect();
        builder.chain(&chain, Throttle::sliding(32), &[]);
    } else {
        builder.send(root, SendMode::Synchronous, Span::new(Buffer::Send, 0, len), &[]);
    }
    builder.finish()
}

/// Memory of a gather: keeps the messages as they arrive.
struct GatherSlots {
    own: Message,
    bodies: Vec<Message>,
}

impl GatherSlots {
    /// Returns memory for `slots` blocks (0 on all ranks but the root); this rank's block is `own`.
    fn new(own: &[u8], rank: Rank, slots: usize) -> Self {
        let own = Message::copy_from_slice(own);
        let mut bodies = vec![Message::new(); slots];
        if let Some(slot) = bodies.get_mut(rank) {
            *slot = own.clone();
        }
        Self { own, bodies }
    }

    /// Returns all blocks, in rank order.
    fn into_blocks(self) -> Vec<Vec<u8>> {
        self.bodies.into_iter().map(Vec::from).collect()
    }
}

impl Memory for GatherSlots {
    fn read(&mut self, _span: Span) -> Result<Message> {
        Ok(self.own.clone())
    }

    fn write(&mut self, from: Rank, _span: Span, message: Message) -> Result<()> {
        self.bodies[from] = message;
        Ok(())
    }

    fn copy(&mut self, _from: Span, _to: Span) -> Result<()> {
        Ok(())
    }
}

/// Returns the blocks of all ranks on every rank, in rank order. Collective; all blocks must have the same length.
/// Ranks that share memory send no messages.
///
/// # Errors
/// Errors of the message transport.
pub async fn allgather(endpoint: &mut Endpoint, own: &[u8]) -> Result<Vec<u8>> {
    if let Some(shared) = endpoint.shared() {
        return allgather_in_slots(endpoint, &shared, own).await;
    }
    let mut buffers = Buffers::exact();
    buffers.set(Buffer::Send, own.to_vec());
    endpoint
        .run(allgather_schedule(endpoint.rank(), endpoint.ranks(), own.len() as u64), &mut buffers, ALLGATHER)
        .await?;
    Ok(buffers.get(Buffer::Receive).to_vec())
}

/// Returns the blocks of all ranks, which share memory and read each other's slots. Costs one wait for each [`SLOT`] bytes of
/// a block.
async fn allgather_in_slots(endpoint: &mut Endpoint, shared: &Arc<Shared>, own: &[u8]) -> Result<Vec<u8>> {
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

/// Returns the schedule of an allgather on one rank, for blocks of `len` bytes. O(log ranks).
fn allgather_schedule(rank: Rank, ranks: usize, len: u64) -> Schedule {
    let blocks = |buffer, first: usize, count: usize| Span::new(buffer, first as u64 * len, count as u64 * len);
    // Blocks in rank order, beginning with this rank's block; after the last rank comes rank 0.
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
    let from_own_rank_on = ranks - rank;
    for (from, to, count) in [(0, rank, from_own_rank_on), (from_own_rank_on, 0, rank)] {
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

    const WORLDS: [usize; 8] = [1, 2, 3, 5, 8, 13, 16, 33];

    /// Runs `program` on every rank, for each number of ranks in [`WORLDS`].
    fn on_all<T: Send>(program: impl Fn(&mut Endpoint) -> T + Sync) -> Vec<Vec<T>> {
        WORLDS.map(|ranks| threads::run(ranks, |t| program(&mut Endpoint::new(t))).unwrap()).into()
    }

    #[test]
    fn allreduce_is_the_fold() {
        for all in on_all(|endpoint| {
            let waiting = endpoint.waiting().clone();
            let me = endpoint.rank() as u64;
            let mut values = [me + 1, 100 - me, me * 7 % 5, me];
            let ops = [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::Sum];
            waiting.wait(pin!(allreduce(endpoint, &ops, &mut values))).unwrap();
            values
        }) {
            let p = all.len() as u64;
            let largest = (0..p).map(|r| r * 7 % 5).max().unwrap();
            assert!(all.iter().all(|&values| values == [p * (p + 1) / 2, 101 - p, largest, p * (p - 1) / 2]));
        }
    }

    #[test]
    fn broadcast_from_any_root_and_gather_to_any_root() {
        for all in on_all(|endpoint| {
            let waiting = endpoint.waiting().clone();
            let root = endpoint.ranks() / 2;
            let mine = vec![endpoint.rank() as u8; endpoint.rank() % 4];
            let received = waiting.wait(pin!(broadcast(endpoint, root, &mine))).unwrap();
            assert_eq!(received, vec![root as u8; root % 4]);
            waiting.wait(pin!(gather(endpoint, root, &mine))).unwrap()
        }) {
            let expected: Vec<_> = (0..all.len()).map(|r| vec![r as u8; r % 4]).collect();
            for (rank, got) in all.iter().enumerate() {
                assert_eq!(*got, if rank == all.len() / 2 { expected.clone() } else { Vec::new() });
            }
        }
    }

    #[test]
    fn all_get_the_error_of_the_lowest() {
        for all in on_all(|endpoint| {
            let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
            let outcome = if me % 3 == 2 { Err(Error::fabric(format!("rank {me}"))) } else { Ok(me) };
            waiting.wait(pin!(agree(endpoint, outcome)))
        }) {
            for (rank, outcome) in all.iter().enumerate() {
                let expected = if all.len() > 2 { Err(Error::fabric("rank 2")) } else { Ok(rank) };
                assert_eq!(*outcome, expected);
            }
        }
    }

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
