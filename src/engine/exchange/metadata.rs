//! The metadata phase: ranks send their lists of extents to the ranks that need them. Only the sender knows the size of
//! a list beforehand.
//!
//! The **data** kernel determines which rank needs which list. With a flat kernel, an aggregator needs every rank's list.
//! With `two_layer`, a local aggregator needs its members' lists, and an aggregator needs each local aggregator's merged
//! list. The **metadata** kernel determines how lists are sent. The two are chosen independently, so there are four cases.
//!
//! **Messages.** Every sender sends each target a head: the length of the message body, and the first bytes of the body. Most
//! metadata fits into heads. The rest follows in a second exchange, for which both sides know the sizes. No Alltoall of
//! counts is needed, because a head costs as much as a count.

use std::sync::Arc;

use bytes::Bytes;
use tributary_base::wire::varint;

use crate::access::Packed;
use crate::collectives::FIRST_FREE_TAG;
use crate::drivers::Domains;
use crate::engine::exchange::flatten::ListsToSend;
use crate::engine::exchange::node::merge::{ListsByAggregator, LocalPlan, Merged};
use crate::engine::exchange::node::{InMemory, agree_on_places};
use crate::error::{Error, Result};
use crate::exchange::two_layer::{LocalAggregators, Share, TwoLayer};
use crate::exchange::{HEAD, HEAD_LENGTH, ReceiverIndex, Route, Transfer, head_and_rest};
use crate::fabric::shared::GroupMemory;
use crate::fabric::{self, Endpoint, Memory, Traffic};
use crate::schedule::{Buffer, Schedule, Span};
use crate::topology::Rank;

/// The tag of the messages to aggregators.
const AGGREGATOR_TAG: u16 = FIRST_FREE_TAG + 1;

/// The result of the metadata phase on one rank.
#[derive(Debug, Clone, Default)]
pub struct Announced {
    /// On an aggregator: each rank that it exchanges data with, ascending, and the list of extents of this rank.
    pub incoming: Vec<(Rank, Packed)>,
    /// With a two-layer data kernel: this rank's part in the memory of its node.
    pub in_memory: Option<InMemory>,
    /// Messages and bytes that this rank sent in the phase.
    pub traffic: Traffic,
    /// Number of bytes of lists that this rank passed through shared memory instead of sending messages.
    pub shared_bytes: u64,
}

