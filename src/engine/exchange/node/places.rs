//! The positions of members' bytes in the messages of their local aggregator.
//!
//! A position counts the bytes of all messages to (or from) one aggregator, round after round. The positions of one
//! member ascend with its extents in the file, and compress as well as the extents.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::access::pairs::PairEncoder;
use crate::access::{Extent, Packed, Packer};
use crate::drivers::Domains;
use crate::engine::exchange::flatten::ListsToSend;
use crate::engine::exchange::lists::Flow;
use crate::engine::exchange::node::merge::{LocalPlan, MergeStep, Merged};
use crate::engine::exchange::node::ring;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::GroupMemory;

/// Positions of one member's bytes in the messages to (or from) one aggregator.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Positions of all bytes of the member, in the order of the file.
    pub at: Packed,
    /// Positions of the bytes that a member with a higher index has too: a read copies them, a write leaves them out.
    pub left_out: Packed,
}

/// The messages of a local aggregator to (or from) one aggregator.
#[derive(Debug, Clone)]
pub struct Messages {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Extents of the file whose bytes are in the messages.
    pub file: Packed,
    /// A pair (0, number of bytes that are left out) for each message, encoded.
    pub left_out: Bytes,
}

/// The plan of one rank for the layer in shared memory.
#[derive(Debug, Clone)]
pub struct InMemory {
    /// Ranks that share the memory: the local aggregator and its members.
    pub group: Arc<GroupMemory>,
    /// For each list of this rank: positions of its bytes in the messages.
    pub places: Vec<Places>,
    /// On the local aggregator: its messages, ascending by aggregator.
    pub messages: Vec<Messages>,
    /// On the local aggregator: number of bytes of the ring.
    pub ring: usize,
}

/// Sends each member its places, from the local aggregator. `local_plan` has the merged lists, on the local aggregator only.
/// The inner result is an error on this rank only: there is no memory for the largest message, or places are damaged.
/// Collective over the members.
///
/// # Errors
/// Errors of the message transport.
pub async fn agree_on_places(
    endpoint: &mut Endpoint,
    group: &Arc<GroupMemory>,
    aggregators: usize,
    local_plan: Option<&LocalPlan>,
    outgoing: &[ListsToSend],
    domains: &Domains,
) -> Result<Result<InMemory>> {
    if !group.leads() {
        let places = read(group.take(endpoint, group.me()).await?.into(), outgoing);
        return Ok(places.map(|places| InMemory { group: group.clone(), places, messages: Vec::new(), ring: 0 }));
    }
    let empty = LocalPlan::default();
    let local_plan = local_plan.unwrap_or(&empty);
    let ring = ring::reserve(group, aggregators, needed(&local_plan.merged, domains));
    let (mut places, messages) = merge(local_plan);
    for (index, &rank) in group.members().iter().enumerate().skip(1) {
        let of = local_plan.members.binary_search_by_key(&rank, |(member, _)| *member);
        group.put(endpoint, index, &write(of.map_or(&[], |of| &places[of]))).await?;
    }
    let own = local_plan.members.first().is_some_and(|(member, _)| *member == group.members()[0]);
    let places = if own { std::mem::take(&mut places[0]) } else { Vec::new() };
    Ok(ring.map(|ring| InMemory { group: group.clone(), places, messages, ring }))
}

/// Returns the number of bytes in the ring of the largest message and of the largest round.
fn needed(merged: &[Merged], domains: &Domains) -> (u64, u64) {
    let (mut largest, mut rounds) = (0, BTreeMap::<u64, u64>::new());
    for merged in merged {
        let mut flow = Flow::new(merged.aggregator, merged.file.clone());
        while let Some(window) = flow.window(domains) {
            let bytes = ring::rounded(flow.pass(&window).bytes);
            largest = largest.max(bytes);
            *rounds.entry(window.index).or_default() += bytes;
        }
    }
    (largest, rounds.into_values().max().unwrap_or(0))
}

/// Returns the positions of every member that has data, by aggregator, and the messages. O(pieces).
fn merge(local_plan: &LocalPlan) -> (Vec<Vec<Places>>, Vec<Messages>) {
    let mut all = vec![Vec::new(); local_plan.members.len()];
    let mut messages = Vec::with_capacity(local_plan.merged.len());
    for merged in &local_plan.merged {
        let mut placing: BTreeMap<usize, PlacesBuilder> = BTreeMap::new();
        let (mut position, mut left_out, mut twice) = (0, 0, PairEncoder::default());
        for part in merged.parts() {
            match part {
                MergeStep::Bytes { member, len, left_out: true } => {
                    placing.entry(member).or_default().push(Extent { offset: position - len, len }, true);
                    left_out += len;
                }
                MergeStep::Bytes { member, len, left_out: false } => {
                    placing.entry(member).or_default().push(Extent { offset: position, len }, false);
                    position += len;
                }
                MergeStep::End => {
                    placing.values_mut().for_each(PlacesBuilder::cut);
                    twice.push((0, left_out));
                    left_out = 0;
                }
            }
        }
        placing.into_iter().for_each(|(member, placing)| all[member].push(placing.finish()));
        let left_out = twice.finish().into();
        messages.push(Messages { aggregator: merged.aggregator, file: merged.file.clone(), left_out });
    }
    (all, messages)
}

