//! Makes the six distributions of block sizes (irregular gather and scatter, section 5).

use rand::{RngExt, SeedableRng, rngs::SmallRng};

/// Average number of ranks for each large block.
const SPIKES: u64 = 5;

/// Block sizes of all ranks.
pub struct Problem {
    /// Name of the distribution.
    pub name: &'static str,
    /// Block size b of the distribution in bytes.
    pub block: u64,
    /// Block size of each rank in bytes.
    pub sizes: Vec<u64>,
}

impl Problem {
    /// Returns m, the number of bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// Returns the number of bytes of the largest block, to which padding extends all.
    pub fn largest(&self) -> u64 {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// Returns m', the number of bytes of all blocks, each padded to the largest.
    pub fn padded(&self) -> u64 {
        self.largest() * self.sizes.len() as u64
    }

    /// Returns true if all blocks are equal by definition, so that guideline (1) applies.
    pub fn is_regular(&self) -> bool {
        self.name == "same"
    }
}

/// Returns every distribution with every block size. Random distributions are the same in every run with the same
/// number of ranks.
pub fn problems(ranks: usize, blocks: &[u64]) -> Vec<Problem> {
    blocks.iter().flat_map(|&block| of_block(ranks, block)).collect()
}

fn of_block(ranks: usize, b: u64) -> [Problem; 6] {
    let mut random = SmallRng::seed_from_u64(ranks as u64);
    let p = ranks as u64;
    let make = |name, of: &mut dyn FnMut(u64) -> u64| Problem { name, block: b, sizes: (0..p).map(of).collect() };
    [
        make("same", &mut |_| b),
        make("random", &mut |_| random.random_range(1..=2 * b)),
        make("spikes", &mut |rank| if (rank * 7919 + 2).is_multiple_of(SPIKES) { SPIKES * b } else { 1 }),
        make("decreasing", &mut |rank| 2 * b * (p - rank) / p + 1),
        make("alternating", &mut |rank| if rank.is_multiple_of(2) { b + b / 2 } else { b - b / 2 }),
        make("two blocks", &mut |rank| if rank == 0 || rank + 1 == p { b } else { 0 }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_what_their_names_say() {
        let all = problems(10, &[100]);
        let names: Vec<_> = all.iter().map(|problem| problem.name).collect();
        assert_eq!(names, ["same", "random", "spikes", "decreasing", "alternating", "two blocks"]);
        assert_eq!((all[0].bytes(), all[0].padded(), all[0].is_regular()), (1000, 1000, true));
        assert!(all[1].sizes.iter().all(|&size| (1..=200).contains(&size)));
        assert_eq!((all[2].bytes(), all[2].largest()), (2 * 500 + 8, 500));
        assert!(all[3].sizes.is_sorted_by(|a, b| a >= b) && all[3].sizes[0] == 201);
        assert_eq!(all[4].sizes[..2], [150, 50]);
        assert_eq!(all[5].sizes, [100, 0, 0, 0, 0, 0, 0, 0, 0, 100]);
        assert_eq!(problems(3, &[1, 5]).len(), 12);
    }
}
