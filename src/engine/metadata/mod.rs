//! The metadata phase: who writes what, told to those who must know.
//!
//! Who must know what follows from the **data** kernel: with a flat one, an aggregator needs every rank's list; with
//! `two_layer`, a local aggregator needs its members' lists and an aggregator each local aggregator's merged list. How it
//! travels follows from the **metadata** kernel. The two are chosen apart, so there are four cases.

pub(in crate::engine) mod phase;
pub(in crate::engine) mod variable_exchange;

use std::sync::Arc;

use bytes::Bytes;

use crate::access::{Packed, varint};
use crate::collectives::FIRST_FREE_TAG;
use crate::drivers::Domains;
use crate::engine::metadata::phase::Phase;
use crate::engine::plan::flatten::ListsToSend;
use crate::engine::two_layer::gather_tree::{MemberTree, Members};
use crate::engine::two_layer::merge::Merged;
use crate::engine::two_layer::node::{InMemory, agree_on_places};
use crate::error::{Error, Result};
use crate::exchange::Route;
use crate::exchange::local::LocalAggregators;
use crate::fabric::shared::Group;
use crate::fabric::{Endpoint, Traffic};
use crate::topology::Rank;

/// Of the messages between members and their local aggregator.
pub const INNER: u16 = FIRST_FREE_TAG;
const OUTER: u16 = FIRST_FREE_TAG + 1;

/// Lists by aggregator, ascending.
pub type Lists = Vec<(usize, Packed)>;

/// What a local aggregator relays in the data phase.
#[derive(Debug, Clone)]
pub struct LocalPlan {
    /// Its members that write anything, itself first if it does, with their lists.
    pub members: Vec<(Rank, Lists)>,
    /// What it sends on, by ascending aggregator; members are indices into `members`.
    pub merged: Vec<Merged>,
}

/// What a rank knows when the metadata phase is over.
#[derive(Debug, Clone, Default)]
pub struct Announced {
    /// On an aggregator: every source of data, ascending, with its list.
    pub incoming: Vec<(Rank, Packed)>,
    /// On a local aggregator with a two-layer data kernel.
    pub relay: Option<LocalPlan>,
    /// With a two-layer data kernel along an ordered tree: this rank's part of it.
    pub tree: Option<MemberTree>,
    /// With a two-layer data kernel whose members share memory: this rank's part of it. There is no relay then.
    pub in_memory: Option<InMemory>,
    /// What this rank sent.
    pub traffic: Traffic,
    /// Bytes of lists that it left in memory of its node in place of a message.
    pub left: u64,
}

