//! Patterns of `trib-lab compare`: the program of each, and its sizes by number of ranks.

use trib::Failure;

/// Sizes of a pattern as arguments of the C program, in the order of the program's sources.
pub type Sizes = Vec<u64>;

/// Access pattern that is measured.
pub struct PatternCase {
    /// Name of the pattern. The name of its read has `-read` added.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Name of the pattern in the C program.
    pub program: &'static str,
    /// True if reading the file back is measured too.
    pub reads: bool,
    /// True if list files describe the pattern fully: no file exists before, and no bytes are written twice.
    pub lists: bool,
    /// Hints that the program of this pattern sets itself, with every library.
    pub hints: &'static [&'static str],
    sizes: fn(&Room) -> Result<Sizes, Failure>,
}

/// Numbers from which the sizes of a pattern are computed.
pub struct Room {
    ranks: u64,
    scale: f64,
    crowded: bool,
}

impl Room {
    /// Returns `value` times the scale, at least 1.
    fn part(&self, value: u64) -> u64 {
        ((value as f64 * self.scale).round() as u64).max(1)
    }

    /// Returns the number of bytes or pieces of a rank, if all ranks together have `total` of them.
    fn each(&self, total: u64) -> u64 {
        self.part(total / self.ranks)
    }

    /// Returns the number of calls of a run: fewer if ranks share cores, because each call then takes much longer.
    fn calls(&self, alone: u64) -> Result<Sizes, Failure> {
        Ok(vec![self.part(if self.crowded { alone / 20 } else { alone })])
    }

    /// Returns the number of calls of a run for patterns whose 99th percentile is of interest: enough calls that one in
    /// a hundred is several.
    fn many_calls(&self) -> Result<Sizes, Failure> {
        Ok(vec![self.part(if self.crowded { 200 } else { 1000 })])
    }

    /// Returns the side of a cube of `dimensions` dimensions, the volume scaled, rounded up to a multiple of
    /// `multiple`.
    fn side(&self, side: u64, dimensions: i32, multiple: u64) -> u64 {
        let scaled = (side as f64 * self.scale.powf(1.0 / f64::from(dimensions))).round() as u64;
        scaled.max(1).div_ceil(multiple) * multiple
    }
}

impl PatternCase {
    /// Returns the pattern's sizes on `ranks` ranks of a machine with `cores`.
    ///
    /// # Errors
    /// The pattern does not support this number of ranks.
    pub fn sizes(&self, ranks: u64, scale: f64, cores: u64) -> Result<Sizes, Failure> {
        (self.sizes)(&Room { ranks, scale, crowded: ranks > cores })
    }

    /// Returns true if the pattern's program takes list files.
    pub fn is_listed(&self) -> bool {
        ["lists", "netcdf"].contains(&self.program)
    }

    /// Returns the name of the pattern's read.
    pub fn read_name(&self) -> String {
        format!("{}-read", self.name)
    }
}

const fn case(
    name: &'static str,
    program: &'static str,
    about: &'static str,
    sizes: fn(&Room) -> Result<Sizes, Failure>,
) -> PatternCase {
    PatternCase { name, about, program, reads: true, lists: true, hints: &[], sizes }
}

/// Returns a pattern that other libraries (`--peer`) do not run, because lists do not describe it fully.
const fn alone(
    name: &'static str,
    program: &'static str,
    about: &'static str,
    sizes: fn(&Room) -> Result<Sizes, Failure>,
) -> PatternCase {
    PatternCase { lists: false, ..case(name, program, about, sizes) }
}

/// Returns a pattern of E3SM-IO's program, with its hint.
const fn e3sm(name: &'static str, about: &'static str, sizes: fn(&Room) -> Result<Sizes, Failure>) -> PatternCase {
    PatternCase { hints: &["romio_cb_write=enable"], ..case(name, "netcdf", about, sizes) }
}

/// Returns a pattern of FLASH-IO's program, with its hints.
const fn flash(name: &'static str, about: &'static str, sizes: fn(&Room) -> Result<Sizes, Failure>) -> PatternCase {
    PatternCase { hints: &["romio_no_indep_rw=true", "romio_ds_write=disable"], ..case(name, "netcdf", about, sizes) }
}

/// Returns a pattern of calls without data.
const fn calls(name: &'static str, about: &'static str, sizes: fn(&Room) -> Result<Sizes, Failure>) -> PatternCase {
    PatternCase { reads: false, lists: false, ..case(name, name, about, sizes) }
}

