//! Tests S3D-IO: its arrays, its calls, and the owner of every point as in the benchmark.

use crate::common::every::{RANKS, assert_met, check};
use proptest::prelude::*;
use tributary_benchmarks::{Division, Pattern, S3d, S3dOptions};

/// Checks the rank of every point by `initialize_topology`, in all 16 volumes.
fn check_owners(points: [u64; 3], grid: [u64; 3]) {
    let options = S3dOptions { points: Some(points), grid: Some(grid), ..S3dOptions::default() };
    let pattern = S3d::new(grid.iter().product::<u64>() as usize, options).unwrap();
    let mut bytes = vec![Vec::new(); pattern.ranks()];
    for number in 0..16 * points.iter().product::<u64>() {
        let at = [number % points[0], number / points[0] % points[1], number / points[0] / points[1] % points[2]];
        let [px, py, pz] = [0, 1, 2].map(|d| at[d] / (points[d] / grid[d]));
        bytes[(pz * grid[0] * grid[1] + py * grid[0] + px) as usize].extend(8 * number..8 * number + 8);
    }
    for (rank, expected) in bytes.iter().enumerate() {
        let file = pattern.rank_access(rank, 0).unwrap().file;
        assert!(file.iter().flat_map(|e| e.offset..e.end()).eq(expected.iter().copied()), "rank {rank} of {points:?}");
    }
}

#[test]
fn owners() {
    check_owners([10, 10, 10], [2, 2, 1]); // the test run of the benchmark's README
    check_owners([4, 6, 9], [2, 3, 3]);
    check_owners([6, 2, 2], [1, 1, 1]);
}

#[test]
fn every_world_size() {
    for ranks in RANKS {
        for call_per_array in [false, true] {
            let points = Some([2 * ranks as u64, 4, 4]);
            check(&S3d::new(ranks, S3dOptions { points, grid: None, call_per_array }).unwrap());
        }
    }
}

/// The README's large run: 800^3 on 4,096 ranks writes 305.18 GiB in 5 checkpoints.
#[test]
fn the_published_run() {
    let options = S3dOptions { points: Some([800; 3]), grid: Some([16; 3]), ..S3dOptions::default() };
    let pattern = S3d::new(4096, options).unwrap();
    let gib = 5.0 * pattern.totals().bytes as f64 / f64::from(1 << 30);
    assert_eq!(format!("{gib:.2}"), "305.18");
    assert_eq!(pattern.totals().requests, 16 * 16 * 800 * 800);
    assert_eq!(pattern.rank_access(5, 0).unwrap().file.count(), 16 * 50 * 50);
    assert_eq!(
        S3d::new(4096, S3dOptions::default()).unwrap().totals(),
        pattern.totals(),
        "50 points a rank by default"
    );
}

#[test]
fn a_call_per_array() {
    let options = S3dOptions { points: Some([4; 3]), grid: Some([2; 3]), call_per_array: true };
    let pattern = S3d::new(8, options).unwrap();
    let calls: Vec<_> = (0..4).map(|step| pattern.rank_access(0, step).unwrap()).collect();
    assert_eq!(calls.iter().map(|c| c.file.bytes()).collect::<Vec<_>>(), [11 * 64, 3 * 64, 64, 64]);
    assert_eq!(calls.iter().map(|c| c.file.span().unwrap().0).collect::<Vec<_>>(), [0, 11 * 512, 14 * 512, 15 * 512]);
}

#[test]
fn closed_forms_are_reached() {
    let options = S3dOptions { points: Some([8; 3]), grid: Some([2; 3]), ..S3dOptions::default() };
    let pattern = S3d::new(8, options).unwrap();
    for (stripe, data) in [(32, 1), (64, 2), (256, 2), (512, 4), (2048, 4), (4096, 8)] {
        let met = assert_met(&pattern, Division::Stripes { stripe, aggregators: 1 }, 1);
        assert_eq!((met.data, met.metadata), (data, 8), "stripes of {stripe}");
    }
}

#[test]
fn refusals() {
    let refused = |ranks, options: S3dOptions| S3d::new(ranks, options).unwrap_err().to_string();
    let good = S3dOptions::default();
    assert!(refused(0, good).starts_with("ranks: 0;"));
    assert!(refused(4, S3dOptions { grid: Some([2, 2, 2]), ..good }).starts_with("process grid: 2x2x2"));
    let message = refused(4, S3dOptions { points: Some([10, 9, 10]), grid: Some([2, 2, 1]), ..good });
    assert_eq!(message, "points: 10x9x10; allowed: numbers that the process grid 2x2x1 divides");
    assert!(refused(7, S3dOptions { points: Some([10, 9, 10]), ..good }).contains("10x9x10"));
    assert!(refused(1, S3dOptions { points: Some([0, 9, 10]), ..good }).starts_with("points"));
    assert!(refused(1, S3dOptions { points: Some([1 << 20; 3]), ..good }).contains("below 2^63 bytes"));
    assert!(refused(1, S3dOptions { points: Some([u64::MAX; 3]), ..good }).contains("below 2^63 bytes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_parameters(
        per_rank in prop::array::uniform3(1u64..4), grid in prop::array::uniform3(1u64..4), call_per_array: bool
    ) {
        let points = [0, 1, 2].map(|d| per_rank[d] * grid[d]);
        let ranks = grid.iter().product::<u64>() as usize;
        check(&S3d::new(ranks, S3dOptions { points: Some(points), grid: Some(grid), call_per_array }).unwrap());
        check_owners(points, grid);
    }
}