/// Runs the metadata phase. Collective.
///
/// # Errors
/// Errors of the message transport. On this rank only: [`Error::Codec`] for bytes that are not encoded lists,
/// [`Error::NoMemory`] if a local aggregator has no memory for its messages.
pub async fn announce(
    endpoint: &mut Endpoint,
    metadata: &Phase,
    data: &Phase,
    domains: &Domains,
    outgoing: &[ListsToSend],
) -> Result<Announced> {
    let mut announced = Announced::default();
    let mut gathered = None;
    // An error in decoding lists, or a lack of memory, is on this rank only; it is kept until all ranks have exchanged.
    let mut damage = Ok(());
    if let Some(group) = metadata.group.as_ref().or(data.group.as_ref()) {
        let (bodies, shared_bytes) = gather(endpoint, group, outgoing).await?;
        announced.shared_bytes = shared_bytes;
        if group.leads() {
            gathered = Some(read_members(bodies, domains.aggregators()).unwrap_or_else(|error| {
                damage = Err(error);
                Vec::new()
            }));
        }
    }
    let mut local_plan = None;
    if let Some(group) = &data.group {
        local_plan = gathered.clone().map(|members| make_local_plan(members, domains));
        let aggregators = data.route.receivers.len();
        let agreed = agree_on_places(endpoint, group, aggregators, local_plan.as_ref(), outgoing, domains).await?;
        damage = damage.and(agreed.map(|in_memory| announced.in_memory = Some(in_memory)));
    }
    let rank = metadata.route.rank;
    let aggregators = metadata.route.receivers.len();
    let bodies: Vec<Vec<u8>> = match (&metadata.local, &local_plan, gathered) {
        (None, ..) => by_aggregator(aggregators, outgoing.iter().map(|o| (o.aggregator, encoded(&o.file)))),
        (Some(_), Some(local_plan), _) => {
            by_aggregator(aggregators, local_plan.merged.iter().map(|m| (m.aggregator, encoded(&m.file))))
        }
        (Some(_), None, Some(members)) => by_member(aggregators, &members),
        (Some(_), None, None) => Vec::new(),
    };
    let targets: Vec<_> = bodies.into_iter().map(Bytes::from).collect();
    let is_aggregator = metadata.route.receivers.binary_search(&rank).is_ok();
    let sources = match (&metadata.local, is_aggregator) {
        (_, false) => Vec::new(),
        (None, true) => (0..metadata.route.ranks).collect(),
        (Some(local), true) => local.all(),
    };
    let (bodies, traffic) = exchange_bodies(endpoint, &metadata.route, &targets, &sources, AGGREGATOR_TAG).await?;
    announced.traffic += traffic;
    for (&source, body) in sources.iter().zip(bodies) {
        match (&metadata.local, &data.local) {
            (Some(_), None) => announced.incoming.extend(tagged(body, metadata.route.ranks)?),
            _ => announced.incoming.extend(plain(body)?.map(|packed| (source, packed))),
        }
    }
    announced.incoming.sort_by_key(|(source, _)| *source);
    damage?;
    if let (None, Some(local)) = (&metadata.local, &data.local)
        && let Ok(own) = metadata.route.receivers.binary_search(&rank)
    {
        announced.incoming = merge_by_local(own, announced.incoming, local, domains);
    }
    Ok(announced)
}

/// Passes this rank's lists through shared memory to its local aggregator. Returns, on the local aggregator, the encoded lists of
/// each member, its own included; and the bytes that this rank has passed.
async fn gather(
    endpoint: &mut Endpoint,
    group: &GroupMemory,
    outgoing: &[ListsToSend],
) -> Result<(Vec<(Rank, Bytes)>, u64)> {
    let mut body = Vec::new();
    for out in outgoing {
        varint::put(&mut body, out.aggregator as u64);
        out.file.write(&mut body);
    }
    if !group.leads() {
        group.put(endpoint, group.me(), &body).await?;
        return Ok((Vec::new(), body.len() as u64));
    }
    let mut bodies = vec![(group.members()[0], Bytes::from(body))];
    for (index, &member) in group.members().iter().enumerate().skip(1) {
        bodies.push((member, Bytes::from(group.take(endpoint, index).await?)));
    }
    Ok((bodies, 0))
}

/// Decodes the lists of members; leaves out members without lists.
fn read_members(bodies: Vec<(Rank, Bytes)>, aggregators: usize) -> Result<Vec<(Rank, ListsByAggregator)>> {
    let mut lists = Vec::with_capacity(bodies.len());
    for (member, body) in bodies {
        let list = tagged(body, aggregators)?;
        if !list.is_empty() {
            lists.push((member, list));
        }
    }
    Ok(lists)
}

fn make_local_plan(members: Vec<(Rank, ListsByAggregator)>, domains: &Domains) -> LocalPlan {
    let mut by_aggregator = std::collections::BTreeMap::<usize, ListsByAggregator>::new();
    for (index, (_, lists)) in members.iter().enumerate() {
        for (aggregator, packed) in lists {
            by_aggregator.entry(*aggregator).or_default().push((index, packed.clone()));
        }
    }
    let merged = by_aggregator.iter().map(|(aggregator, lists)| Merged::of(*aggregator, lists, domains));
    LocalPlan { merged: merged.collect(), members }
}