/// All patterns, in the order in which they are listed.
pub const CASES: &[PatternCase] = &[
    e3sm("e3sm-f", "E3SM-IO, F case: a map's short runs in 414 variables, one call", |_| Ok(vec![0, 0, 1])),
    e3sm("e3sm-g", "E3SM-IO, G case: maps of the ocean, long runs, one call", |_| Ok(vec![0, 0, 1])),
    e3sm("e3sm-i", "E3SM-IO, I case: maps of the land with holes in 560 variables, one call", |_| Ok(vec![0, 0, 1])),
    PatternCase {
        lists: false,
        ..e3sm("e3sm-f-over", "the same as e3sm-f, over a file that is there", |_| Ok(vec![0, 1, 1]))
    },
    flash(
        "flash",
        "FLASH's checkpoint: 30 variables in one call, 80 to 82 blocks a rank; with open and close",
        |room| Ok(vec![1, 0, 0, room.part(80), 8]),
    ),
    PatternCase {
        lists: false,
        ..flash("flash-over", "the same as flash, over a file that is there", |room| {
            Ok(vec![1, 1, 0, room.part(80), 8])
        })
    },
    case(
        "btio",
        "btio",
        "NPB's BTIO, 64^3 points: cells on a diagonal, 5 steps of MPI-IO; with open and close",
        |room| Ok(vec![room.side(64, 3, square_root(room.ranks)?), 5]),
    ),
    case("btio-netcdf", "btio-netcdf", "the same through PnetCDF: a record and a view a step", |room| {
        Ok(vec![room.side(64, 3, square_root(room.ranks)?), 5])
    }),
    case(
        "s3d",
        "s3d",
        "S3D-IO's checkpoint, 100^3 points: 4 arrays in one call; its read is a restart; with open and close",
        |room| Ok(grid_of_points(room)),
    ),
    case("block4d", "block4d", "a lattice 16^4 of 576-byte sites, a 4-D block a rank", |room| Ok(lattice(room))),
    case("ior-segmented", "ior", "IOR -c: 64 MiB in one block a rank, 16 transfers", |room| {
        let transfer = room.each(4 << 20).next_multiple_of(8);
        Ok(vec![16 * transfer, transfer, 1])
    }),
    case("ior-strided", "ior", "IOR -c: segments of 8 KiB a rank, 512 pieces in all", |room| {
        Ok(vec![8 << 10, 8 << 10, room.each(512)])
    }),
    case("ior-strided-64k", "ior", "IOR -c: segments of 64 KiB a rank, 256 pieces in all", |room| {
        Ok(vec![64 << 10, 64 << 10, room.each(256)])
    }),
    case("contiguous", "contiguous", "64 MiB, one piece a rank, one call", |room| {
        Ok(vec![room.each(64 << 20).next_multiple_of(8)])
    }),
    case("memory", "memory", "262,144 pieces of 64 bytes with gaps in memory, one piece a rank in the file", |room| {
        Ok(vec![room.each(1 << 18), 64])
    }),
    case(
        "pieces",
        "pieces",
        "262,144 pieces of 64 bytes with gaps in memory, ranks taking turns in the file",
        |room| Ok(vec![room.each(1 << 18), 64]),
    ),
    case("append", "append", "20 time steps of 1 MiB, each behind the one before, in pieces of 64 bytes", |room| {
        Ok(vec![20, room.each(1 << 14), 64])
    }),
    alone(
        "overlap",
        "overlap",
        "20 non-blocking calls of 1 MiB in pieces of 64 bytes; ranks compute 1 or 2 ms meanwhile",
        |room| Ok(vec![20, room.each(1 << 14), 64, 1000]),
    ),
    alone("sparse-4", "sparse", "4 pieces of 12 bytes a rank, 4 MiB apart, in a file that is there", |room| {
        Ok(vec![4, 12, room.part(4 << 20).max(12 * room.ranks)])
    }),
    alone("sparse-100", "sparse", "100 pieces of 12 bytes a rank, 120 kB apart, in a file that is there", |room| {
        Ok(vec![room.part(100), 12, 120_000.max(12 * room.ranks)])
    }),
    alone("sparse-1000", "sparse", "1000 pieces of 12 bytes a rank, 12 kB apart, in a file that is there", |room| {
        Ok(vec![room.part(1000), 12, 12_000.max(12 * room.ranks)])
    }),
    alone("two-views", "two-views", "20 calls of 1 MiB, two views in turn: pieces of 64 bytes, and of 1 KiB", |room| {
        Ok(vec![20, room.each(1 << 14).next_multiple_of(16), 64])
    }),
    alone("tiny-same", "tiny-same", "8 bytes a rank, always at the same offsets", Room::many_calls),
    case("tiny-moving", "tiny-moving", "8 bytes a rank, each call after the one before in the file", Room::many_calls),
    PatternCase {
        lists: false,
        ..case("first-write", "first-write", "open, write 8 bytes a rank, close", |room| room.calls(60))
    },
    PatternCase {
        lists: false,
        ..case("first-move", "first-move", "the first write of 8 bytes a rank after opening", |room| room.calls(600))
    },
    calls("empty", "collective writes without a byte", |room| room.calls(1000)),
    calls("open-close", "open and close", |room| room.calls(60)),
    calls("set-view", "set a view: a vector, another one each time", |room| room.calls(200)),
    calls("view-write", "set a view, write 8 bytes a rank through it", |room| room.calls(200)),
    calls("sync", "MPI_File_sync of a file that nobody has written", |room| room.calls(200)),
    calls("sync-written", "write 8 bytes a rank, MPI_File_sync", |room| room.calls(60)),
];

