//! What the ranks of a host hold, where that is several ranges of the file: their footprints, united at the first combine.
//!
//! Where the ranks have data everywhere in the ranges, a window is [known to be complete](crate::engine::shared::window_writer) by the sum of
//! hashes, as where they tile one range; no bit has to be set for each byte.

use super::on_host::{BEHIND_AGREED, BEHIND_FACTS};
use crate::access::Extent;
use crate::engine::agreement::footprint::Footprint;
use crate::engine::facts::Facts;
use crate::engine::facts::words::get;
use crate::fabric::shared::Slots;

/// Writes a footprint to a part of a slot or of the decision.
pub fn put(place: &mut [u8], footprint: &Footprint) {
    let mut bytes = Vec::new();
    footprint.put(&mut bytes);
    place[..bytes.len()].copy_from_slice(&bytes);
}

/// Unites the footprints of all ranks, for a part of the decision. One that is too long to be written reads as not known.
pub fn unite(slots: Slots<'_>, place: &mut [u8]) {
    let slots = (0..slots.ranks()).map(|place| slots.of(place));
    let footprints = slots.map(|slot| (get(slot), slot)).filter(|(facts, _): &(Facts, _)| facts.left.bytes > 0);
    let footprints = footprints.map(|(facts, slot)| match facts.comes_along {
        false => Footprint::get(slot, &mut BEHIND_FACTS.clone()),
        true => Footprint::unknown(0),
    });
    let united = footprints.reduce(|mut all, next| {
        all.merge(next);
        all
    });
    put(place, &united.unwrap_or(Footprint::unknown(0)));
}

/// The ranges of the footprint in the decision, if `bytes` bytes fill them.
pub fn filled(decision: &[u8], bytes: u64) -> Option<Vec<Extent>> {
    let footprint = Footprint::get(decision, &mut BEHIND_AGREED.clone());
    footprint.is_filled_by(bytes).then(|| footprint.extents())
}
