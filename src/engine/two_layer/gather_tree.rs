//! The layer between members and local aggregators along an ordered gather tree: first the lists, then the data of each round.
//!
//! Irregular gather and scatter, Lemma 3: the members build trees from sizes that only they know. A plan has two trees. The tree
//! of the lists is used once. The tree of the data is built from the bytes of each member's **largest round**, and is used in
//! every round of every call with this plan. If sizes repeat, it is the tree of Theorem 1 for each round; otherwise no message of
//! a round is larger than those the tree was built for. So the threshold holds in every round.
//!
//! A member that forwards bytes must know their number. So each subtree sends its gather root a table of its bytes in each
//! round, once a plan. (The local aggregator has the lists and needs no tables.) In a round, a member without bytes of its own
//! or of others takes no part.

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
use crate::engine::metadata::MEMBER_TAG;
use crate::engine::metadata::variable_exchange;
use crate::engine::plan::flatten::ListsToSend;
use crate::engine::two_layer::local_aggregation::LocalRound;
use crate::error::{Error, Result};
use crate::exchange::Route;
use crate::exchange::two_layer::Share;
use crate::fabric::{Buffers, Endpoint, Traffic};
use crate::schedule::Buffer;
use crate::topology::Rank;

/// Bytes by round, without rounds of 0 bytes.
type ByRound = BTreeMap<u64, u64>;

/// The members of one local aggregator, as one of them sees them.
#[derive(Debug, Clone)]
pub struct Members {
    /// The members, ascending; the local aggregator is the first.
    ranks: Arc<[Rank]>,
    /// This rank's index in `ranks`.
    me: usize,
}

impl Members {
    /// The `members` of a local aggregator; `rank` is one of them.
    pub fn new(members: Vec<Rank>, rank: Rank) -> Self {
        let me = members.partition_point(|&member| member < rank);
        Self { ranks: members.into(), me }
    }

    /// The members as a group, for schedules.
    pub fn group(&self) -> Group {
        Group::of(self.ranks.clone(), self.me)
    }

    fn leads(&self) -> bool {
        self.me == 0
    }

    /// Gathers the members' bodies on the local aggregator, which gets those that are not empty, by ascending member; the other
    /// members get none. The inner result is an error on the local aggregator if the gathered bytes are damaged. Collective over
    /// the members.
    ///
    /// # Errors
    /// Those of the fabric.
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
        traffic += endpoint.run(part.gather_among(&group), &mut buffers, MEMBER_TAG).await?;
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

/// A rank's part of the tree of the data, and the bytes that it forwards in each round.
#[derive(Debug, Clone)]
pub struct MemberTree {
    members: Members,
    part: Part,
    /// The bytes by round of each run that this rank receives; empty on the local aggregator.
    passed: Vec<ByRound>,
}

impl MemberTree {
    /// Builds the tree for the bytes that members send (or, in a read, get). The inner result is an error on this rank only if
    /// tables are damaged. Collective over the members; at most (2 ceil(log2 m) - 1) t_s for the tree, and ceil(log2 m) t_s for
    /// its tables.
    ///
    /// # Errors
    /// Those of the fabric.
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

    /// Receives the tables of the subtrees whose bytes this rank forwards.
    async fn receive_tables(&self, endpoint: &mut Endpoint, route: &Route) -> Result<(Vec<Bytes>, Traffic)> {
        if self.members.leads() || self.part.received.is_empty() {
            return Ok((Vec::new(), Traffic::default()));
        }
        let sources: Vec<Rank> = self.part.received.iter().map(|run| self.members.ranks[run.gatherer]).collect();
        variable_exchange::exchange(endpoint, &to(route, route.rank), &[], &sources, MEMBER_TAG).await
    }

    /// Sends this rank's table to the member that forwards its bytes.
    async fn send_table(&self, endpoint: &mut Endpoint, route: &Route, table: &ByRound) -> Result<Traffic> {
        let Some(gatherer) = self.part.to.filter(|&gatherer| gatherer != self.part.root) else {
            return Ok(Traffic::default());
        };
        let route = to(route, self.members.ranks[gatherer]);
        Ok(variable_exchange::exchange(endpoint, &route, &[(0, encode(table))], &[], MEMBER_TAG).await?.1)
    }

