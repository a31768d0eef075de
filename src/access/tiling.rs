//! A hash that shows whether the pieces of several ranks tile a range, without comparing pieces.
//!
//! Every piece `[start, end)` adds `h(end) - h(start)`, where h is a keyed 64-bit hash. Between adjacent pieces, the
//! terms cancel: if pieces tile `[a, b)`, the sum is `h(b) - h(a)`. The converse holds except for a coincidence of 64
//! bits: if the sum is `h(b) - h(a)`, the starts and `b` are the same multiset of offsets as the ends and `a`. So from
//! `a` on, each piece ends where another starts, or at `b`. Pieces are not empty, so there are no cycles and all pieces
//! lie on this one path: none overlap, and no byte is missing. For a random function, the probability of an error is
//! 2^-64 per window. The function here is the mixer of SplitMix64, in which every bit of the offset changes half of the
//! result. Its key is random, so no access pattern can cause a coincidence on purpose, or in every run. A piece costs two
//! multiplications; a window costs one atomic addition. The sums of ranks add up in any order.

use std::hash::{BuildHasher, RandomState};

use tributary_base::mixed;

use super::Extent;

/// The key of the hash, equal on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    key: u64,
}

impl Tiling {
    /// Returns a hash with a random key.
    pub fn random() -> Self {
        Self { key: RandomState::new().hash_one(0u8) }
    }

    /// Returns the hash with the given key, for example of another rank.
    pub fn from_key(key: u64) -> Self {
        Self { key }
    }

    /// Returns the key, for other ranks.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Returns the number that the piece from `start` to `end` adds to the sum.
    #[inline]
    pub fn piece(&self, start: u64, end: u64) -> u64 {
        self.hash(end).wrapping_sub(self.hash(start))
    }

    /// Returns the sum of the numbers of `pieces`.
    #[inline]
    pub fn sum(&self, pieces: impl Iterator<Item = Extent>) -> u64 {
        pieces.fold(0, |sum, piece| sum.wrapping_add(self.piece(piece.offset, piece.end())))
    }

    #[inline]
    fn hash(&self, offset: u64) -> u64 {
        mixed(offset ^ self.key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tiles_and_only_tiles(
            cuts in prop::collection::btree_set(1u64..1000, 0..30), key: u64, dropped in 0usize..30, moved in 0usize..30
        ) {
            let tiling = Tiling::from_key(key);
            let ends: Vec<u64> = [0].into_iter().chain(cuts).chain([1000]).collect();
            let mut pieces: Vec<(u64, u64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let sum = |pieces: &[(u64, u64)]| {
                tiling.sum(pieces.iter().map(|&(start, end)| Extent { offset: start, len: end - start }))
            };
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
