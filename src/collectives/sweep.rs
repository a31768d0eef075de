//! One sweep up and one down: what all ranks have is merged on its way to rank 0, which decides for all.
//!
//! Ranks of a host hand in to its leader through memory ([`Hosts`]); leaders form a binomial tree. With h hosts: 2 ceil(log2 h)
//! (t_s + body t_w), and one wait of the ranks that do not lead.

use crate::error::{Error, Result};
use crate::fabric::shared::Hosts;
use crate::fabric::{Endpoint, Memory, Message};
use crate::schedule::{Buffer, Builder, ReduceOp, SendMode, Span};
use crate::topology::Rank;

use super::SWEEP;

/// The longest body of all ranks of some hosts together, in bytes. (What one rank hands in has another limit:
/// [`crate::fabric::shared::HANDED_IN`].)
pub const BODY: usize = 64 << 10;

/// Bytes before a body in a message.
const FRAME: usize = 8;

/// What ranks bring to a sweep, and what becomes of it.
pub trait Sweep {
    /// This rank's own, and what was merged into it.
    fn body(&self) -> Vec<u8>;

    /// Takes in what others have brought. The order is any.
    fn merge(&mut self, body: &[u8]);

    /// On rank 0, when all has come: what all ranks get, at most [`crate::fabric::shared::HANDED_IN`] bytes.
    fn decide(&mut self) -> Vec<u8>;
}

/// Sweeps, and returns what rank 0 decided. Collective.
///
/// # Errors
/// The fabric's.
pub async fn sweep(endpoint: &mut Endpoint, hosts: &Hosts, own: &mut dyn Sweep) -> Result<Vec<u8>> {
    if !hosts.leads() {
        return endpoint.hand_in(hosts, &own.body()).await;
    }
    endpoint.all_handed_in(hosts).await?;
    hosts.handed_in().for_each(|body| own.merge(body));
    let answer = among_leaders(endpoint, hosts, own).await?;
    hosts.answer(&answer);
    Ok(answer.to_vec())
}

async fn among_leaders(endpoint: &mut Endpoint, hosts: &Hosts, own: &mut dyn Sweep) -> Result<Message> {
    let (me, leaders) = (hosts.host(), hosts.leaders());
    let mut memory = Bodies { own: Message::new(), came: Vec::new() };
    let span = |buffer| Span::new(buffer, 0, (FRAME + BODY) as u64);
    let children: Vec<Rank> = children(me, leaders.len()).map(|child| leaders[child]).collect();
    if !children.is_empty() {
        let mut builder = Builder::default();
        for &child in &children {
            builder.receive(child, span(Buffer::Receive), &[]);
        }
        endpoint.run(builder.finish(), &mut memory, SWEEP).await?;
        memory.came.drain(..).for_each(|body| own.merge(&body[FRAME..]));
    }
    let answer = if me == 0 {
        framed(own.decide())
    } else {
        let parent = leaders[me & (me - 1)];
        memory.own = framed(own.body());
        let mut builder = Builder::default();
        builder.send(parent, SendMode::Standard, span(Buffer::Send), &[]);
        builder.receive(parent, span(Buffer::Receive), &[]);
        endpoint.run(builder.finish(), &mut memory, SWEEP).await?;
        memory.came.pop().unwrap_or_default()
    };
    if !children.is_empty() {
        memory.own = answer.clone();
        let mut builder = Builder::default();
        for &child in children.iter().rev() {
            builder.send(child, SendMode::Standard, span(Buffer::Send), &[]);
        }
        endpoint.run(builder.finish(), &mut memory, SWEEP).await?;
    }
    Ok(answer.slice(FRAME..))
}

/// A message with its length before it, so that one that was cut is known.
fn framed(body: Vec<u8>) -> Message {
    let mut framed = Vec::with_capacity(FRAME + body.len());
    framed.extend_from_slice(&(body.len() as u64).to_le_bytes());
    framed.extend_from_slice(&body);
    framed.into()
}

/// The children of a node in a binomial tree of `count` nodes, ascending, so that the largest subtree is last.
fn children(me: usize, count: usize) -> impl Iterator<Item = usize> {
    let until = if me == 0 { usize::BITS } else { me.trailing_zeros() };
    (0..until).map(move |bit| me + (1 << bit)).take_while(move |&child| child < count)
}

/// Framed bodies as they are, and as they come.
struct Bodies {
    own: Message,
    came: Vec<Message>,
}

impl Memory for Bodies {
    fn read(&mut self, _span: Span) -> Result<Message> {
        Ok(self.own.clone())
    }

    fn write(&mut self, from: Rank, _span: Span, message: Message) -> Result<()> {
        let len = message.split_first_chunk().map(|(len, body)| (u64::from_le_bytes(*len), body.len() as u64));
        if len.is_none_or(|(due, came)| due != came) {
            return Err(Error::Fabric(format!(
                "a message of a sweep from rank {from} was cut to {} bytes",
                message.len()
            )));
        }
        self.came.push(message);
        Ok(())
    }

    fn copy(&mut self, _from: Span, _to: Span) -> Result<()> {
        Ok(())
    }

    fn reduce(&mut self, _from: Span, _to: Span, _with: ReduceOp) -> Result<()> {
        Ok(())
    }
}

/// Lanes of an allreduce, as a sweep.
pub struct Lanes<'a> {
    /// How each is combined.
    pub ops: &'a [ReduceOp],
    /// This rank's; afterwards those of all.
    pub lanes: &'a mut [u64],
}

impl Lanes<'_> {
    /// Takes over what the sweep has answered.
    pub fn set(&mut self, answer: &[u8]) {
        self.lanes.iter_mut().zip(words(answer)).for_each(|(lane, word)| *lane = word);
    }
}

impl Sweep for Lanes<'_> {
    fn body(&self) -> Vec<u8> {
        self.lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    fn merge(&mut self, body: &[u8]) {
        let own = self.lanes.iter_mut().zip(self.ops);
        own.zip(words(body)).for_each(|((lane, op), word)| *lane = op.apply(*lane, word));
    }

    fn decide(&mut self) -> Vec<u8> {
        self.body()
    }
}

/// Numbers of 8 bytes.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn a_sweep_over_hosts_is_the_fold_over_ranks() {
        for (ranks, here) in [(1, 1), (2, 1), (5, 2), (8, 8), (9, 3), (13, 1), (16, 4), (17, 5)] {
            threads::run(ranks, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
                waiting.wait(pin!(async {
                    // Consecutive ranks on a host, and ranks in turn.
                    for (key, label) in [(1, me / here), (2, me % ranks.div_ceil(here))] {
                        let hosts = endpoint.find_hosts(key, Some(label), |_| false).await.unwrap();
                        assert_eq!(hosts.leaders().len(), ranks.div_ceil(here));
                        for round in 0..20u64 {
                            let mut lanes = [me as u64 + round, 100 - me as u64, me as u64];
                            let mut own =
                                Lanes { ops: &[ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max], lanes: &mut lanes };
                            let answer = sweep(&mut endpoint, &hosts, &mut own).await.unwrap();
                            own.set(&answer);
                            let n = ranks as u64;
                            assert_eq!(lanes, [n * (n - 1) / 2 + n * round, 101 - n, n - 1]);
                        }
                    }
                }));
            })
            .unwrap();
        }
    }
}