    /// The members, for the schedules of rounds.
    pub fn group(&self) -> Group {
        self.members.group()
    }

    /// The first round from `from` on in which this rank forwards bytes of others.
    pub fn next_round(&self, from: u64) -> Option<u64> {
        self.passed.iter().filter_map(|table| Some(*table.range(from..).next()?.0)).min()
    }

    /// This rank's part in `round`: it has `shares` itself; on the local aggregator, `local_round` has the members' shares.
    pub fn part(&self, round: u64, shares: &[Share], local_round: &LocalRound) -> Part {
        let leads = self.members.leads();
        let bytes = if leads { 0 } else { total(shares) };
        let of_run = |(index, run): (usize, &Run)| Run {
            bytes: match self.passed.get(index) {
                Some(table) => table.get(&round).copied().unwrap_or(0),
                None => self.run_bytes(run, local_round),
            },
            ..*run
        };
        let received: Vec<Run> =
            self.part.received.iter().enumerate().map(of_run).filter(|run| run.bytes > 0).collect();
        let has_any = bytes > 0 || !received.is_empty();
        let own = Run { bytes, ..self.part.own };
        Part { own, root: self.part.root, received, to: self.part.to.filter(|_| has_any) }
    }

    /// The bytes of the members of a run.
    fn run_bytes(&self, run: &Run, local_round: &LocalRound) -> u64 {
        let ranks = &self.members.ranks[run.first..run.end];
        let first = local_round.members.partition_point(|(member, _)| *member < ranks[0]);
        let of_run = local_round.members[first..].iter().take_while(|(member, _)| *member <= ranks[ranks.len() - 1]);
        of_run.map(|(_, shares)| total(shares)).sum()
    }
}

/// The route to one receiver, by the same kernel.
fn to(route: &Route, receiver: Rank) -> Route {
    Route { receivers: [receiver].into(), ..route.clone() }
}

fn total(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.len).sum()
}

/// The bytes of a rank in each round. O(extents).
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

/// Encodes a table as pairs (rounds since the one before, bytes).
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

/// The bytes that a member forwards in one round, by their offset in [`crate::exchange::two_layer::FORWARDED`].
#[derive(Debug, Default)]
pub struct ForwardedBytes(BTreeMap<u64, Bytes>);

impl ForwardedBytes {
    /// Stores bytes at offset `at`.
    pub fn put(&mut self, at: u64, bytes: Bytes) {
        self.0.insert(at, bytes);
    }

    /// The `len` bytes at `at`: without a copy if they arrived in one message, otherwise assembled.
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
    fn tables_survive_encoding_and_damaged_ones_are_refused() {
        for table in [ByRound::new(), ByRound::from([(0, 1)]), ByRound::from([(3, 9), (4, 1 << 40), (u64::MAX, 2)])] {
            assert_eq!(decode(encode(&table)).unwrap(), table);
        }
        let beyond = [encode(&ByRound::from([(u64::MAX, 1)])), encode(&ByRound::from([(5, 1)]))].concat();
        for bytes in [vec![1], vec![1, 0x80], beyond] {
            assert!(matches!(decode(bytes.into()), Err(Error::Codec { .. })));
        }
    }

    #[test]
    fn frames_name_members_and_damaged_ones_are_refused() {
        let members = Members::new(vec![4, 6, 9], 4);
        let bodies = members.unframed(vec![0, 1, 7, 2, 2, 8, 9].into()).unwrap();
        assert_eq!(bodies, [(4, Bytes::from(vec![7])), (9, Bytes::from(vec![8, 9]))]);
        assert_eq!(members.unframed(Bytes::new()).unwrap(), []);
        for bytes in [vec![3, 0], vec![0, 2, 1], vec![1]] {
            assert!(matches!(members.unframed(bytes.into()), Err(Error::Codec { .. })));
        }
    }

    #[test]
    fn forwarded_bytes_are_assembled_in_order() {
        let mut forwarded = ForwardedBytes::default();
        forwarded.put(2, vec![3, 4, 5].into());
        forwarded.put(0, vec![1, 2].into());
        assert_eq!(forwarded.get(0, 5), [1, 2, 3, 4, 5][..]);
        assert_eq!(forwarded.get(3, 2), [4, 5][..]);
        assert_eq!(forwarded.get(0, 0), [][..]);
    }
}
