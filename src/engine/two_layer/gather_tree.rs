//! The inner layer of `two_layer` along an ordered gather tree: lists to the local aggregator, then data, round after round.
//!
//! Irregular gather and scatter, Lemma 3: trees are built by the members themselves from sizes that only they know. There
//! are two a plan. That of the lists is for once. That of the data is built from what each member has in its **largest round**,
//! and every round of every call with this plan uses it: where sizes repeat, it is the tree of Theorem 1 for each round, and
//! elsewhere no message of any round is larger than the tree was built for. So the threshold holds in every round.
//!
//! Who passes bytes on must know how many there are. So each subtree tells its gather root its bytes, round by round, once a
//! plan. (The local aggregator has the lists and needs no telling.) A member that has nothing in a round, for itself or for
//! others, has no part in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::access::varint;
use crate::collectives::Group;
use crate::collectives::gatherv::construct::build_among;
use crate::collectives::gatherv::part::Part;
use crate::collectives::gatherv::tree::Run;
use crate::drivers::Domains;
use crate::engine::data::flow::Flow;
use crate::engine::metadata::INNER;
use crate::engine::metadata::variable_exchange;
use crate::engine::plan::flatten::ListsToSend;
use crate::engine::two_layer::local_aggregation::LocalRound;
use crate::error::{Error, Result};
use crate::exchange::Route;
use crate::exchange::two_layer::Share;
use crate::fabric::{Buffers, Endpoint, Traffic};
use crate::schedule::Buffer;
use crate::topology::Rank;

/// Bytes by round, those without any left out.
type ByRound = BTreeMap<u64, u64>;

/// One local aggregator's members, seen from one of them.
#[derive(Debug, Clone)]
pub struct Members {
    /// Ascending; the local aggregator is the first.
    ranks: Arc<[Rank]>,
    /// Which of them this rank is.
    me: usize,
}

impl Members {
    /// The `members` of a local aggregator, of whom `rank` is one.
    pub fn new(members: Vec<Rank>, rank: Rank) -> Self {
        let me = members.partition_point(|&member| member < rank);
        Self { ranks: members.into(), me }
    }

    /// Them as a group, for schedules.
    pub fn group(&self) -> Group {
        Group::of(self.ranks.clone(), self.me)
    }

    fn leads(&self) -> bool {
        self.me == 0
    }

    /// Brings the members' bodies to the local aggregator, which gets the bodies that are not empty, by ascending member;
    /// the others get none. What arrives and is no body is the inner error, of the local aggregator only. Collective over
    /// the members.
    ///
    /// # Errors
    /// The fabric's.
    pub async fn gather(
        &self,
        endpoint: &mut Endpoint,
        body: Vec<u8>,
        threshold: u64,
    ) -> Result<(Result<Vec<(Rank, Bytes)>>, Traffic)> {
        let mut framed = Vec::with_capacity(body.len() + 16);
        if !body.is_empty() {
            varint::put(&mut framed, self.me as u64);
            varint::put(&mut framed, body.len() as u64);
            framed.extend(body);
        }
        let group = self.group();
        let (part, mut traffic) = build_among(endpoint, group.clone(), 0, framed.len() as u64, Some(threshold)).await?;
        let mut buffers = Buffers::default();
        buffers.set(Buffer::Send, framed);
        traffic += endpoint.run(part.gather_among(&group), &mut buffers, INNER).await?;
        Ok((self.unframed(buffers.take(Buffer::Receive).into()), traffic))
    }

    fn unframed(&self, mut all: Bytes) -> Result<Vec<(Rank, Bytes)>> {
        let mut bodies = Vec::new();
        while !all.is_empty() {
            let mut at = 0;
            let member = varint::get(&all, &mut at).and_then(|member| self.ranks.get(member as usize));
            let end = varint::get(&all, &mut at).and_then(|len| usize::try_from(len).ok()?.checked_add(at));
            let (Some(&member), Some(end)) = (member, end.filter(|&end| end <= all.len())) else {
                return Err(Error::Codec { at, what: "no member's body".to_string() });
            };
            bodies.push((member, all.slice(at..end)));
            all = all.slice(end..);
        }
        Ok(bodies)
    }
}

