//! Flat tree reduction in segments: the root receives from one rank after the other, a segment at a time, and combines.
//!
//! X (p - 1) messages of m / X bytes into a buffer of m / X bytes: X (p - 1)(t_s + m/X t_w + m/X t_c) (Hasanov, thesis,
//! 2.3.2.1, equation 2.11). It has more startups than the flat tree and saves memory at the root.

use super::flat::one_by_one;
use crate::collectives::in_place::{InPlace, in_place};

/// Flat tree reduction in segments (see the module).
pub static SEGMENTED_FLAT: InPlace = in_place!(Reduce {
    name: "segmented_flat",
    about: "the root receives from one rank after the other, a segment at a time",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.11",
    cost: "X (p - 1)(t_s + m/X (t_w + t_c)) in X segments",
    append: |part, builder, before| one_by_one(part, &part.segments(), builder, before),
    time: |rates, ranks, bytes, segments| segments * (ranks - 1.0) * rates.combined(bytes / segments),
});
