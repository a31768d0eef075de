//! Encodes and decodes the messages of a first agreement, for the fuzz targets (`fuzz/`).

use tributary_base::wire;
use tributary_base::wire::frame::{self, Encoder, LENGTH};

use crate::access::{Access, BufferLayout, Direction, Extent, Extents, Source, Tiling};
use crate::collectives::team::MAX_BODY;
use crate::engine::agree::calls::{CallKind, CallKinds};
use crate::engine::agree::facts::{Agreed, Facts};
use crate::engine::agree::first::Contribution;
use crate::engine::agree::footprint::Footprint;
use crate::engine::agree::inline::{SmallPiece, add_pieces};
use crate::engine::exchange::kept_plans::AccessShift;
use crate::topology::Rank;

/// Returns the bytes that `encode` writes into a buffer with room for a few times `given` bytes, the length of its input.
fn encoded(given: usize, encode: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH + (4096 + 4 * given).min(MAX_BODY)];
    frame::put(&mut bytes, encode);
    frame::get(&bytes).to_vec()
}

/// Returns the encoded contribution of `rank` to a write of `file`. Includes `data` if it is small enough.
pub fn contribution_to_write(rank: Rank, file: &Extents, data: Option<&[u8]>) -> Vec<u8> {
    let mut contribution = of_write(rank, file);
    if let Some(data) = data {
        let access = Access { file, layout: &BufferLayout::Contiguous, memory: Source::from(data) };
        contribution.bring(rank, file, Some(access));
    }
    encoded(16 * file.count() as usize + data.map_or(0, <[u8]>::len), |out| contribution.encode(&[], out))
}

/// Returns the encoded answer of rank 0 if `rank` is the only rank that writes, to `file`.
pub fn answer_to_write(rank: Rank, file: &Extents) -> Vec<u8> {
    let agreed = of_write(rank, file).agreed(Tiling::from_key(7), Direction::Write);
    encoded(0, |out| out.put(&agreed))
}

fn of_write(rank: Rank, file: &Extents) -> Contribution<'static> {
    let mut facts = Facts::from_access((file, file), (AccessShift::No, 2), None, Some(Tiling::from_key(7)));
    facts.calls = CallKinds::new(CallKind::Write, rank);
    Contribution::new(facts, Footprint::unknown(0))
}

/// Decodes a contribution and encodes the result; `None` if it is damaged.
pub fn contribution(body: &[u8]) -> Option<Vec<u8>> {
    let decoded = Contribution::from_encoded(body)?;
    Some(encoded(body.len(), |out| decoded.encode(&[body], out)))
}

/// Decodes two contributions, merges them and encodes the result; `None` if one is damaged.
pub fn merged(one: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let mut all = Contribution::from_encoded(one)?;
    all.merge_encoded(other).then(|| encoded(one.len() + other.len(), |out| all.encode(&[one, other], out)))
}

/// Returns the pieces of small data that rank 0 would write, as (rank, extent of the file, data); none if the contribution
/// is damaged.
pub fn pieces(body: &[u8]) -> Vec<(Rank, Extent, Vec<u8>)> {
    let mut pieces = Vec::new();
    let Some(decoded) = Contribution::from_encoded(body) else { return Vec::new() };
    let blocks = decoded.small_data(body);
    add_pieces(0, blocks, 0, &mut pieces);
    pieces.iter().map(|piece: &SmallPiece| (piece.rank, piece.extent, piece.bytes(blocks).to_vec())).collect()
}

/// Decodes the answer of rank 0 and encodes the result; `None` if it is damaged.
pub fn answer(mut body: &[u8]) -> Option<Vec<u8>> {
    let agreed: Agreed = wire::take(&mut body)?;
    Some(encoded(0, |out| out.put(&agreed)))
}
