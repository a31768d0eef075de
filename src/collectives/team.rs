//! Ranks that decide together: the ranks of a host, or all ranks.
//!
//! Every rank of a team brings a contribution. Contributions are merged on their way to one rank, which decides for all;
//! the answer goes back to all ranks ([`Team::combine`]). On a host, the last rank to arrive reads the contributions in
//! the slots of shared memory. Over hosts, the ranks of a host give their contributions to its leader, and the leaders
//! form a binomial tree whose root is rank 0. With h hosts: 2 ceil(log2 h) (t_s + body t_w), and one wait of the ranks
//! that are no leaders.

use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;
use tributary_base::wire::frame::{self, Encoder, LENGTH};

use super::COMBINE;
use crate::error::{Error, Result};
use crate::fabric::pool::Block;
use crate::fabric::shared::{Hosts, MAX_CONTRIBUTION, Shared};
use crate::fabric::{Endpoint, Memory, Message};
use crate::schedule::{Buffer, Builder, SendMode, Span};
use crate::topology::Rank;

/// Maximum length of merged contributions, and of an answer to ranks that share no memory, in bytes.
pub const MAX_BODY: usize = 64 << 10;

/// A rank's contribution to a decision of its team: how contributions merge, and how one rank decides from all of them.
pub trait Combine {
    /// Merges the encoded contribution of other ranks into this one. Contributions come in any order, each once.
    fn merge(&mut self, other: &[u8]);

    /// Encodes this contribution. `others` are the contributions merged into it, in the order of the merges.
    fn encode(&self, others: &[&[u8]], out: &mut Encoder<'_>);

    /// Decides, on one rank, after the contributions of all other ranks have been merged; encodes the answer to all
    /// ranks.
    fn decide(&mut self, others: &[&[u8]], out: &mut Encoder<'_>);
}

/// Contributions; those of a few ranks need no heap memory.
type Bodies<'a> = SmallVec<[&'a [u8]; 16]>;

/// Ranks that decide together, and the way in which they communicate.
#[derive(Debug, Clone)]
pub enum Team {
    /// Ranks that share memory; the last to arrive decides.
    Host(Arc<Shared>),
    /// All ranks, on hosts whose ranks share memory; rank 0 decides.
    Hosts(Arc<Hosts>),
    /// All ranks. They share no memory, or it is not known which ranks do; rank 0 decides.
    Ranks,
}

/// The answer of the rank that decided. The answer to a host lies in shared memory until the next decision there.
pub enum Answer<'t> {
    /// Bytes in the memory of a host.
    Shared(&'t [u8]),
    /// Body of the message that carried the answer from rank 0, on a leader of a host or on a rank without hosts.
    Message(Message),
}

impl Deref for Answer<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Message(message) => message,
        }
    }
}

impl Team {
    /// Returns the team of all ranks of an endpoint. Local.
    pub fn of_all(endpoint: &Endpoint) -> Self {
        endpoint.shared().map_or_else(|| Self::led_by_rank_0(endpoint), Self::Host)
    }

    /// Returns the team of all ranks of an endpoint, in which rank 0 decides, also if all ranks share memory. Local.
    pub fn led_by_rank_0(endpoint: &Endpoint) -> Self {
        let hosts = endpoint.hosts().filter(|hosts| hosts.shares());
        hosts.map_or(Self::Ranks, |hosts| Self::Hosts(hosts.clone()))
    }

    /// Returns true if all ranks of the team share memory.
    pub fn is_host(&self) -> bool {
        matches!(self, Self::Host(_))
    }

    /// Returns the maximum length of an answer in bytes.
    pub fn longest_answer(&self) -> usize {
        if matches!(self, Self::Ranks) { MAX_BODY } else { MAX_CONTRIBUTION }
    }

