//! Rounds that every rank takes part in, whether it has data or not: what the paper's pairwise kernel needs, since its
//! steps exchange empty messages with everybody.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::flow::Flow;
use crate::access::{Extent, Packed, Packer};
use crate::collectives::{broadcast, gather};
use crate::drivers::Domains;
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// All rounds that any aggregator has data in, ascending; the same on every rank. Collective. O(ranks + rounds) messages
/// and bytes at rank 0.
///
/// # Errors
/// The fabric's.
pub async fn rounds(
    endpoint: &mut Endpoint,
    own: usize,
    incoming: &[(Rank, Packed)],
    domains: &Domains,
) -> Result<Vec<u64>> {
    let mut here = BTreeSet::new();
    for (_, packed) in incoming {
        let mut flow = Flow::new(own, packed.clone());
        while let Some(window) = flow.window(domains) {
            flow.pass(&window);
            here.insert(window.index);
        }
    }
    let mut all = BTreeSet::new();
    for body in gather(endpoint, 0, &pack(&here)).await? {
        all.extend(unpack(body)?);
    }
    Ok(unpack(broadcast(endpoint, 0, &pack(&all)).await?)?.collect())
}

/// Rounds as extents of length 1: consecutive ones cost a run.
fn pack(rounds: &BTreeSet<u64>) -> Vec<u8> {
    let mut packer = Packer::default();
    rounds.iter().for_each(|&round| packer.push(Extent { offset: round, len: 1 }));
    let mut body = Vec::new();
    packer.finish().write(&mut body);
    body
}

fn unpack(body: Vec<u8>) -> Result<impl Iterator<Item = u64>> {
    let packed = Packed::read(&mut Bytes::from(body))?;
    Ok(packed.iter().map(|extent| extent.offset).collect::<Vec<_>>().into_iter())
}
