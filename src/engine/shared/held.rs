//! What the ranks of a host hold, where that is several ranges of the file: their covers, united at the first meeting.
//!
//! Where the ranks have data everywhere in the ranges, a window is [known to be complete](super::window_writer) by the sum of
//! hashes, as where they tile one range; no bit has to be set for each byte.

use super::opening::{LANES, Opening};
use crate::access::Extent;
use crate::engine::opening::cover::Cover;
use crate::fabric::shared::Slots;

/// Where a cover begins, in a slot and in the verdict.
const AT: usize = 8 * LANES;

/// Writes a rank's cover to its slot, behind the integers of its [`Opening`].
pub fn put(slot: &mut [u8], cover: &Cover) {
    let mut bytes = Vec::new();
    cover.put(&mut bytes);
    slot[AT..][..bytes.len()].copy_from_slice(&bytes);
}

/// Unites the covers of all ranks. If they are filled by `bytes` bytes, writes them to the verdict, and says so.
pub fn unite(slots: Slots<'_>, bytes: u64, verdict: &mut [u8]) -> bool {
    let slots = (0..slots.ranks()).map(|place| slots.of(place));
    let with_data = slots.filter(|slot| Opening::get(slot).bytes > 0);
    let covers = with_data.map(|slot| match Opening::get(slot).inline {
        u64::MAX => Cover::get(slot, &mut AT.clone()),
        _ => Cover::unknown(0),
    });
    let united = covers.reduce(|mut all, next| {
        all.merge(next);
        all
    });
    let Some(united) = united else { return false };
    put(verdict, &united);
    // One that is too long to be written reads as not known.
    Cover::get(verdict, &mut AT.clone()).is_filled_by(bytes)
}

/// The ranges in the verdict.
pub fn get(verdict: &[u8]) -> Vec<Extent> {
    Cover::get(verdict, &mut AT.clone()).extents()
}