/// Builds positions; joins adjacent ones within a message.
#[derive(Default)]
struct PlacesBuilder {
    at: Packer,
    left_out: Packer,
    last: Option<(Extent, bool)>,
}

impl PlacesBuilder {
    fn push(&mut self, extent: Extent, left_out: bool) {
        match &mut self.last {
            Some((last, same)) if *same == left_out && last.end() == extent.offset => last.len += extent.len,
            _ => {
                self.cut();
                self.last = Some((extent, left_out));
            }
        }
    }

    fn cut(&mut self) {
        if let Some((extent, left_out)) = self.last.take() {
            self.at.push(extent);
            if left_out {
                self.left_out.push(extent);
            }
        }
    }

    fn finish(mut self) -> Places {
        self.cut();
        Places { at: self.at.finish(), left_out: self.left_out.finish() }
    }
}

fn write(places: &[Places]) -> Vec<u8> {
    let mut body = Vec::new();
    for of in places {
        of.at.write(&mut body);
        of.left_out.write(&mut body);
    }
    body
}

/// Decodes the places of this rank.
fn read(mut body: Bytes, outgoing: &[ListsToSend]) -> Result<Vec<Places>> {
    let mut places = Vec::with_capacity(outgoing.len());
    for out in outgoing {
        let of = Places { at: Packed::read(&mut body)?, left_out: Packed::read(&mut body)? };
        let (at, left_out) = (of.at.summary(), of.left_out.summary());
        if !at.ascending || !left_out.ascending || at.bytes != out.file.summary().bytes {
            return Err(Error::codec(0, "places in the node: not those of this rank"));
        }
        places.push(of);
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The messages have each byte of the members once, ascending. Every member has a place for each of its bytes, and
        /// leaves out the bytes that a member with a higher index has too.
        #[test]
        fn places_are_those_of_the_merged_bytes(
            lists in prop::collection::vec(prop::collection::vec((0u64..30, 1u64..12), 0..12), 1..5),
            window in 8u64..64
        ) {
            let domains = Domains::Ranges { bounds: vec![0, 1000], window };
            let mut members = Vec::new();
            for (member, list) in lists.iter().enumerate() {
                let mut at = 0;
                let extents = list.iter().map(|&(gap, len)| {
                    at += gap + len;
                    Extent { offset: at - len, len }
                });
                members.push((member, extents.collect::<Packed>()));
            }
            let merged = Merged::of(0, &members, &domains);
            let of: Vec<_> = members.iter().map(|(member, packed)| (*member, vec![(0, packed.clone())])).collect();
            let (places, messages) = merge(&LocalPlan { members: of, merged: vec![merged] });
            // The offset in the file of every position.
            let file: Vec<u64> = messages[0].file.iter().flat_map(|e| e.offset..e.end()).collect();
            let highest = |at: u64| {
                let has = |p: &Packed| p.iter().any(|e| e.offset <= at && at < e.end());
                members.iter().rev().find(|(_, p)| has(p)).map(|(m, _)| *m)
            };
            prop_assert!(file.is_sorted_by(|one, next| one < next));
            prop_assert_eq!(file.len(), (0..1000).filter(|&at| highest(at).is_some()).count());
            for (member, packed) in &members {
                let wanted: Vec<u64> = packed.iter().flat_map(|e| e.offset..e.end()).collect();
                let places = places[*member].first().cloned().unwrap_or_default();
                let at: Vec<u64> = places.at.iter().flat_map(|e| e.offset..e.end()).collect();
                let got: Vec<u64> = at.iter().map(|&at| file[at as usize]).collect();
                prop_assert_eq!(&got, &wanted);
                let left_out: Vec<u64> = places.left_out.iter().flat_map(|e| e.offset..e.end()).collect();
                let expected: Vec<u64> =
                    at.into_iter().filter(|&at| highest(file[at as usize]) != Some(*member)).collect();
                prop_assert_eq!(left_out, expected);
            }
        }
    }
}
