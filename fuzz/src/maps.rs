//! Target: E3SM's decomposition maps, which are NetCDF files.

use std::sync::Arc;

use tributary_benchmarks::e3sm::{DecompositionMap, Decompositions, Generator, map_file};
use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions, Pattern};

use crate::one_line;

/// Maximum number of ranks whose accesses are computed.
const ASKED: usize = 32;

pub fn check(bytes: &[u8]) {
    let Some(map) = one_line(DecompositionMap::from_bytes("map", bytes.to_vec())) else { return };
    let map: Arc<dyn Decompositions> = Arc::new(map);
    // Written and read again, it is the same.
    if let Some(written) = one_line(map_file::to_map(&*map)) {
        let again = DecompositionMap::from_bytes("again", written.clone()).expect("what was written");
        assert!(map_file::to_map(&again).expect("as before") == written, "another map");
    }
    let Some(case) = one_line(E3smF::new(map, ElementType::Double)) else { return };
    let file_size = case.totals().file_size;
    for rank in 0..case.ranks().min(ASKED) {
        let Some(access) = one_line(case.rank_access(rank, 0)) else { continue };
        assert!(access.file.span().is_none_or(|(_, end)| end <= file_size), "rank {rank} writes behind the file");
        assert_eq!(access.file.iter().map(|extent| extent.len).sum::<u64>(), access.file.bytes());
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let options = GeneratorOptions { columns_per_rank: 3, groups: 2, seed: 3 };
    vec![map_file::to_map(&Generator::new(3, options).expect("a good case")).expect("a good map")]
}
