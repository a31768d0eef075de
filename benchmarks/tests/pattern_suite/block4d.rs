//! Tests the 4-D lattice: every site belongs to the rank that the definition says, for sizes that divide and sizes
//! that do not.

use crate::common::every::{RANKS, assert_met, check};
use proptest::prelude::*;
use tributary_benchmarks::{Block4d, Block4dOptions, Division, Pattern};

/// Returns the part of a dimension that owns element `at`; the first parts are longer.
fn owner(size: u64, parts: u64, at: u64) -> u64 {
    let mut next = 0;
    for part in 0..parts {
        next += size / parts + u64::from(part < size % parts);
        if at < next {
            return part;
        }
    }
    panic!("{at} of {size}");
}

/// Checks the owner of every site, in file order.
fn check_owners(options: Block4dOptions, grid: [u64; 4]) {
    let [x, y, z, t] = options.lattice;
    let pattern = Block4d::new(grid.iter().product::<u64>() as usize, options).unwrap();
    let mut bytes = vec![Vec::new(); pattern.ranks()];
    let mut site = 0;
    for it in 0..t {
        for iz in 0..z {
            for iy in 0..y {
                for ix in 0..x {
                    let at =
                        [owner(x, grid[0], ix), owner(y, grid[1], iy), owner(z, grid[2], iz), owner(t, grid[3], it)];
                    let rank = at[0] + grid[0] * (at[1] + grid[1] * (at[2] + grid[2] * at[3]));
                    bytes[rank as usize].extend(site * options.site..(site + 1) * options.site);
                    site += 1;
                }
            }
        }
    }
    for (rank, expected) in bytes.iter().enumerate() {
        let file = pattern.rank_access(rank, 0).unwrap().file;
        assert!(file.iter().flat_map(|e| e.offset..e.end()).eq(expected.iter().copied()), "rank {rank} of {options:?}");
        assert!(file.memory() < 600, "{} bytes for a subarray", file.memory());
    }
}

#[test]
fn owners() {
    check_owners(Block4dOptions { lattice: [4, 4, 4, 8], grid: None, site: 24 }, [1, 2, 2, 4]);
    check_owners(Block4dOptions { lattice: [5, 3, 7, 2], grid: Some([2, 3, 2, 1]), site: 3 }, [2, 3, 2, 1]);
    check_owners(Block4dOptions { lattice: [6, 6, 6, 6], grid: Some([1, 1, 1, 6]), site: 8 }, [1, 1, 1, 6]);
    check_owners(Block4dOptions { lattice: [2, 2, 2, 2], grid: Some([3, 1, 1, 1]), site: 8 }, [3, 1, 1, 1]);
}

#[test]
fn every_world_size() {
    for ranks in RANKS {
        check(&Block4d::new(ranks, Block4dOptions { lattice: [4, 6, 5, 8], grid: None, site: 24 }).unwrap());
        check(&Block4d::new(ranks, Block4dOptions { lattice: [7, 3, 3, 2], grid: None, site: 5 }).unwrap());
    }
}

/// Tests the scale of MPICH's issue: 1,024 ranks with rows of a few KB, without any list of rows.
#[test]
fn as_large_as_the_issue() {
    let options = Block4dOptions { lattice: [64, 64, 64, 128], grid: Some([4, 4, 8, 8]), site: 192 };
    let pattern = Block4d::new(1024, options).unwrap();
    let access = pattern.rank_access(777, 0).unwrap();
    assert_eq!((access.file.count(), access.requests), (16 * 8 * 16, 16 * 8 * 16));
    assert_eq!(access.file.iter().next().unwrap().len, 16 * 192);
    assert_eq!(pattern.totals().requests, 4 * 64 * 64 * 128);
    assert_eq!(pattern.totals().bytes, 64 * 64 * 64 * 128 * 192);
    // A row of x belongs to 4 ranks, a plane of x and y to 16; a stripe of 1 MiB is 1.33 planes, and never lies over two
    // blocks of 8 planes, which 6 stripes are. Of any other 1 MiB, 85.33 rows, no more than 7 blocks of 16 rows are met.
    let form = pattern.closed_form(Division::Stripes { stripe: 1 << 20, aggregators: 64 });
    assert_eq!((form.metadata_fan_in, form.data_fan_in), (Some(1024), Some(16)));
    let form = pattern.closed_form(Division::Ranges { window: 1 << 20, aggregators: 64 });
    assert_eq!(form.data_fan_in, Some(7 * 4));
}

#[test]
fn closed_forms_are_reached() {
    // Rows of 8 sites, 64 bytes, in 2 blocks; planes of 8 rows in 2 x 2.
    let options = Block4dOptions { lattice: [8, 8, 8, 8], grid: Some([2, 2, 2, 2]), site: 8 };
    let pattern = Block4d::new(16, options).unwrap();
    for (stripe, data) in [(32, 1), (64, 2), (256, 2), (512, 4), (2048, 4), (4096, 8), (16384, 8), (32768, 16)] {
        let met = assert_met(&pattern, Division::Stripes { stripe, aggregators: 1 }, 1);
        assert_eq!((met.data, met.metadata), (data, 16), "stripes of {stripe}");
    }
}

#[test]
fn refusals() {
    let refused = |ranks, options: Block4dOptions| Block4d::new(ranks, options).unwrap_err().to_string();
    let good = Block4dOptions::default();
    assert!(refused(0, good).starts_with("ranks: 0;"));
    let message = refused(4, Block4dOptions { grid: Some([2, 2, 2, 1]), ..good });
    assert_eq!(message, "process grid: 2x2x2x1; allowed: a product of 4, the number of ranks");
    assert!(refused(1, Block4dOptions { grid: Some([u64::MAX, 2, 2, 1]), ..good }).starts_with("process grid"));
    assert!(refused(2, Block4dOptions { lattice: [4, 0, 4, 4], ..good }).contains("4x0x4x4"));
    assert!(refused(2, Block4dOptions { site: 0, ..good }).starts_with("lattice"));
    assert!(refused(2, Block4dOptions { lattice: [1 << 16; 4], ..good }).contains("below 2^63 bytes"));
    assert!(refused(2, Block4dOptions { lattice: [1 << 14; 4], ..good }).contains("below 2^63 bytes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_parameters(
        lattice in prop::array::uniform4(1u64..8), grid in prop::array::uniform4(1u64..4), site in 1u64..20, given: bool
    ) {
        let ranks = grid.iter().product::<u64>() as usize;
        let options = Block4dOptions { lattice, grid: given.then_some(grid), site };
        check(&Block4d::new(ranks, options).unwrap());
        check_owners(Block4dOptions { lattice, grid: Some(grid), site }, grid);
    }
}
