//! Whether the pieces of several ranks tile a range, without looking at any two of them together.
//!
//! Every piece `[start, end)` adds `h(end) - h(start)`, h a keyed 64-bit hash. Where pieces adjoin, the terms cancel: if
//! pieces tile `[a, b)`, the sum is `h(b) - h(a)`. And only then, but for chance: if the sum is that, then (but for a
//! coincidence of 64 bits) starts and `b` are the same collection of offsets as ends and `a`. From `a` on, each piece then
//! ends where another starts, or at `b`. As pieces go forward there are no circles, so all pieces lie on that one way: none
//! overlap, nothing is missing. For a random function the chance of an error is 2^-64 a window. In its place stands a mixer in
//! which every bit of the offset changes half of the result (that of SplitMix64), with a random key, so that no pattern meets
//! a coincidence on purpose or every time.
//!
//! A piece costs two multiplications, an atomic addition is needed once a window, and sums of ranks add up in any order.

use std::hash::{BuildHasher, RandomState};

/// The hash, by its key; equal on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    key: u64,
}

impl Tiling {
    /// A key that nobody can guess.
    pub fn random() -> Self {
        Self { key: RandomState::new().hash_one(0u8) }
    }

    /// One with the key of another rank.
    pub fn of(key: u64) -> Self {
        Self { key }
    }

    /// What other ranks make the same of.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// What a piece adds.
    #[inline]
    pub fn piece(&self, start: u64, end: u64) -> u64 {
        self.hash(end).wrapping_sub(self.hash(start))
    }

    #[inline]
    fn hash(&self, offset: u64) -> u64 {
        let mixed = offset ^ self.key;
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tiles_and_only_tiles(
            cuts in prop::collection::btree_set(1u64..1000, 0..30), key: u64, dropped in 0usize..30, moved in 0usize..30
        ) {
            let tiling = Tiling::of(key);
            let ends: Vec<u64> = [0].into_iter().chain(cuts).chain([1000]).collect();
            let mut pieces: Vec<(u64, u64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let sum = |pieces: &[(u64, u64)]| pieces.iter().fold(0u64, |sum, &(a, b)| sum.wrapping_add(tiling.piece(a, b)));
            prop_assert_eq!(sum(&pieces), tiling.piece(0, 1000));
            // A hole, and one hidden by an overlap of the same size.
            let hole = pieces[dropped % pieces.len()];
            let twice = pieces[moved % pieces.len()];
            pieces.retain(|piece| *piece != hole);
            prop_assert_ne!(sum(&pieces), tiling.piece(0, 1000));
            if twice != hole {
                pieces.push(twice);
                prop_assert_ne!(sum(&pieces), tiling.piece(0, 1000));
            }
        }
    }
}
