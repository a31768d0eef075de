//! Small collective operations for the engine: allreduce, broadcast, gather, and agreement on errors.
//!
//! Every rank of the endpoint must call each of them. Allreduce and broadcast use binomial trees, and gather is linear.
//! If all ranks share memory, they use it instead of messages ([`super::on_host`]). If the ranks of each of several
//! hosts share memory, allreduce and broadcast are reductions over the hosts ([`super::combine`]).

use std::sync::Arc;

use super::combine::{Allreduce, Combine, combine_over_hosts};
use super::gather::{GatherSlots, linear};
use super::on_host;
use super::part::{Part, WordOps};
use super::{BROADCAST, GATHER, REDUCE, binomial};
use tributary_base::wire;

use crate::error::{Error, Result};
use crate::fabric::shared::{Hosts, MAX_CONTRIBUTION};
use crate::fabric::{Buffers, Endpoint};
use crate::schedule::{Buffer, Builder, OpId, ReduceOp, Schedule};
use crate::topology::Rank;

/// Reduces each word over all ranks; every rank gets the results in `words`. Collective, with the same `ops` on all
/// ranks. A binomial reduction to rank 0 and a binomial broadcast: 2 ceil(log2 p) (t_s + 8 words t_w) for p ranks (see
/// [`super`] for t_s and t_w).
///
/// # Errors
/// Errors of the message transport.
pub async fn allreduce(endpoint: &mut Endpoint, ops: &[ReduceOp], words: &mut [u64]) -> Result<()> {
    if on_host::applies_to(endpoint) && on_host::fits(words.len()) {
        return on_host::allreduce(endpoint, ops, words).await;
    }
    if let Some(hosts) = combining_hosts(endpoint).filter(|_| words.len() * 8 <= MAX_CONTRIBUTION) {
        let mut own = Allreduce { ops, words };
        let answer = combine_over_hosts(endpoint, &hosts, &mut own).await?;
        own.set(&answer);
        return Ok(());
    }
    let mut buffers = Buffers::exact();
    buffers.set(Buffer::Receive, words.iter().flat_map(|value| value.to_le_bytes()).collect());
    let len = words.len() as u64 * 8;
    endpoint.run(among_all(endpoint, binomial::reduce, 0, len, ops), &mut buffers, REDUCE).await?;
    endpoint.run(broadcast_schedule(endpoint, 0, len), &mut buffers, BROADCAST).await?;
    for (value, bytes) in words.iter_mut().zip(buffers.get(Buffer::Receive).chunks_exact(8)) {
        *value = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    Ok(())
}

/// Returns the hosts, if ranks of a host share memory: agreements then go over the hosts.
fn combining_hosts(endpoint: &Endpoint) -> Option<Arc<Hosts>> {
    endpoint.hosts().filter(|hosts| hosts.shares()).cloned()
}

/// A function that adds a rank's operations of a part to a schedule.
type Append = fn(&Part<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// Returns the schedule of an algorithm on the first `len` bytes of [`Buffer::Receive`] of every rank.
fn among_all(endpoint: &Endpoint, append: Append, root: Rank, len: u64, ops: &[ReduceOp]) -> Schedule {
    let part = Part::of_all(endpoint.rank(), endpoint.ranks(), root, len, WordOps::Each(ops));
    let mut builder = Builder::default();
    append(&part, &mut builder, &[]);
    builder.finish()
}

/// Returns the schedule of a binomial broadcast of `len` bytes.
fn broadcast_schedule(endpoint: &Endpoint, root: Rank, len: u64) -> Schedule {
    among_all(endpoint, binomial::broadcast, root, len, &[])
}

/// Returns the bytes of `root` on every rank; `bytes` is ignored on the other ranks. Collective. Two binomial
/// broadcasts, of the length and of the bytes: 2 ceil(log2 p) t_s + ceil(log2 p) bytes t_w.
///
/// # Errors
/// Errors of the message transport.
pub async fn broadcast(endpoint: &mut Endpoint, root: Rank, bytes: &[u8]) -> Result<Vec<u8>> {
    if on_host::applies_to(endpoint) {
        return on_host::broadcast(endpoint, root, bytes).await;
    }
    if let Some(hosts) = combining_hosts(endpoint) {
        return broadcast_over_hosts(endpoint, &hosts, root, bytes).await;
    }
    let mut length = Buffers::exact();
    length.set(Buffer::Receive, (bytes.len() as u64).to_le_bytes().to_vec());
    endpoint.run(broadcast_schedule(endpoint, root, 8), &mut length, BROADCAST).await?;
    let length = u64::from_le_bytes(length.get(Buffer::Receive).try_into().unwrap_or_default());
    let mut body = Buffers::exact();
    if endpoint.rank() == root {
        body.set(Buffer::Receive, bytes.to_vec());
    }
    endpoint.run(broadcast_schedule(endpoint, root, length), &mut body, BROADCAST).await?;
    Ok(body.get(Buffer::Receive).to_vec())
}

/// Broadcasts by reductions over hosts, one for each [`MAX_CONTRIBUTION`] bytes.
async fn broadcast_over_hosts(endpoint: &mut Endpoint, hosts: &Hosts, root: Rank, bytes: &[u8]) -> Result<Vec<u8>> {
    let (is_root, mut all) = (endpoint.rank() == root, Vec::new());
    loop {
        let mut own = RootBytes(Vec::new());
        if is_root {
            let rest = &bytes[all.len()..];
            own.0 = (rest.len() as u64).to_le_bytes().to_vec();
            own.0.extend_from_slice(&rest[..rest.len().min(MAX_CONTRIBUTION - 8)]);
        }
        let answer = combine_over_hosts(endpoint, hosts, &mut own).await?;
        let Some((left, part)) = answer.split_first_chunk() else {
            return Err(Error::Internal { rank: root, what: "a broadcast arrived without its length".to_string() });
        };
        all.extend_from_slice(part);
        if u64::from_le_bytes(*left) == part.len() as u64 {
            return Ok(all);
        }
    }
}

/// The bytes of the root of a broadcast; empty on ranks that have not received them.
struct RootBytes(Vec<u8>);

impl Combine for RootBytes {
    fn body(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn merge(&mut self, body: &[u8]) {
        self.0.extend_from_slice(body);
    }

    fn decide(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
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
    let schedule = linear(rank, ranks, root, bytes.len() as u64, longest[0]);
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
    let internal = |what: String| Error::Internal { rank: root, what };
    if root >= endpoint.ranks() {
        return Err(internal("a rank that is not there reported an error".to_string()));
    }
    let received = broadcast(endpoint, root, &wire::to_bytes(&error.cloned())).await?;
    let error = match wire::from_bytes::<Option<Error>>(&received) {
        Some(Some(error)) => error.told_by(root, endpoint.ranks()),
        Some(None) => internal("a rank reported an error but sent none".to_string()),
        None => internal("an error could not be decoded".to_string()),
    };
    endpoint.waiting().failure().agreed(&error);
    Ok(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::threads;
    use std::pin::pin;

    const WORLDS: [usize; 8] = [1, 2, 3, 5, 8, 13, 16, 33];

    /// Runs `program` on every rank of every world.
    fn on_all<T: Send>(program: impl Fn(&mut Endpoint) -> T + Sync) -> Vec<Vec<T>> {
        WORLDS.map(|ranks| threads::run(ranks, |t| program(&mut Endpoint::new(t))).unwrap()).into()
    }

    #[test]
    fn allreduce_is_the_fold() {
        for all in on_all(|endpoint| {
            let waiting = endpoint.waiting().clone();
            let me = endpoint.rank() as u64;
            let mut words = [me + 1, 100 - me, me * 7 % 5, me];
            let ops = [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::Sum];
            waiting.wait(pin!(allreduce(endpoint, &ops, &mut words))).unwrap();
            words
        }) {
            let p = all.len() as u64;
            let largest = (0..p).map(|r| r * 7 % 5).max().unwrap();
            assert!(all.iter().all(|&words| words == [p * (p + 1) / 2, 101 - p, largest, p * (p - 1) / 2]));
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
            let outcome = if me % 3 == 2 { Err(Error::Fabric(format!("rank {me}"))) } else { Ok(me) };
            waiting.wait(pin!(agree(endpoint, outcome)))
        }) {
            for (rank, outcome) in all.iter().enumerate() {
                let expected = if all.len() > 2 { Err(Error::Fabric("rank 2".into())) } else { Ok(rank) };
                assert_eq!(*outcome, expected);
            }
        }
    }
}