/// Returns the number of ranks in a row of BTIO's square grid.
fn square_root(ranks: u64) -> Result<u64, Failure> {
    let root = ranks.isqrt();
    if root * root != ranks {
        return Err(Failure::new(format!("ranks: {ranks} with pattern btio; allowed: square numbers")));
    }
    Ok(root)
}

/// Returns the sites and ranks along each dimension of the lattice, and the bytes of a site.
fn lattice(room: &Room) -> Sizes {
    let side = room.side(16, 4, 1);
    let grid = cut(room.ranks, [1, 2, 0, 3]);
    [&grid.map(|ranks| side.next_multiple_of(ranks))[..], &grid[..], &[576]].concat()
}

/// Returns the points and ranks along each dimension: x first, as in the program's usual grids (4, 2 and 2 of 16
/// ranks).
fn grid_of_points(room: &Room) -> Sizes {
    let side = room.side(100, 3, 1);
    let grid = cut(room.ranks, [0, 1, 2]);
    [grid.map(|ranks| side.next_multiple_of(ranks)), grid].concat()
}

/// Returns the number of ranks along each dimension. A prime factor goes to the dimension with the fewest ranks, the
/// first in `order` among equals.
fn cut<const N: usize>(ranks: u64, order: [usize; N]) -> [u64; N] {
    let mut grid = [1; N];
    for factor in factors(ranks) {
        let least = order.into_iter().min_by_key(|&dimension| grid[dimension]);
        grid[least.unwrap_or(0)] *= factor;
    }
    grid
}

/// Returns the prime factors of a number, largest first.
fn factors(mut number: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let mut candidate = 2;
    while number > 1 {
        while number.is_multiple_of(candidate) {
            found.push(candidate);
            number /= candidate;
        }
        candidate = if candidate * candidate > number { number.max(2) } else { candidate + 1 };
    }
    found.reverse();
    found
}

/// Returns the names of all patterns, reads included.
pub fn names() -> Vec<String> {
    CASES
        .iter()
        .flat_map(|case| [Some(case.name.to_string()), case.reads.then(|| case.read_name())])
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use tributary_benchmarks::{S3d, S3dOptions};

    use super::*;

    fn sizes(name: &str, ranks: u64, scale: f64) -> Sizes {
        CASES.iter().find(|case| case.name == name).unwrap().sizes(ranks, scale, 2).unwrap()
    }

    #[test]
    fn factors_multiply_to_the_number() {
        for number in 1..200 {
            assert_eq!(factors(number).iter().product::<u64>(), number);
        }
        assert_eq!(factors(60), [5, 3, 2, 2]);
    }

    #[test]
    fn a_lattice_has_as_many_blocks_as_ranks_and_they_are_even() {
        for ranks in [1, 2, 3, 6, 16, 30, 64] {
            for scale in [1.0, 0.01] {
                let sizes = sizes("block4d", ranks, scale);
                assert_eq!(sizes[4..8].iter().product::<u64>(), ranks);
                assert!((0..4).all(|d| sizes[d].is_multiple_of(sizes[4 + d])), "{sizes:?}");
            }
        }
    }

    #[test]
    fn a_checkpoint_of_s3d_is_one_that_the_benchmark_has() {
        for ranks in [1, 2, 3, 6, 16, 64] {
            for scale in [1.0, 0.01] {
                let sizes = sizes("s3d", ranks, scale);
                let three = |at| [sizes[at], sizes[at + 1], sizes[at + 2]];
                let options = S3dOptions { points: Some(three(0)), grid: Some(three(3)), call_per_array: false };
                assert!(S3d::new(ranks as usize, options).is_ok(), "{sizes:?}");
            }
        }
    }

    #[test]
    fn sizes_follow_scale_and_ranks() {
        assert_eq!(sizes("btio", 4, 1.0), [64, 5]);
        assert!(sizes("btio", 9, 1.0)[0].is_multiple_of(3));
        assert_eq!(sizes("contiguous", 2, 1.0), [32 << 20]);
        assert_eq!(sizes("contiguous", 16, 0.5), [2 << 20]);
        assert_eq!((sizes("tiny-same", 2, 1.0), sizes("tiny-same", 4, 1.0)), (vec![1000], vec![200]));
    }

    #[test]
    fn btio_has_square_numbers_of_ranks_only() {
        let btio = CASES.iter().find(|case| case.name == "btio").unwrap();
        let said = btio.sizes(2, 1.0, 2).unwrap_err().to_string();
        assert_eq!(said, "ranks: 2 with pattern btio; allowed: square numbers");
    }

    #[test]
    fn names_are_unique() {
        let mut all = names();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), names().len());
    }
}