    /// Merges the contributions of all ranks of the team, lets one rank decide, and returns its answer on every rank. Collective
    /// over the team.
    ///
    /// # Errors
    /// Errors of the message transport; the rank that decides panicked.
    pub async fn combine<'t>(&'t self, endpoint: &mut Endpoint, own: &mut dyn Combine) -> Result<Answer<'t>> {
        let shared = match self {
            Self::Host(shared) => shared,
            Self::Hosts(hosts) if hosts.leads() => return self.lead(endpoint, Some(hosts), own).await,
            Self::Hosts(hosts) => {
                endpoint.contribute(hosts, |slot| _ = frame::put(slot, |out| own.encode(&[], out))).await?;
                return Ok(Answer::Shared(hosts.here().map_or(&[], |here| frame::get(here.combined().decision()))));
            }
            Self::Ranks => return self.lead(endpoint, None, own).await,
        };
        let leave = |own: &mut &mut dyn Combine, slot: &mut [u8]| {
            frame::put(slot, |out| own.encode(&[], out));
        };
        endpoint
            .combine_in(shared, own, leave, |own, slots, decision| {
                let places = (0..slots.ranks()).filter(|&place| place != shared.place());
                let mut others = Bodies::new();
                places.for_each(|place| others.push(frame::get(slots.slot(place))));
                others.iter().for_each(|body| own.merge(body));
                frame::put(decision, |out| own.decide(&others, out));
            })
            .await?;
        Ok(Answer::Shared(frame::get(shared.combined().decision())))
    }

    /// Combines on the leader of a host, or on a rank without hosts.
    async fn lead<'t>(
        &'t self,
        endpoint: &mut Endpoint,
        hosts: Option<&Hosts>,
        own: &mut dyn Combine,
    ) -> Result<Answer<'t>> {
        let (me, count) = hosts.map_or((endpoint.rank(), endpoint.ranks()), |all| (all.host(), all.count()));
        let rank_of = |leader: usize| hosts.map_or(leader, |hosts| hosts.leader(leader));
        let children: SmallVec<[Rank; 16]> = children(me, count).map(rank_of).collect();
        if let Some(hosts) = hosts {
            endpoint.await_contributions(hosts).await?;
        }
        let received = exchange(endpoint, (&[], None), &children).await?;
        let answer = {
            let on_host = hosts.into_iter().flat_map(Hosts::contributions).map(frame::get);
            let others: Bodies<'_> = on_host.chain(received.iter().map(|body| frame::get(body))).collect();
            others.iter().for_each(|body| own.merge(body));
            if me == 0 {
                message(self.longest_answer(), |out| own.decide(&others, out))?
            } else {
                let parent = [rank_of(me & (me - 1))];
                let merged = message(MAX_BODY, |out| own.encode(&others, out))?;
                exchange(endpoint, (&parent, Some(merged)), &parent).await?.pop().unwrap_or_default()
            }
        };
        let down: SmallVec<[Rank; 16]> = children.into_iter().rev().collect();
        exchange(endpoint, (&down, Some(answer.clone())), &[]).await?;
        if let Some(hosts) = hosts {
            hosts.answer(&answer);
        }
        Ok(Answer::Message(answer.slice(LENGTH..)))
    }
}

/// Sends a message to the ranks `to`, and then receives a message from each rank of `from`. Both may be empty.
async fn exchange(
    endpoint: &mut Endpoint,
    (to, own): (&[Rank], Option<Message>),
    from: &[Rank],
) -> Result<Vec<Message>> {
    let mut memory = CombineMemory { own: own.unwrap_or_default(), received: Vec::new() };
    if to.is_empty() && from.is_empty() {
        return Ok(memory.received);
    }
    let span = |buffer| Span::new(buffer, 0, (LENGTH + MAX_BODY) as u64);
    let mut builder = Builder::default();
    for &to in to {
        builder.send(to, SendMode::Standard, span(Buffer::Send), &[]);
    }
    for &from in from {
        builder.receive(from, span(Buffer::Receive), &[]);
    }
    endpoint.run(builder.finish(), &mut memory, COMBINE).await?;
    Ok(memory.received)
}