/// A rank's part of the tree that data take, and what passes through it in which round.
#[derive(Debug, Clone)]
pub struct MemberTree {
    members: Members,
    part: Part,
    /// What comes of each run of the part; of none on the local aggregator.
    passed: Vec<ByRound>,
}

impl MemberTree {
    /// Builds the tree for what members send (or, in a read, get). Damaged tables are the inner error, of this rank only.
    /// Collective over the members; at most (2 ceil(log2 m) - 1) t_s for the tree, and ceil(log2 m) for its tables.
    ///
    /// # Errors
    /// The fabric's.
    pub async fn build(
        endpoint: &mut Endpoint,
        route: &Route,
        members: Members,
        threshold: u64,
        outgoing: &[ListsToSend],
        domains: &Domains,
    ) -> Result<(Result<Self>, Traffic)> {
        let own = if members.leads() { ByRound::new() } else { by_round(outgoing, domains) };
        let largest = own.values().copied().max().unwrap_or(0);
        let (part, mut traffic) = build_among(endpoint, members.group(), 0, largest, Some(threshold)).await?;
        let tree = Self { members, part, passed: Vec::new() };
        let (tables, sent) = tree.receive_tables(endpoint, route).await?;
        traffic += sent;
        let tables: Result<Vec<ByRound>> = tables.into_iter().map(decode).collect();
        let told = tables.as_ref().map_or_else(|_| own.clone(), |tables| sum(&own, tables));
        traffic += tree.send_table(endpoint, route, &told).await?;
        Ok((tables.map(|passed| Self { passed, ..tree }), traffic))
    }

    /// The tables of those whose bytes this rank passes on.
    async fn receive_tables(&self, endpoint: &mut Endpoint, route: &Route) -> Result<(Vec<Bytes>, Traffic)> {
        if self.members.leads() || self.part.received.is_empty() {
            return Ok((Vec::new(), Traffic::default()));
        }
        let sources: Vec<Rank> = self.part.received.iter().map(|run| self.members.ranks[run.gatherer]).collect();
        variable_exchange::exchange(endpoint, &to(route, route.rank), &[], &sources, INNER).await
    }

    /// Tells who passes this rank's bytes on how many they are.
    async fn send_table(&self, endpoint: &mut Endpoint, route: &Route, table: &ByRound) -> Result<Traffic> {
        let Some(gatherer) = self.part.to.filter(|&gatherer| gatherer != self.part.root) else {
            return Ok(Traffic::default());
        };
        let route = to(route, self.members.ranks[gatherer]);
        Ok(variable_exchange::exchange(endpoint, &route, &[(0, encode(table))], &[], INNER).await?.1)
    }

    /// The members, for the schedules of rounds.
    pub fn group(&self) -> Group {
        self.members.group()
    }

    /// The next round after those below `from` in which bytes of others pass through this rank.
    pub fn next_round(&self, from: u64) -> Option<u64> {
        self.passed.iter().filter_map(|table| Some(*table.range(from..).next()?.0)).min()
    }

    /// This rank's part in `round`: it has `shares` itself, and on the local aggregator members have what `relay` says.
    pub fn part(&self, round: u64, shares: &[Share], relay: &LocalRound) -> Part {
        let leads = self.members.leads();
        let bytes = if leads { 0 } else { total(shares) };
        let of_run = |(index, run): (usize, &Run)| Run {
            bytes: match self.passed.get(index) {
                Some(table) => table.get(&round).copied().unwrap_or(0),
                None => self.relayed(run, relay),
            },
            ..*run
        };
        let received: Vec<Run> =
            self.part.received.iter().enumerate().map(of_run).filter(|run| run.bytes > 0).collect();
        let has_any = bytes > 0 || !received.is_empty();
        let own = Run { bytes, ..self.part.own };
        Part { own, root: self.part.root, received, to: self.part.to.filter(|_| has_any) }
    }

    /// What the members of a run have together.
    fn relayed(&self, run: &Run, relay: &LocalRound) -> u64 {
        let ranks = &self.members.ranks[run.first..run.end];
        let first = relay.members.partition_point(|(member, _)| *member < ranks[0]);
        let of_run = relay.members[first..].iter().take_while(|(member, _)| *member <= ranks[ranks.len() - 1]);
        of_run.map(|(_, shares)| total(shares)).sum()
    }
}