/// Returns the merged list of each local aggregator, made from the lists of all ranks for this aggregator.
fn merge_by_local(
    aggregator: usize,
    incoming: Vec<(Rank, Packed)>,
    local: &LocalAggregators,
    domains: &Domains,
) -> Vec<(Rank, Packed)> {
    let mut groups = std::collections::BTreeMap::<Rank, ListsByAggregator>::new();
    for (source, packed) in incoming {
        groups.entry(local.aggregator_of(source)).or_default().push((source, packed));
    }
    groups.into_iter().map(|(rank, lists)| (rank, Merged::of(aggregator, &lists, domains).file)).collect()
}

/// Returns the messages that a rank sends with one layer: first the heads of all lists, then the rests of long lists. A
/// message is the index of an aggregator and a number of bytes. `lists` has the index of an aggregator and the length of its
/// encoded list in bytes; an aggregator that is not among them gets a head without a list. The message from an aggregator to
/// itself is included.
pub fn list_messages(
    aggregators: usize,
    lists: impl Iterator<Item = (usize, usize)>,
) -> [Vec<Transfer<ReceiverIndex>>; 2] {
    sends_of_bodies(by_aggregator(aggregators, lists).into_iter())
}

/// Returns the body for each aggregator: that in `lists`, or an empty one.
fn by_aggregator<Body: Clone + Default>(aggregators: usize, lists: impl Iterator<Item = (usize, Body)>) -> Vec<Body> {
    let mut bodies = vec![Body::default(); aggregators];
    lists.for_each(|(aggregator, body)| bodies[aggregator] = body);
    bodies
}

fn encoded(packed: &Packed) -> Vec<u8> {
    let mut body = Vec::new();
    packed.write(&mut body);
    body
}

/// Returns one message body for each aggregator: (member, list) for every member that has data for it.
fn by_member(aggregators: usize, members: &[(Rank, ListsByAggregator)]) -> Vec<Vec<u8>> {
    let mut bodies = vec![Vec::new(); aggregators];
    for (member, lists) in members {
        for (aggregator, packed) in lists {
            varint::put(&mut bodies[*aggregator], *member as u64);
            packed.write(&mut bodies[*aggregator]);
        }
    }
    bodies
}

/// Decodes a body of one list or none.
fn plain(mut body: Bytes) -> Result<Option<Packed>> {
    if body.is_empty() {
        return Ok(None);
    }
    checked(Packed::read(&mut body)?).map(Some)
}

/// Decodes a body of lists. Each list follows its index, which must be below `limit`.
fn tagged(mut body: Bytes, limit: usize) -> Result<ListsByAggregator> {
    let mut lists = Vec::new();
    while !body.is_empty() {
        let mut at = 0;
        let number = varint::get(&body, &mut at).filter(|&number| number < limit as u64);
        let number = number.ok_or_else(|| Error::codec(at, format!("no number below {limit}")))?;
        let mut rest = body.slice(at..);
        lists.push((number as usize, checked(Packed::read(&mut rest)?)?));
        body = rest;
    }
    Ok(lists)
}

/// Checks that a list ascends, on which the engine relies.
fn checked(packed: Packed) -> Result<Packed> {
    match packed.summary().ascending {
        true => Ok(packed),
        false => Err(Error::codec(0, "extents that do not ascend")),
    }
}

/// How messages go from ranks to aggregators in the metadata phase or in the data phase.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The route between the senders and the aggregators.
    pub route: Route,
    /// With two layers: the local aggregators; `None` with one layer.
    pub local: Option<Arc<LocalAggregators>>,
    /// With two layers: the members of this rank's local aggregator, which share memory.
    pub group: Option<Arc<GroupMemory>>,
}

impl Phase {
    /// Returns the schedule of one round. `shares` are this rank's bytes for each aggregator, ascending by aggregator, one
    /// after the other in [`Buffer::Send`]. `merged` are the messages of a local aggregator. `receives` are the messages to
    /// an aggregator.
    pub fn schedule(&self, shares: &[Share], merged: &[Share], receives: &[Transfer<Rank>]) -> Schedule {
        let route = &self.route;
        let Some(local) = &self.local else {
            let mut at = 0;
            let place = |share: &Share| {
                at += share.len;
                Transfer { peer: share.aggregator, span: Span::new(Buffer::Send, at - share.len, share.len) }
            };
            return route.schedule(&shares.iter().map(place).collect::<Vec<_>>(), receives);
        };
        let two_layer = TwoLayer {
            rank: route.rank,
            ranks: route.ranks,
            receivers: &route.receivers,
            rank_list: &route.rank_list,
            local_aggregator: local.aggregator_of(route.rank),
            own: shares,
            members: &[],
            receives,
        };
        two_layer.schedule_in_memory(merged, route.kernel, route.throttle)
    }
}

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