/// Runs the metadata phase. Collective.
///
/// # Errors
/// The fabric's, or [`Error::Codec`] for bytes that are not encoded lists.
pub async fn announce(
    endpoint: &mut Endpoint,
    metadata: &Phase,
    data: &Phase,
    domains: &Domains,
    outgoing: &[ListsToSend],
) -> Result<Announced> {
    let mut announced = Announced::default();
    let mut gathered = None;
    // Lists that cannot be read are an error of this rank only; it is kept until all have exchanged.
    let mut damage = Ok(());
    if let Some(local) = metadata.local.as_ref().or(data.local.as_ref()) {
        let Gathered { bodies, traffic, left } = gather(endpoint, metadata, data, local, outgoing).await?;
        announced.traffic += traffic;
        announced.left = left;
        if local.aggregator_of(metadata.route.rank) == metadata.route.rank {
            let lists = bodies.and_then(|bodies| read_members(bodies, domains.aggregators()));
            gathered = Some(lists.unwrap_or_else(|error| {
                damage = Err(error);
                Vec::new()
            }));
        }
    }
    if let Some(local) = &data.local {
        announced.relay = gathered.clone().map(|members| relay(members, domains));
        if let Some(group) = &data.group {
            let (aggregators, relay) = (data.route.receivers.len(), announced.relay.as_ref());
            let agreed = agree_on_places(endpoint, group, aggregators, relay, outgoing, domains).await?;
            damage = damage.and(agreed.map(|in_memory| announced.in_memory = in_memory));
        } else if let Some(threshold) = data.threshold {
            let members = members(local, data.route.rank);
            let built = MemberTree::build(endpoint, &metadata.route, members, threshold, outgoing, domains).await?;
            announced.traffic += built.1;
            damage = damage.and(built.0.map(|tree| announced.tree = Some(tree)));
        }
    }
    let rank = metadata.route.rank;
    let aggregators = metadata.route.receivers.len();
    let bodies: Vec<Vec<u8>> = match (&metadata.local, &announced.relay, gathered) {
        (None, ..) => by_aggregator(aggregators, outgoing.iter().map(|o| (o.aggregator, &o.file))),
        (Some(_), Some(relay), _) => by_aggregator(aggregators, relay.merged.iter().map(|m| (m.aggregator, &m.file))),
        (Some(_), None, Some(members)) => by_member(aggregators, &members),
        (Some(_), None, None) => Vec::new(),
    };
    announced.relay = announced.relay.filter(|_| announced.in_memory.is_none());
    let targets: Vec<_> = bodies.into_iter().map(Bytes::from).enumerate().collect();
    let is_aggregator = metadata.route.receivers.binary_search(&rank).is_ok();
    let sources = match (&metadata.local, is_aggregator) {
        (_, false) => Vec::new(),
        (None, true) => (0..metadata.route.ranks).collect(),
        (Some(local), true) => local.all(),
    };
    let (bodies, traffic) = variable_exchange::exchange(endpoint, &metadata.route, &targets, &sources, OUTER).await?;
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

/// Who shares the local aggregator of `rank`.
fn members(local: &LocalAggregators, rank: Rank) -> Members {
    Members::new(local.members_of(local.aggregator_of(rank)), rank)
}

/// What came of members' lists.
struct Gathered {
    /// On the local aggregator; bodies that cannot be told apart are an error.
    bodies: Result<Vec<(Rank, Bytes)>>,
    traffic: Traffic,
    /// What this rank left in memory.
    left: u64,
}

/// Members hand their lists to their local aggregator, which gets the bodies of its members, itself among them; the others
/// get none.
async fn gather(
    endpoint: &mut Endpoint,
    metadata: &Phase,
    data: &Phase,
    local: &LocalAggregators,
    outgoing: &[ListsToSend],
) -> Result<Gathered> {
    let mut body = Vec::new();
    for out in outgoing {
        varint::put(&mut body, out.aggregator as u64);
        out.file.write(&mut body);
    }
    if let Some(group) = metadata.group.as_ref().or(data.group.as_ref()) {
        return gather_in_memory(endpoint, group, body).await;
    }
    let (bodies, traffic) = match metadata.threshold.or(data.threshold) {
        Some(threshold) => members(local, metadata.route.rank).gather(endpoint, body, threshold).await?,
        None => {
            let (bodies, traffic) = gather_directly(endpoint, &metadata.route, local, body).await?;
            (Ok(bodies), traffic)
        }
    };
    Ok(Gathered { bodies, traffic, left: 0 })
}

/// Every member leaves its body in memory for its local aggregator.
async fn gather_in_memory(endpoint: &mut Endpoint, group: &Group, body: Vec<u8>) -> Result<Gathered> {
    let (mut bodies, traffic) = (Vec::new(), Traffic::default());
    let left = body.len() as u64;
    if !group.leads() {
        group.put(endpoint, group.me(), &body).await?;
        return Ok(Gathered { bodies: Ok(bodies), traffic, left });
    }
    bodies.push((group.members()[0], Bytes::from(body)));
    for (index, &member) in group.members().iter().enumerate().skip(1) {
        bodies.push((member, Bytes::from(group.take(endpoint, index).await?)));
    }
    Ok(Gathered { bodies: Ok(bodies), traffic, left: 0 })
}

/// Every member sends its body to its local aggregator itself.
async fn gather_directly(
    endpoint: &mut Endpoint,
    route: &Route,
    local: &LocalAggregators,
    body: Vec<u8>,
) -> Result<(Vec<(Rank, Bytes)>, Traffic)> {
    let all: Arc<[Rank]> = local.all().into();
    let mine = local.aggregator_of(route.rank);
    let target = all.binary_search(&mine).map_err(|_| Error::Internal {
        rank: route.rank,
        what: format!("local aggregator {mine} is not among the local aggregators"),
    })?;
    let inner = Route { receivers: all, ..route.clone() };
    let members = local.members_of(route.rank);
    let (bodies, traffic) =
        variable_exchange::exchange(endpoint, &inner, &[(target, body.into())], &members, INNER).await?;
    Ok((members.into_iter().zip(bodies).collect(), traffic))
}

/// The lists of the members that have any.
fn read_members(bodies: Vec<(Rank, Bytes)>, aggregators: usize) -> Result<Vec<(Rank, Lists)>> {
    let mut lists = Vec::with_capacity(bodies.len());
    for (member, body) in bodies {
        let list = tagged(body, aggregators)?;
        if !list.is_empty() {
            lists.push((member, list));
        }
    }
    Ok(lists)
}

fn relay(members: Vec<(Rank, Lists)>, domains: &Domains) -> LocalPlan {
    let mut by_aggregator = std::collections::BTreeMap::<usize, Lists>::new();
    for (index, (_, lists)) in members.iter().enumerate() {
        for (aggregator, packed) in lists {
            by_aggregator.entry(*aggregator).or_default().push((index, packed.clone()));
        }
    }
    let merged = by_aggregator.iter().map(|(aggregator, lists)| Merged::of(*aggregator, lists, domains));
    LocalPlan { merged: merged.collect(), members }
}

/// What an aggregator would have got from the local aggregators, made from the lists of all ranks.
fn merge_by_local(
    aggregator: usize,
    incoming: Vec<(Rank, Packed)>,
    local: &LocalAggregators,
    domains: &Domains,
) -> Vec<(Rank, Packed)> {
    let mut groups = std::collections::BTreeMap::<Rank, Lists>::new();
    for (source, packed) in incoming {
        groups.entry(local.aggregator_of(source)).or_default().push((source, packed));
    }
    groups.into_iter().map(|(rank, lists)| (rank, Merged::of(aggregator, &lists, domains).file)).collect()
}

/// One body for each aggregator: its list, or nothing.
fn by_aggregator<'a>(aggregators: usize, lists: impl Iterator<Item = (usize, &'a Packed)>) -> Vec<Vec<u8>> {
    let mut bodies = vec![Vec::new(); aggregators];
    lists.for_each(|(aggregator, packed)| packed.write(&mut bodies[aggregator]));
    bodies
}

