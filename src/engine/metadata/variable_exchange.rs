//! Variable-size exchange: messages whose sizes only their senders know, as in the metadata phase.
//!
//! Every sender sends each target a head: the length of the message body, and the first bytes of the body. Most
//! metadata fits into heads. The rest follows in a second exchange, for which both sides know the sizes. No Alltoall of
//! counts is needed, because a head costs as much as a count.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::exchange::{ReceiverIndex, Route, Transfer};
use crate::fabric::{self, Endpoint, Memory, Traffic};
use crate::schedule::{Buffer, Span};
use crate::topology::Rank;

/// Maximum number of bytes of a body in a head. A head has 2 KiB, an eager message on any MPI. (In the E3SM F case on
/// 21,600 ranks in Cori's layout, a list has 1,455 bytes on average.)
pub const HEAD: usize = 2040;
/// Number of bytes of the length in a head.
pub const LENGTH: usize = 8;
/// A head with fewer bytes than this is copied when it is kept, because its memory is mostly unused.
const SHORT: usize = 1 << 10;

/// Distance between the offsets of two bodies in the named buffers.
const SLOT: u64 = 1 << 40;

/// Returns the offset of slot `index` in a named buffer.
pub fn slot(index: usize) -> u64 {
    index as u64 * SLOT
}

/// Returns the index of the slot at an offset of a named buffer.
pub fn slot_of(offset: u64) -> usize {
    (offset / SLOT) as usize
}

/// Returns the number of bytes of the two messages for a body of `len` bytes: the head, and the rest of the body. A rest
/// of 0 bytes is not sent.
pub fn head_and_rest(len: usize) -> [usize; 2] {
    [LENGTH + len.min(HEAD), len.saturating_sub(HEAD)]
}

/// Returns the messages for bodies of these lengths, one body for each receiver of the route: the heads, and the rests.
pub fn sends(bodies: impl Iterator<Item = usize> + Clone) -> [Vec<Transfer<ReceiverIndex>>; 2] {
    [0, 1].map(|part| {
        let lengths = bodies.clone().enumerate().map(|(to, len)| (ReceiverIndex(to), head_and_rest(len)[part]));
        messages(lengths, Buffer::Send)
    })
}

/// Sends each receiver of the route its body, and returns the bodies from `sources` (ascending; empty unless this rank
/// is a receiver). `targets` is empty if this rank sends nothing. If rank a sends to b, b must have a as a source, and
/// the other way round. A body may be empty. Collective over the ranks that have targets or sources.
///
/// # Errors
/// Errors of the message transport; a damaged head, after which the exchange cannot continue.
pub async fn exchange(
    endpoint: &mut Endpoint,
    route: &Route,
    targets: &[Bytes],
    sources: &[Rank],
    tag: u16,
) -> Result<(Vec<Bytes>, Traffic)> {
    let [first_sends, rest_sends] = sends(targets.iter().map(Bytes::len));
    let heads = targets.iter().map(head).collect();
    let mut heads = ExchangeMemory { outgoing: heads, incoming: vec![Bytes::new(); sources.len()] };
    let receives = messages(sources.iter().map(|&source| (source, LENGTH + HEAD)), Buffer::Receive);
    let mut traffic = endpoint.run(route.schedule(&first_sends, &receives), &mut heads, tag).await?;

    let tails = targets.iter().map(|body| body.slice(body.len().min(HEAD)..)).collect();
    let mut tails = ExchangeMemory { outgoing: tails, incoming: vec![Bytes::new(); sources.len()] };
    let mut missing = Vec::with_capacity(sources.len());
    for (head, &source) in heads.incoming.iter().zip(sources) {
        missing.push((source, rest(head)?));
    }
    let receives = messages(missing.into_iter(), Buffer::Receive);
    traffic += endpoint.run(route.schedule(&rest_sends, &receives), &mut tails, tag).await?;
    let whole = heads.incoming.into_iter().zip(tails.incoming).map(|(head, tail)| join(head, tail));
    Ok((whole.collect(), traffic))
}

/// Returns one message for each (peer, length) with a length above 0, in the slot of the pair's index.
fn messages<Peer>(all: impl Iterator<Item = (Peer, usize)>, buffer: Buffer) -> Vec<Transfer<Peer>> {
    let place = |(index, (peer, len))| Transfer { peer, span: Span::new(buffer, slot(index), len as u64) };
    all.enumerate().filter(|(_, (_, len))| *len > 0).map(place).collect()
}