/// Returns the messages for bodies of these lengths, one body for each receiver of the route: the heads, and the rests.
fn sends_of_bodies(bodies: impl Iterator<Item = usize> + Clone) -> [Vec<Transfer<ReceiverIndex>>; 2] {
    [0, 1].map(|part| {
        let lengths = bodies.clone().enumerate().map(|(to, len)| (ReceiverIndex(to), head_and_rest(len)[part]));
        messages(lengths, Buffer::Send)
    })
}

/// Sends each receiver of the route its body, and returns the bodies from `sources` (ascending; empty unless this rank is a
/// receiver). `targets` is empty if this rank sends nothing. Rank a sends to rank b if and only if b has a among its sources.
/// A body may be empty. Collective over the ranks that have targets or sources.
///
/// # Errors
/// Errors of the message transport; a damaged head, after which the exchange cannot continue.
async fn exchange_bodies(
    endpoint: &mut Endpoint,
    route: &Route,
    targets: &[Bytes],
    sources: &[Rank],
    tag: u16,
) -> Result<(Vec<Bytes>, Traffic)> {
    let [first_sends, rest_sends] = sends_of_bodies(targets.iter().map(Bytes::len));
    let heads = targets.iter().map(head).collect();
    let mut heads = ExchangeMemory { outgoing: heads, incoming: vec![Bytes::new(); sources.len()] };
    let receives = messages(sources.iter().map(|&source| (source, HEAD_LENGTH + HEAD)), Buffer::Receive);
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
    let length = head.get(..HEAD_LENGTH).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let here = head.len().saturating_sub(HEAD_LENGTH);
    match length {
        Some(length) if here as u64 == length.min(HEAD as u64) => Ok(length as usize - here),
        _ => Err(Error::fabric(format!("a message of {} bytes is no head of a list", head.len()))),
    }
}

/// Joins head and rest to a body, which is kept as long as a plan. A short body does not keep the memory of a whole
/// head.
fn join(head: Bytes, tail: Bytes) -> Bytes {
    if tail.is_empty() {
        return if head.len() < SHORT {
            Bytes::copy_from_slice(&head[HEAD_LENGTH..])
        } else {
            head.slice(HEAD_LENGTH..)
        };
    }
    Bytes::from([&head[HEAD_LENGTH..], &tail[..]].concat())
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
    use std::pin::pin;

    use super::*;
    use crate::exchange::{KERNELS, RankList};
    use crate::fabric::threads;
    use crate::schedule::Throttle;

    #[test]
    fn a_short_body_keeps_no_memory_of_its_head() {
        for len in [0, 1, 500, SHORT - HEAD_LENGTH - 1, SHORT - HEAD_LENGTH, HEAD] {
            // A received head is a part of memory for the longest head.
            let memory = Bytes::from(vec![7; HEAD_LENGTH + HEAD]);
            let body = join(memory.slice(..HEAD_LENGTH + len), Bytes::new());
            assert_eq!(body[..], memory[..len]);
            assert_eq!(memory.is_unique(), len < SHORT - HEAD_LENGTH, "{len} bytes");
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
                    let future = exchange_bodies(&mut endpoint, &route, &targets, &sources, 9);
                    let (got, _) = waiting.wait(pin!(future)).unwrap();
                    let expected: Vec<_> = sources.iter().map(|&from| body(from, rank)).collect();
                    assert_eq!(got, expected);
                })
                .unwrap();
            }
        }
    }
}