/// The way to one receiver, by the same kernel.
fn to(route: &Route, receiver: Rank) -> Route {
    Route { receivers: [receiver].into(), ..route.clone() }
}

fn total(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.len).sum()
}

/// What a rank has in each round. O(extents).
fn by_round(outgoing: &[ListsToSend], domains: &Domains) -> ByRound {
    let mut all = ByRound::new();
    for out in outgoing {
        let mut flow = Flow::new(out.aggregator, out.file.clone());
        while let Some(window) = flow.window(domains) {
            *all.entry(window.index).or_default() += flow.pass(&window).bytes;
        }
    }
    all
}

fn sum(own: &ByRound, tables: &[ByRound]) -> ByRound {
    let mut all = own.clone();
    for (&round, &bytes) in tables.iter().flatten() {
        *all.entry(round).or_default() += bytes;
    }
    all
}

/// Pairs (rounds since the one before, bytes).
fn encode(table: &ByRound) -> Bytes {
    let (mut out, mut before) = (Vec::new(), 0);
    for (&round, &bytes) in table {
        varint::put(&mut out, round - before);
        varint::put(&mut out, bytes);
        before = round;
    }
    out.into()
}

fn decode(bytes: Bytes) -> Result<ByRound> {
    let (mut table, mut at, mut before) = (ByRound::new(), 0, 0u64);
    while at < bytes.len() {
        let pair = varint::get(&bytes, &mut at).and_then(|gap| Some((gap, varint::get(&bytes, &mut at)?)));
        let round = pair.and_then(|(gap, len)| Some((before.checked_add(gap)?, len)));
        let (round, len) = round.ok_or_else(|| Error::Codec { at, what: "no table of rounds".to_string() })?;
        table.insert(round, len);
        before = round;
    }
    Ok(table)
}

/// What passes through a member in one round, by its place in [`crate::exchange::two_layer::PASSED`].
#[derive(Debug, Default)]
pub struct Passing(BTreeMap<u64, Bytes>);

impl Passing {
    /// Bytes for address `at` are here.
    pub fn put(&mut self, at: u64, bytes: Bytes) {
        self.0.insert(at, bytes);
    }

    /// The `len` bytes at `at`: out of what came as one, without a copy, or put together.
    pub fn get(&self, at: u64, len: u64) -> Bytes {
        if let Some((start, bytes)) = self.0.range(..=at).next_back()
            && at + len <= start + bytes.len() as u64
        {
            return bytes.slice((at - start) as usize..(at - start + len) as usize);
        }
        let parts: Vec<&[u8]> = self.0.range(at..at + len).map(|(_, bytes)| &bytes[..]).collect();
        parts.concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_survive_and_what_is_none_is_refused() {
        for table in [ByRound::new(), ByRound::from([(0, 1)]), ByRound::from([(3, 9), (4, 1 << 40), (u64::MAX, 2)])] {
            assert_eq!(decode(encode(&table)).unwrap(), table);
        }
        let beyond = [encode(&ByRound::from([(u64::MAX, 1)])), encode(&ByRound::from([(5, 1)]))].concat();
        for bytes in [vec![1], vec![1, 0x80], beyond] {
            assert!(matches!(decode(bytes.into()), Err(Error::Codec { .. })));
        }
    }

    #[test]
    fn frames_name_members_and_what_is_none_is_refused() {
        let members = Members::new(vec![4, 6, 9], 4);
        let bodies = members.unframed(vec![0, 1, 7, 2, 2, 8, 9].into()).unwrap();
        assert_eq!(bodies, [(4, Bytes::from(vec![7])), (9, Bytes::from(vec![8, 9]))]);
        assert_eq!(members.unframed(Bytes::new()).unwrap(), []);
        for bytes in [vec![3, 0], vec![0, 2, 1], vec![1]] {
            assert!(matches!(members.unframed(bytes.into()), Err(Error::Codec { .. })));
        }
    }

    #[test]
    fn what_passes_is_put_together_in_order() {
        let mut passing = Passing::default();
        passing.put(2, vec![3, 4, 5].into());
        passing.put(0, vec![1, 2].into());
        assert_eq!(passing.get(0, 5), [1, 2, 3, 4, 5][..]);
        assert_eq!(passing.get(3, 2), [4, 5][..]);
        assert_eq!(passing.get(0, 0), [][..]);
    }
}
