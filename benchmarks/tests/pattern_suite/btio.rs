//! Tests BTIO: NPB's cells and buffers point by point, its numbers, and the paper's statements about fan-in.

use crate::common::every::{Met, accesses, check, meet};
use proptest::prelude::*;
use tributary::access::BufferLayout;
use tributary_benchmarks::{Btio, BtioClass, BtioOptions, Division, Pattern};

const SQUARES: [usize; 4] = [1, 4, 9, 16];

fn btio(ranks: usize, grid: u64, iterations: usize) -> Btio {
    Btio::new(ranks, BtioOptions { grid, iterations }).unwrap()
}

/// Returns the first point and the number of points of part `part` (from 0), as `make_set` computes them, whose
/// coordinates begin with 1.
fn part(grid: u64, parts: u64, part: u64) -> (u64, u64) {
    let (size, excess, coordinate) = (grid / parts, grid % parts, part + 1);
    match coordinate <= excess {
        true => ((coordinate - 1) * (size + 1), size + 1),
        false => (excess * (size + 1) + (coordinate - excess - 1) * size, size),
    }
}

/// Checks the position of every point of a rank in the file, and in `u(5, -2:IMAX+1, -2:JMAX+1, -2:KMAX+1, ncells)`.
fn check_points(ranks: usize, grid: u64) {
    let pattern = btio(ranks, grid, 2);
    let parts = (ranks as f64).sqrt() as u64;
    let side = grid / parts + 1 + 4;
    let begin = {
        let case = pattern.netcdf().unwrap();
        let layout = case.schema().layout(case.alignment()).unwrap();
        layout.begin(case.schema().variable_id("var").unwrap())
    };
    for rank in 0..ranks as u64 {
        let (mut file, mut memory) = (Vec::new(), Vec::new());
        let (mut x, mut y) = (rank % parts, rank / parts);
        for cell in 0..parts {
            let [(x0, nx), (y0, ny), (z0, nz)] = [x, y, cell].map(|at| part(grid, parts, at));
            for z in 0..nz {
                for y in 0..ny {
                    for x in 0..nx {
                        let point = ((grid + z0 + z) * grid + y0 + y) * grid + x0 + x;
                        file.push(begin + 40 * point);
                        memory.push(40 * (((cell * side + z + 2) * side + y + 2) * side + x + 2));
                    }
                }
            }
            x = (x + 1) % parts;
            y = (y + parts - 1) % parts;
        }
        let access = pattern.rank_access(rank as usize, 1).unwrap();
        let points = |extents: &tributary::Extents| {
            extents.iter().flat_map(|e| (e.offset..e.end()).step_by(40)).collect::<Vec<_>>()
        };
        assert_eq!(points(&access.file), file, "rank {rank} of {ranks}, grid {grid}");
        let BufferLayout::Extents(layout) = &access.layout else { panic!("ghost points are gaps") };
        assert_eq!(points(layout), memory, "rank {rank} of {ranks}, grid {grid}");
    }
}

#[test]
fn points() {
    for (ranks, grid) in [(1, 5), (4, 6), (4, 7), (9, 10), (9, 11), (16, 12)] {
        check_points(ranks, grid);
    }
}

#[test]
fn every_square() {
    for ranks in SQUARES {
        for grid in [12, 13, 15] {
            check(&btio(ranks, grid, 2));
        }
    }
}

/// `ncdump -h` of the benchmark's README.
#[test]
fn definitions() {
    let pattern = btio(4, 512, 40);
    let schema = pattern.netcdf().unwrap().schema();
    let dimensions: Vec<_> = schema.dimensions().iter().map(|d| (d.name.as_str(), d.length)).collect();
    assert_eq!(dimensions[..4], [("FIVE_DBL", 5), ("X", 512), ("Y", 512), ("Z", 512)]);
    assert_eq!(schema.unlimited().map(|id| dimensions[id.0].0), Some("NUM_DUMPS"));
    let [variable] = schema.variables() else { panic!("one variable") };
    let names: Vec<_> = variable.dimensions.iter().map(|id| dimensions[id.0].0).collect();
    assert_eq!((variable.name.as_str(), names), ("var", vec!["NUM_DUMPS", "Z", "Y", "X", "FIVE_DBL"]));
}

