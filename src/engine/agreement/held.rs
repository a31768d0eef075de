//! Footprints of the ranks of one host, united at the first agreement in shared memory. They serve writes of ranks that
//! access several ranges of the file.
//!
//! If the ranks have data everywhere in the united ranges, the sum of hashes shows when a window is
//! [complete](crate::engine::shared::window_writer), and no bit has to be set for each byte.

use super::on_host::{BEHIND_AGREED, BEHIND_FACTS};
use crate::access::Extent;
use crate::engine::agreement::footprint::Footprint;
use crate::engine::facts::Facts;
use crate::engine::facts::words::get;
use crate::fabric::shared::Slots;

/// Encodes a footprint into `place`, a part of a slot or of the decision.
pub fn put(place: &mut [u8], footprint: &Footprint) {
    let mut bytes = Vec::new();
    footprint.put(&mut bytes);
    place[..bytes.len()].copy_from_slice(&bytes);
}

/// Merges the footprints in the slots of all ranks and encodes the result into `place`, a part of the decision. A
/// footprint that is too long for a slot counts as unknown.
pub fn unite(slots: Slots<'_>, place: &mut [u8]) {
    let slots = (0..slots.ranks()).map(|place| slots.slot(place));
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

/// Returns the ranges of the footprint in the decision, if `bytes` bytes fill them without holes.
pub fn filled(decision: &[u8], bytes: u64) -> Option<Vec<Extent>> {
    let footprint = Footprint::get(decision, &mut BEHIND_AGREED.clone());
    footprint.is_filled_by(bytes).then(|| footprint.extents())
}
