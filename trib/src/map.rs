//! `trib map`: a generated decomposition map.

use std::fs::File;
use std::io::BufWriter;

use tributary_benchmarks::GeneratorOptions;
use tributary_benchmarks::e3sm::generator::Generator;
use tributary_benchmarks::e3sm::map_file::write_map;

use crate::cli::MapOptions;
use crate::{Failure, say};

/// Writes the map.
pub fn run(options: &MapOptions) -> Result<(), Failure> {
    let MapOptions { ranks, columns_per_rank, groups, seed, output } = options;
    let generator = Generator::new(
        *ranks,
        GeneratorOptions { columns_per_rank: *columns_per_rank as _, groups: *groups as _, seed: *seed },
    )?;
    let fail = |cause: std::io::Error| Failure::new(format!("{}: {cause}", output.display()));
    let file = File::create(output).map_err(fail)?;
    write_map(&generator, &mut BufWriter::new(file))?;
    say(format!("{}: {ranks} ranks, {columns_per_rank} columns each in {groups} groups", output.display()))
}
