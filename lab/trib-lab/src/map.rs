//! `trib-lab map`: generates a decomposition map.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use tributary_benchmarks::GeneratorOptions;
use tributary_benchmarks::e3sm::generator::Generator;
use tributary_benchmarks::e3sm::map_file::write_map;

use crate::cli::map::MapOptions;
use trib::{Failure, limits, say};

/// Number of bytes of a column in a map: an offset on each of its levels, and in the decompositions without levels.
const COLUMN: u64 = 4 * 75;

/// Writes the map.
pub fn run(options: &MapOptions) -> Result<(), Failure> {
    let MapOptions { ranks, columns_per_rank, groups, seed, output } = options;
    let columns = (*ranks as u64).saturating_mul(u64::from(*columns_per_rank));
    limits::at_most("columns of all ranks", columns, i32::MAX as u64)?;
    let directory = output.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    limits::in_directory(&format!("a map of {columns} columns"), columns.saturating_mul(COLUMN), directory)?;
    let generator = Generator::new(
        *ranks,
        GeneratorOptions { columns_per_rank: *columns_per_rank as _, groups: *groups as _, seed: *seed },
    )?;
    let fail = |cause: std::io::Error| Failure::new(format!("{}: {cause}", output.display()));
    let file = File::create(output).map_err(fail)?;
    write_map(&generator, &mut BufWriter::new(file))?;
    say(format!("{}: {ranks} ranks, {columns_per_rank} columns each in {groups} groups", output.display()))
}
