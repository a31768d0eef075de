//! The messages of a first agreement, for the fuzz targets (`fuzz/`): all are bytes to others.

use super::contribution::Contribution;
use crate::access::Extent;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::lanes::{get, message};
use crate::topology::Rank;

/// What ranks contribute, decoded and encoded again.
pub fn contribution(body: &[u8]) -> Vec<u8> {
    Contribution::from(body).body()
}

/// What two messages are when they are merged.
pub fn merged(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut all = Contribution::from(one);
    all.merge(Contribution::from(other));
    all.body()
}

/// The pieces that rank 0 would write: whose, where in the file, their data.
pub fn pieces(body: &[u8]) -> Vec<(Rank, Extent, Vec<u8>)> {
    let data = Contribution::from(body).data;
    let bytes = |at: usize, len: u64| data.bytes()[at..][..len as usize].to_vec();
    data.pieces().into_iter().map(|(rank, extent, at)| (rank, extent, bytes(at, extent.len))).collect()
}

/// What rank 0 tells all, decoded and encoded again.
pub fn answer(body: &[u8]) -> Vec<u8> {
    message(&get::<Agreed>(body))
}