fn head(body: &Bytes) -> Bytes {
    let mut head = Vec::with_capacity(head_and_rest(body.len())[0]);
    head.extend_from_slice(&(body.len() as u64).to_le_bytes());
    head.extend_from_slice(&body[..body.len().min(HEAD)]);
    Bytes::from(head)
}

/// Returns the number of bytes that follow a head in the second exchange.
fn rest(head: &Bytes) -> Result<usize> {
    let length = head.get(..LENGTH).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let here = head.len().saturating_sub(LENGTH);
    match length {
        Some(length) if here as u64 == length.min(HEAD as u64) => Ok(length as usize - here),
        _ => Err(Error::fabric(format!("a message of {} bytes is no head of a list", head.len()))),
    }
}

/// Joins head and rest to a body, which is kept as long as a plan. A short body does not keep the memory of a whole
/// head.
fn join(head: Bytes, tail: Bytes) -> Bytes {
    if tail.is_empty() {
        return if head.len() < SHORT { Bytes::copy_from_slice(&head[LENGTH..]) } else { head.slice(LENGTH..) };
    }
    Bytes::from([&head[LENGTH..], &tail[..]].concat())
}

/// Memory of the exchange: message bodies by slot.
struct ExchangeMemory {
    outgoing: Vec<Bytes>,
    incoming: Vec<Bytes>,
}

impl Memory for ExchangeMemory {
    fn read(&mut self, span: Span) -> Result<fabric::Message> {
        Ok(if span.len == 0 { Bytes::new() } else { self.outgoing[slot_of(span.offset)].clone() })
    }

    fn write(&mut self, _from: Rank, span: Span, message: fabric::Message) -> Result<()> {
        if span.len > 0 {
            self.incoming[slot_of(span.offset)] = message;
        }
        Ok(())
    }

    fn copy(&mut self, from: Span, to: Span) -> Result<()> {
        let message = self.read(from)?;
        self.write(0, to, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{KERNELS, RankList};
    use crate::fabric::threads;
    use crate::schedule::Throttle;
    use std::pin::pin;

    #[test]
    fn a_short_body_keeps_no_memory_of_its_head() {
        for len in [0, 1, 500, SHORT - LENGTH - 1, SHORT - LENGTH, HEAD] {
            // A received head is a part of memory for the longest head.
            let memory = Bytes::from(vec![7; LENGTH + HEAD]);
            let body = join(memory.slice(..LENGTH + len), Bytes::new());
            assert_eq!(body[..], memory[..len]);
            assert_eq!(memory.is_unique(), len < SHORT - LENGTH, "{len} bytes");
        }
    }

    #[test]
    fn bodies_of_any_size_arrive_whole_with_every_kernel() {
        let body = |from: usize, to: usize| {
            let len = [0, 1, HEAD - 1, HEAD, HEAD + 1, 5000, 70_000][(from * 3 + to) % 7];
            Bytes::from(vec![(from * 16 + to) as u8; len])
        };
        for ranks in [1, 2, 5, 8] {
            for kernel in KERNELS {
                threads::run(ranks, |transport| {
                    let mut endpoint = Endpoint::new(transport);
                    let rank = endpoint.rank();
                    let receivers: Vec<_> = (0..ranks).step_by(2).collect();
                    let route = Route {
                        rank,
                        ranks,
                        receivers: receivers.clone().into(),
                        rank_list: RankList::Identity,
                        kernel,
                        throttle: Throttle::batch(2),
                    };
                    let targets: Vec<_> = receivers.iter().map(|&to| body(rank, to)).collect();
                    let sources: Vec<_> = (0..ranks).filter(|_| rank.is_multiple_of(2)).collect();
                    let waiting = endpoint.waiting().clone();
                    let future = exchange(&mut endpoint, &route, &targets, &sources, 9);
                    let (got, _) = waiting.wait(pin!(future)).unwrap();
                    let expected: Vec<_> = sources.iter().map(|&from| body(from, rank)).collect();
                    assert_eq!(got, expected);
                })
                .unwrap();
            }
        }
    }
}
