//! Writes a generated decomposition map that this crate and the E3SM-IO benchmark read:
//! `cargo run -p tributary-benchmarks --example write_map -- RANKS COLUMNS_PER_RANK GROUPS SEED FILE`.
//! The shipped map is `16 20 5 0 benchmarks/data/small_map_16p.nc`.

use std::error::Error;
use std::io::BufWriter;

use tributary_benchmarks::GeneratorOptions;
use tributary_benchmarks::e3sm::{Generator, map_file};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, columns_per_rank, groups, seed, path] = &arguments[..] else {
        return Err("usage: write_map RANKS COLUMNS_PER_RANK GROUPS SEED FILE".into());
    };
    let options =
        GeneratorOptions { columns_per_rank: columns_per_rank.parse()?, groups: groups.parse()?, seed: seed.parse()? };
    let map = Generator::new(ranks.parse()?, options)?;
    map_file::write_map(&map, &mut BufWriter::new(std::fs::File::create(path)?))?;
    Ok(())
}
