//! Encodes and decodes the messages of a first agreement, for the fuzz targets (`fuzz/`).

use super::contribution::Contribution;
use super::footprint::Footprint;
use super::small::SmallData;
use crate::access::{BufferLayout, Extent, Extents, Source};
use crate::engine::direction::Direction;
use crate::engine::facts::Facts;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::calls::CallKinds;
use crate::engine::facts::reuse::AccessShift;
use crate::engine::facts::tiling::Tiling;
use crate::engine::facts::words::{get, message};
use crate::topology::Rank;

/// Returns the encoded contribution of `rank` to a write of `file`. Includes `data` if it is small enough.
pub fn contribution_to_write(rank: Rank, file: &Extents, data: Option<&[u8]>) -> Vec<u8> {
    encoded_write(rank, file, data).body()
}

/// Returns the encoded answer of rank 0 if `rank` is the only rank that writes, to `file`.
pub fn answer_to_write(rank: Rank, file: &Extents) -> Vec<u8> {
    message(&encoded_write(rank, file, None).agreed(Tiling::from_key(7), Direction::Write))
}

fn encoded_write(rank: Rank, file: &Extents, data: Option<&[u8]>) -> Contribution {
    let mut facts = Facts::from_access((file, file), (AccessShift::No, 2), None, Some(Tiling::from_key(7)));
    facts.calls = CallKinds::new(Direction::Write.into(), rank);
    let mut contribution = Contribution::new(facts, Footprint::unknown(0));
    let data = data.and_then(|data| SmallData::from_access(rank, file, &BufferLayout::Contiguous, Source::from(data)));
    if let Some(data) = data {
        contribution.bring(data);
    }
    contribution
}

/// Decodes a contribution and encodes it again.
pub fn contribution(body: &[u8]) -> Vec<u8> {
    Contribution::from(body).body()
}

/// Decodes two contributions, merges them and encodes the result.
pub fn merged(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut all = Contribution::from(one);
    all.merge(Contribution::from(other));
    all.body()
}

/// Returns the pieces of small data that rank 0 would write, as (rank, extent of the file, data).
pub fn pieces(body: &[u8]) -> Vec<(Rank, Extent, Vec<u8>)> {
    let data = Contribution::from(body).data;
    let bytes = |at: usize, len: u64| data.bytes()[at..][..len as usize].to_vec();
    data.pieces().into_iter().map(|(rank, extent, at)| (rank, extent, bytes(at, extent.len))).collect()
}

/// Decodes the answer of rank 0 and encodes it again.
pub fn answer(body: &[u8]) -> Vec<u8> {
    message(&get::<Agreed>(body))
}
