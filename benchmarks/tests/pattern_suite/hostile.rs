//! Tests damaged inputs of every kind: cut, flipped, overwritten with the largest and smallest numbers, extended.
//! Nothing panics, and each refusal is one line that names the input.
//!
//! A size in a damaged input must not be allocated before it is known to fit: an abort of the allocator fails here
//! too. (Hints are in the tests of `tributary::hints`, machine files in those of `tributary-lab`, rows of `trib
//! compare` in those of `trib`.)

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tributary_benchmarks::e3sm::{DecompositionMap, Generator, map_file};
use tributary_benchmarks::list::{Lists, write_binary};
use tributary_benchmarks::wrf::Trace;
use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions, ListPattern, Pattern};
use tributary_testing::damage::{damage, damaged, one_line};

/// Does everything that a user does with lists, except writing the file.
fn use_lists(bytes: Vec<u8>) {
    let Some(lists) = one_line(Lists::from_bytes("lists", bytes)) else { return };
    let list = ListPattern::new(lists);
    list.describe();
    list.totals();
    for rank in 0..list.ranks().min(8) {
        one_line(list.rank_access(rank, 0));
    }
}

fn use_trace(bytes: &[u8]) {
    let Some(trace) = one_line(Trace::from_bytes("trace", bytes)) else { return };
    trace.fan_in();
    one_line(trace.folded(3));
    assert!(trace.ranks() > 0 && trace.bytes() >= trace.largest());
}

fn use_map(bytes: Vec<u8>) {
    let Some(map) = one_line(DecompositionMap::from_bytes("map", bytes)) else { return };
    let Some(case) = one_line(E3smF::new(Arc::new(map), ElementType::Double)) else { return };
    for rank in 0..case.ranks().min(8) {
        one_line(case.rank_access(rank, 0));
    }
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn binary_lists() -> Vec<u8> {
    let lists = ListPattern::new(Lists::from_bytes("lists", data("example_lists.txt")).unwrap());
    let mut bytes = Vec::new();
    write_binary(&mut bytes, lists.ranks(), &mut |rank| Ok(lists.rank_access(rank, 0)?.file)).unwrap();
    bytes
}

fn map() -> Vec<u8> {
    let options = GeneratorOptions { columns_per_rank: 3, groups: 2, seed: 3 };
    map_file::to_map(&Generator::new(3, options).unwrap()).unwrap()
}

/// The inputs that these tests damage are good before.
#[test]
fn whole_inputs_are_taken() {
    for lists in [data("example_lists.txt"), binary_lists()] {
        Lists::from_bytes("lists", lists).unwrap();
    }
    Trace::from_bytes("trace", &data("example_trace.dat")).unwrap();
    DecompositionMap::from_bytes("map", map()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn lists_of_text(all in prop::collection::vec(damage(), 1..4)) {
        use_lists(damaged(&data("example_lists.txt"), &all));
    }

    #[test]
    fn lists_in_binary(all in prop::collection::vec(damage(), 1..4)) {
        use_lists(damaged(&binary_lists(), &all));
    }

    #[test]
    fn traces(all in prop::collection::vec(damage(), 1..4)) {
        use_trace(&damaged(&data("example_trace.dat"), &all));
    }

    #[test]
    fn maps(all in prop::collection::vec(damage(), 1..4)) {
        use_map(damaged(&map(), &all));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Damages the trace inside a gzip file, and the gzip file itself.
    #[test]
    fn compressed_traces(
        inside in prop::collection::vec(damage(), 0..3),
        outside in prop::collection::vec(damage(), 0..3),
    ) {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&damaged(&data("example_trace.dat"), &inside)).unwrap();
        use_trace(&damaged(&gzip.finish().unwrap(), &outside));
    }
}