/// One body for each aggregator: (member, list) for every member that has data for it.
fn by_member(aggregators: usize, members: &[(Rank, Lists)]) -> Vec<Vec<u8>> {
    let mut bodies = vec![Vec::new(); aggregators];
    for (member, lists) in members {
        for (aggregator, packed) in lists {
            varint::put(&mut bodies[*aggregator], *member as u64);
            packed.write(&mut bodies[*aggregator]);
        }
    }
    bodies
}

/// A body of one list, or of none.
fn plain(mut body: Bytes) -> Result<Option<Packed>> {
    if body.is_empty() {
        return Ok(None);
    }
    checked(Packed::read(&mut body)?).map(Some)
}

/// A body of lists, each behind a number below `limit`.
fn tagged(mut body: Bytes, limit: usize) -> Result<Lists> {
    let mut lists = Vec::new();
    while !body.is_empty() {
        let mut at = 0;
        let number = varint::get(&body, &mut at).filter(|&number| number < limit as u64);
        let number = number.ok_or_else(|| Error::Codec { at, what: format!("no number below {limit}") })?;
        let mut rest = body.slice(at..);
        lists.push((number as usize, checked(Packed::read(&mut rest)?)?));
        body = rest;
    }
    Ok(lists)
}

/// Lists of the engine ascend; everything behind relies on it.
fn checked(packed: Packed) -> Result<Packed> {
    match packed.summary().ascending {
        true => Ok(packed),
        false => Err(Error::Codec { at: 0, what: "extents that do not ascend".to_string() }),
    }
}
