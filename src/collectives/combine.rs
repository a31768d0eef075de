//! A reduction over hosts: the contributions of all ranks are merged on their way to rank 0, which decides for all; the
//! answer of rank 0 goes back to all ranks.
//!
//! The ranks of a host give their contributions to their leader through shared memory ([`Hosts`]); leaders form a
//! binomial tree. With h hosts: 2 ceil(log2 h) (t_s + body t_w), and one wait of the ranks that are no leaders.

use crate::error::{Error, Result};
use crate::fabric::shared::Hosts;
use crate::fabric::{Endpoint, Memory, Message};
use crate::schedule::{Buffer, Builder, ReduceOp, SendMode, Span};
use crate::topology::Rank;

use super::COMBINE;

/// Maximum length of a merged body in bytes. (The contribution of one rank has another limit,
/// [`crate::fabric::shared::MAX_CONTRIBUTION`].)
pub const MAX_BODY: usize = 64 << 10;

/// Number of bytes of the length before a body in a message.
const LENGTH_BYTES: usize = 8;

/// A value that is reduced over hosts: the contribution of a rank, how contributions merge, and how rank 0 decides.
pub trait Combine {
    /// Returns this rank's contribution, with all contributions merged into it, encoded.
    fn body(&self) -> Vec<u8>;

    /// Merges the encoded contribution of other ranks into this one. Contributions come in any order.
    fn merge(&mut self, body: &[u8]);

    /// Returns the answer to all ranks, at most [`crate::fabric::shared::MAX_CONTRIBUTION`] bytes, or [`MAX_BODY`] if
    /// no ranks share memory. Called on rank 0, when all contributions are merged.
    fn decide(&mut self) -> Vec<u8>;
}

/// Runs a reduction over hosts and returns the answer of rank 0. Collective over all ranks of the endpoint.
///
/// # Errors
/// Errors of the message transport.
pub async fn combine_over_hosts(endpoint: &mut Endpoint, hosts: &Hosts, own: &mut dyn Combine) -> Result<Vec<u8>> {
    if !hosts.leads() {
        return endpoint.contribute(hosts, &own.body()).await;
    }
    endpoint.await_contributions(hosts).await?;
    hosts.contributions().for_each(|body| own.merge(body));
    let answer = among_leaders(endpoint, hosts, own).await?;
    hosts.answer(&answer);
    Ok(answer.to_vec())
}

async fn among_leaders(endpoint: &mut Endpoint, hosts: &Hosts, own: &mut dyn Combine) -> Result<Message> {
    let (me, leaders) = (hosts.host(), hosts.leaders());
    let mut memory = CombineMemory { own: Message::new(), received: Vec::new() };
    let span = |buffer| Span::new(buffer, 0, (LENGTH_BYTES + MAX_BODY) as u64);
    let children: Vec<Rank> = children(me, leaders.len()).map(|child| leaders[child]).collect();
    if !children.is_empty() {
        let mut builder = Builder::default();
        for &child in &children {
            builder.receive(child, span(Buffer::Receive), &[]);
        }
        endpoint.run(builder.finish(), &mut memory, COMBINE).await?;
        memory.received.drain(..).for_each(|body| own.merge(&body[LENGTH_BYTES..]));
    }
    let answer = if me == 0 {
        framed(own.decide())
    } else {
        let parent = leaders[me & (me - 1)];
        memory.own = framed(own.body());
        let mut builder = Builder::default();
        builder.send(parent, SendMode::Standard, span(Buffer::Send), &[]);
        builder.receive(parent, span(Buffer::Receive), &[]);
        endpoint.run(builder.finish(), &mut memory, COMBINE).await?;
        memory.received.pop().unwrap_or_default()
    };
    if !children.is_empty() {
        memory.own = answer.clone();
        let mut builder = Builder::default();
        for &child in children.iter().rev() {
            builder.send(child, SendMode::Standard, span(Buffer::Send), &[]);
        }
        endpoint.run(builder.finish(), &mut memory, COMBINE).await?;
    }
    Ok(answer.slice(LENGTH_BYTES..))
}

