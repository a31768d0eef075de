//! The problems of section 5: six distributions of block sizes around an average block b.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::Deserialize;

/// rho: height of a spike, in average blocks. Section 5 takes 5.
const SPIKE: u64 = 5;

/// Distribution of block sizes, by the name in the tables. b is the average size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Blocks {
    /// All blocks have size b.
    Same,
    /// Sizes are uniformly random, 1 to 2 b.
    Random,
    /// A block has size rho b with probability 1 / rho, else 1.
    Spikes,
    /// Block i has size floor(2 b (p - i) / p) + 1.
    Decreasing,
    /// Sizes alternate: b + floor(b / 2), then b - floor(b / 2).
    Alternating,
    /// The first and the last rank have size b, the others 0.
    #[serde(rename = "two-blocks")]
    Ends,
}

impl Blocks {
    /// Returns the size of the block of every one of `ranks` ranks, in units; the average is `average`. Random sizes
    /// are our own draw, the same for equal numbers of ranks. O(ranks).
    pub(super) fn units(self, ranks: usize, average: u64) -> Vec<u64> {
        let (p, b) = (ranks as u64, average);
        let mut random = SmallRng::seed_from_u64(p);
        let unit = |rank: u64| match self {
            Self::Same => b,
            Self::Random => random.random_range(1..=2 * b),
            Self::Spikes if random.random_range(0..SPIKE) == 0 => SPIKE * b,
            Self::Spikes => 1,
            Self::Decreasing => 2 * b * (p - rank) / p + 1,
            Self::Alternating if rank.is_multiple_of(2) => b + b / 2,
            Self::Alternating => b - b / 2,
            Self::Ends => b * u64::from(rank == 0 || rank + 1 == p),
        };
        (0..p).map(unit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the sums of all blocks with m of table 1, for b = 10 and 100; random sums are allowed 20 % off the
    /// expected value.
    #[test]
    fn sums_are_those_of_the_tables() {
        let sum = |blocks: Blocks, b| blocks.units(560, b).iter().sum::<u64>();
        assert_eq!((sum(Blocks::Same, 10), sum(Blocks::Alternating, 10)), (5600, 5600));
        assert_eq!((sum(Blocks::Decreasing, 10), sum(Blocks::Decreasing, 100)), (5900, 56_400));
        assert_eq!(sum(Blocks::Ends, 100), 200);
        for blocks in [Blocks::Random, Blocks::Spikes] {
            let sum = sum(blocks, 100) as f64;
            assert!((0.8..1.2).contains(&(sum / 56_000.0)), "{blocks:?}: {sum}");
        }
    }

    #[test]
    fn largest_blocks_are_those_of_the_tables() {
        let largest = |blocks: Blocks| blocks.units(560, 10).into_iter().max();
        assert_eq!(largest(Blocks::Spikes), Some(50));
        assert_eq!(largest(Blocks::Decreasing), Some(21));
        assert_eq!(largest(Blocks::Alternating), Some(15));
    }
}