/// Sizes of the classes, and the bytes that NPB reports of its full runs (a write every 5 of its steps).
#[test]
fn classes() {
    let table = [('S', 12, 60, 0.83), ('W', 24, 200, 22.12), ('A', 64, 200, 419.43), ('B', 102, 200, 1697.93)];
    let table = table.into_iter().chain([('C', 162, 200, 6802.44), ('D', 408, 250, 135_834.62)]);
    for (letter, grid, steps, megabytes) in table {
        let class: BtioClass = letter.to_string().parse().unwrap();
        assert_eq!(class.grid(), grid);
        assert_eq!(letter.to_ascii_lowercase().to_string().parse::<BtioClass>().unwrap(), class);
        let pattern = btio(16, grid, steps / 5);
        assert_eq!(format!("{:.2}", pattern.totals().bytes as f64 / 1e6), format!("{megabytes:.2}"), "class {letter}");
        assert!(pattern.describe().contains(&format!("(class {letter})")), "{}", pattern.describe());
    }
    assert_eq!("E".parse::<BtioClass>().unwrap_err().to_string(), "class: E; allowed: S, W, A, B, C, D");
    assert_eq!(BtioOptions::default(), BtioOptions { grid: 64, iterations: 5 });
}

/// Checks the number of requests, iterations * sqrt(p) * N^2, for the run of the benchmark's README on 16,384 ranks,
/// and for one write of the paper's. (The paper's Table I has 1024^2 p; but each of the N^2 rows is cut into sqrt(p)
/// pieces, not p.)
#[test]
fn requests_and_bytes() {
    let readme = btio(16_384, 512, 40).totals();
    assert_eq!(readme.requests, 40 * 128 * 512 * 512);
    assert_eq!(readme.bytes, 200 << 30);
    let paper = btio(4096, 1024, 1);
    assert_eq!(paper.totals().bytes, 40 << 30);
    assert_eq!(paper.totals().requests, 64 * 1024 * 1024);
    assert_eq!(paper.rank_access(77, 0).unwrap().requests, 64 * 16 * 16);
}

/// The paper: on Lustre with stripes of 1 MiB an aggregator gets data from about sqrt(p) ranks a round, and metadata
/// from all. Its 1024^3 points on 4,096 ranks have rows of 40 KiB, and every 16 rows the next sqrt(p) = 64 ranks: a
/// stripe of 25.6 rows lies in two or three such bands, so it is at most 3 * 64, and of whole bands never less than 64.
#[test]
fn senders_on_lustre() {
    let cori = Division::Stripes { stripe: 1 << 20, aggregators: 64 };
    let form = btio(4096, 1024, 1).closed_form(cori);
    assert_eq!((form.metadata_fan_in, form.data_fan_in), (Some(4096), Some(3 * 64)));
    // The same proportions in small, walked: rows of 2,560 bytes, bands of 16, stripes of 25.6.
    let small = btio(16, 64, 1);
    let division = Division::Stripes { stripe: 1 << 16, aggregators: 3 };
    let form = small.closed_form(division);
    assert_eq!((form.metadata_fan_in, form.data_fan_in), (Some(16), Some(3 * 4)));
    let Met { metadata, data } = meet(&accesses(&small), division, 1);
    assert_eq!(metadata, 16);
    assert!((4..=12).contains(&data), "{data}");
}

#[test]
fn refusals() {
    let refused = |ranks, grid, iterations| Btio::new(ranks, BtioOptions { grid, iterations }).unwrap_err().to_string();
    assert_eq!(refused(8, 64, 5), "ranks: 8; allowed: square numbers, as 4 or 9");
    assert_eq!(refused(0, 64, 5), "ranks: 0; allowed: square numbers, as 1 or 4");
    assert!(refused(usize::MAX, 64, 5).starts_with("ranks: 18446744073709551615; allowed: square numbers"));
    assert_eq!(refused(16, 11, 5), "grid: 11; allowed: 12 or more on 16 ranks: cells of 3 points or more");
    assert!(refused(16, 0, 5).starts_with("grid: 0;"));
    assert!(refused(16, 64, 0).starts_with("iterations: 0;"));
    assert!(refused(16, 1 << 20, 5).contains("below 2^63 bytes"));
    assert!(refused(16, u64::MAX, 1).contains("below 2^63 bytes"));
    assert!(refused(16, 64, usize::MAX).contains("below 2^63 bytes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_parameters(parts in 1usize..5, more in 0u64..8, iterations in 1usize..4) {
        let grid = 3 * parts as u64 + more;
        check(&btio(parts * parts, grid, iterations));
        check_points(parts * parts, grid);
    }
}