/// Returns a message with one frame of at most `most` bytes.
fn message(most: usize, encode: impl FnOnce(&mut Encoder<'_>)) -> Result<Message> {
    let mut block =
        Block::take(LENGTH + most).map_err(|cause| Error::fabric(format!("memory for a message: {cause}")))?;
    let len = frame::put(&mut block.whole_mut()[..LENGTH + most], encode);
    Ok(Message::copy_from_slice(&block.whole_mut()[..len]))
}

/// Returns the children of vertex `me` in a binomial tree of `count` vertices, ascending: the largest subtree is last.
fn children(me: usize, count: usize) -> impl Iterator<Item = usize> {
    let until = if me == 0 { usize::BITS } else { me.trailing_zeros() };
    (0..until).map(move |bit| me + (1 << bit)).take_while(move |&child| child < count)
}

/// Memory of an exchange: the message to send, and the received messages.
struct CombineMemory {
    own: Message,
    received: Vec<Message>,
}

impl Memory for CombineMemory {
    fn read(&mut self, _span: Span) -> Result<Message> {
        Ok(self.own.clone())
    }

    fn write(&mut self, from: Rank, _span: Span, message: Message) -> Result<()> {
        if !frame::is_whole(&message) {
            let len = message.len();
            return Err(Error::fabric(format!("a message of an agreement from rank {from} was cut to {len} bytes")));
        }
        self.received.push(message);
        Ok(())
    }

    fn copy(&mut self, _from: Span, _to: Span) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::{allgather, allreduce, broadcast};
    use crate::fabric::shared::HostsAre;
    use crate::fabric::threads;
    use crate::schedule::ReduceOp;
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

    /// Runs the collectives of every team: with messages only, on one host, and on hosts of `here` ranks, whose ranks are
    /// consecutive or round-robin.
    #[test]
    fn every_team_gives_what_messages_give() {
        for (ranks, here) in [(1, 1), (2, 1), (3, 3), (5, 2), (8, 8), (9, 3), (13, 1), (16, 4), (17, 5), (17, 17)] {
            threads::run(ranks, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
                waiting.wait(pin!(async {
                    check(&mut endpoint).await;
                    for label in [me / here, me % ranks.div_ceil(here)] {
                        let offer = endpoint.offer(true, (0, 0)).on(label);
                        let all = endpoint.all_addresses(offer.address).await.unwrap();
                        let hosts = endpoint.settle(HostsAre::Real, offer, all).await.unwrap();
                        assert_eq!(hosts.count(), ranks.div_ceil(here));
                        assert_eq!(Team::of_all(&endpoint).is_host(), ranks <= here);
                        check(&mut endpoint).await;
                    }
                }));
            })
            .unwrap();
        }
    }

    async fn check(endpoint: &mut Endpoint) {
        let (me, ranks) = (endpoint.rank() as u64, endpoint.ranks());
        for round in 0..12u64 {
            let mut values = [me + round, 100 - me, me];
            allreduce(endpoint, &[ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max], &mut values).await.unwrap();
            let n = ranks as u64;
            assert_eq!(values, [n * (n - 1) / 2 + n * round, 101 - n, n - 1]);
            let long: Vec<u8> = (0..round * 3000).map(|at| (at % 251) as u8).collect();
            let root = round as usize % ranks;
            let mine = if endpoint.rank() == root { &long[..] } else { &[] };
            assert_eq!(broadcast(endpoint, root, mine).await.unwrap(), long);
            let own = vec![me as u8; 1 + round as usize * 700];
            let all = allgather(endpoint, &own).await.unwrap();
            assert_eq!(all, (0..ranks).flat_map(|rank| vec![rank as u8; own.len()]).collect::<Vec<_>>());
        }
    }
}
