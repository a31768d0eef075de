//! What the ranks of a host hold, where that is several ranges of the file: their covers, united at the first meeting.
//!
//! Where the ranks have data everywhere in the ranges, a window is [known to be complete](crate::engine::shared::window_writer) by the sum of
//! hashes, as where they tile one range; no bit has to be set for each byte.

use super::meeting::{BEHIND_AGREED, BEHIND_FACTS};
use crate::access::Extent;
use crate::engine::agreement::cover::Cover;
use crate::engine::facts::Facts;
use crate::engine::facts::lanes::get;
use crate::fabric::shared::Slots;

/// Writes a cover to a part of a slot or of the verdict.
pub fn put(place: &mut [u8], cover: &Cover) {
    let mut bytes = Vec::new();
    cover.put(&mut bytes);
    place[..bytes.len()].copy_from_slice(&bytes);
}

/// Unites the covers of all ranks, for a part of the verdict. One that is too long to be written reads as not known.
pub fn unite(slots: Slots<'_>, place: &mut [u8]) {
    let slots = (0..slots.ranks()).map(|place| slots.of(place));
    let covers = slots.map(|slot| (get(slot), slot)).filter(|(facts, _): &(Facts, _)| facts.left.bytes > 0);
    let covers = covers.map(|(facts, slot)| match facts.comes_along {
        false => Cover::get(slot, &mut BEHIND_FACTS.clone()),
        true => Cover::unknown(0),
    });
    let united = covers.reduce(|mut all, next| {
        all.merge(next);
        all
    });
    put(place, &united.unwrap_or(Cover::unknown(0)));
}

/// The ranges of the cover in the verdict, if `bytes` bytes fill them.
pub fn filled(verdict: &[u8], bytes: u64) -> Option<Vec<Extent>> {
    let cover = Cover::get(verdict, &mut BEHIND_AGREED.clone());
    cover.is_filled_by(bytes).then(|| cover.extents())
}