/// Returns a message that begins with its length, so that a truncated message is recognised.
fn framed(body: Vec<u8>) -> Message {
    let mut framed = Vec::with_capacity(LENGTH_BYTES + body.len());
    framed.extend_from_slice(&(body.len() as u64).to_le_bytes());
    framed.extend_from_slice(&body);
    framed.into()
}

/// Returns the children of vertex `me` in a binomial tree of `count` vertices, ascending: the largest subtree is last.
fn children(me: usize, count: usize) -> impl Iterator<Item = usize> {
    let until = if me == 0 { usize::BITS } else { me.trailing_zeros() };
    (0..until).map(move |bit| me + (1 << bit)).take_while(move |&child| child < count)
}

/// Memory of a reduction over hosts: the message to send, and the received messages.
struct CombineMemory {
    own: Message,
    received: Vec<Message>,
}

impl Memory for CombineMemory {
    fn read(&mut self, _span: Span) -> Result<Message> {
        Ok(self.own.clone())
    }

    fn write(&mut self, from: Rank, _span: Span, message: Message) -> Result<()> {
        let len = message.split_first_chunk().map(|(len, body)| (u64::from_le_bytes(*len), body.len() as u64));
        if len.is_none_or(|(sent, received)| sent != received) {
            return Err(Error::Fabric(format!(
                "a message of a reduction over hosts from rank {from} was cut to {} bytes",
                message.len()
            )));
        }
        self.received.push(message);
        Ok(())
    }

    fn copy(&mut self, _from: Span, _to: Span) -> Result<()> {
        Ok(())
    }
}

/// An allreduce as a reduction over hosts.
pub struct Allreduce<'a> {
    /// Operation of each word.
    pub ops: &'a [ReduceOp],
    /// This rank's words; after [`Allreduce::set`], the results.
    pub words: &'a mut [u64],
}

impl Allreduce<'_> {
    /// Sets the words to the answer of [`combine_over_hosts`].
    pub fn set(&mut self, answer: &[u8]) {
        self.words.iter_mut().zip(words(answer)).for_each(|(value, word)| *value = word);
    }
}

impl Combine for Allreduce<'_> {
    fn body(&self) -> Vec<u8> {
        self.words.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn merge(&mut self, body: &[u8]) {
        let own = self.words.iter_mut().zip(self.ops);
        own.zip(words(body)).for_each(|((value, op), word)| *value = op.apply(*value, word));
    }

    fn decide(&mut self) -> Vec<u8> {
        self.body()
    }
}

/// Returns the little-endian integers of 8 bytes in `bytes`.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::shared::HostsAre;
    use crate::fabric::threads;
    use std::pin::pin;

    #[test]
    fn every_child_has_one_parent() {
        for count in 1..70 {
            let mut parents = vec![0; count];
            for me in 0..count {
                for child in children(me, count) {
                    parents[child] += 1;
                    assert_eq!(child & (child - 1), me);
                }
            }
            assert!(parents[0] == 0 && parents[1..].iter().all(|&parents| parents == 1), "{count}");
        }
    }

    #[test]
    fn a_combine_over_hosts_is_the_fold_over_ranks() {
        for (ranks, here) in [(1, 1), (2, 1), (5, 2), (8, 8), (9, 3), (13, 1), (16, 4), (17, 5)] {
            threads::run(ranks, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
                waiting.wait(pin!(async {
                    // Consecutive ranks on a host, and ranks in turn.
                    for label in [me / here, me % ranks.div_ceil(here)] {
                        let offer = endpoint.offer(true, (0, 0)).on(label);
                        let all = endpoint.all_addresses(offer.address).await.unwrap();
                        let hosts = endpoint.settle(HostsAre::Real, offer, &all).await.unwrap();
                        assert_eq!(hosts.leaders().len(), ranks.div_ceil(here));
                        for round in 0..20u64 {
                            let mut words = [me as u64 + round, 100 - me as u64, me as u64];
                            let mut own =
                                Allreduce { ops: &[ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max], words: &mut words };
                            let answer = combine_over_hosts(&mut endpoint, &hosts, &mut own).await.unwrap();
                            own.set(&answer);
                            let n = ranks as u64;
                            assert_eq!(words, [n * (n - 1) / 2 + n * round, 101 - n, n - 1]);
                        }
                    }
                }));
            })
            .unwrap();
        }
    }
}
