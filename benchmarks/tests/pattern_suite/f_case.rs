//! Tests the F case on the shipped map, on generated and on real decompositions: counts by closed form, bytes by
//! placement.

use crate::common;
use std::sync::Arc;

use crate::common::{place_all, real_map, serial};
use tributary_benchmarks::e3sm::decomposition::merged;
use tributary_benchmarks::e3sm::layout::{HistoryLayout, VariableOwner};
use tributary_benchmarks::e3sm::{Content, DecompositionMap, Generator, map_file};
use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions, Pattern, PatternError};

/// Number of bytes of the 27 variables that are not decomposed: 576 * 3 + 584 * 3 + 8 + 5 * 4 fixed, 8 * 2 + 5 * 4 +
/// 8 * 7 + 16 in a record.
const ROOT_BYTES: u64 = 3508 + 108;

/// Number of bytes before the first variable, with doubles, as in the real file. The 50 fill values of fields take 4
/// bytes less as floats.
const HEADER: u64 = 99_864;
const HEADER_OF_FLOATS: u64 = HEADER - 50 * 4;

fn layout(columns: u64, element: ElementType) -> HistoryLayout {
    let dims = [vec![columns], vec![columns], vec![72, columns]];
    HistoryLayout::new(Content { element, ..Content::default() }, "test", &dims).unwrap()
}

#[test]
fn every_variable_lies_where_the_real_file_has_it() {
    let layout = layout(866, ElementType::Double);
    assert_eq!(layout.header, HEADER);
    let golden = include_str!("../golden/f_case_h0_866_columns.tsv");
    let ours: Vec<String> =
        layout.variables.iter().map(|v| format!("{}\t{}\t{}", v.name, v.begin, v.elements * v.size)).collect();
    assert_eq!(ours, golden.lines().collect::<Vec<_>>());
    assert_eq!(layout.end, 33_773_560);
}

#[test]
fn the_table_counts_what_the_case_is_known_for() {
    let layout = layout(77_777, ElementType::Float);
    let of = |owner| layout.variables.iter().filter(|v| v.owner == owner).count();
    assert_eq!([0, 1, 2].map(|which| of(VariableOwner::Decomposed(which))), [1, 323, 63]);
    assert_eq!((of(VariableOwner::Root), layout.variables.len()), (27, 414));
    assert_eq!(layout.header, HEADER_OF_FLOATS);
    // lat, lon and area stay doubles.
    assert_eq!(layout.end, HEADER_OF_FLOATS + ROOT_BYTES + 4857 * 77_777 * 4 + 3 * 77_777 * 8);
    let mut at = layout.header;
    for variable in &layout.variables {
        assert_eq!(variable.begin, at, "{}", variable.name);
        at += variable.elements * variable.size;
    }
}

/// Checks requests and bytes by the closed forms, from the merged entries of D1 and D2.
fn check_closed_forms(case: &E3smF, size: u64) {
    let source = case.decompositions();
    let n = [0, 1].map(|which| (0..source.ranks()).map(|r| merged(source, which, r..r + 1).len() as u64).sum::<u64>());
    let (totals, columns) = (case.totals(), source.dims()[0][0]);
    assert_eq!(totals.requests, 4859 * n[1] + n[0] + 27);
    assert_eq!(totals.bytes, 4857 * columns * size + 3 * columns * 8 + ROOT_BYTES);
    let header = if size == 8 { HEADER } else { HEADER_OF_FLOATS };
    assert_eq!((totals.file_size, case.layout().header), (header + totals.bytes, header));
    let ranks: Vec<_> = (0..case.ranks()).map(|rank| case.rank_access(rank, 0).unwrap()).collect();
    assert_eq!(ranks.iter().map(|r| r.requests).sum::<u64>(), totals.requests);
    assert_eq!(ranks.iter().map(|r| r.file.bytes()).sum::<u64>(), totals.bytes);
    for (rank, access) in ranks.iter().enumerate() {
        assert!(access.file.is_ascending());
        assert_eq!(access.file.count(), access.requests, "rank {rank}");
        let memory = access.file.memory();
        assert!(memory < 16 << 10, "rank {rank}: {memory} bytes for {} requests", access.requests);
    }
}

#[test]
fn closed_forms_hold() {
    check_closed_forms(&E3smF::shipped().unwrap(), 8);
    for (ranks, columns_per_rank, groups) in [(2, 1, 1), (3, 5, 5), (7, 36, 13), (64, 54, 25), (16, 96, 16)] {
        let options = GeneratorOptions { columns_per_rank, groups, seed: 7 };
        let case = E3smF::generated(ranks, options, ElementType::Float).unwrap();
        check_closed_forms(&case, 4);
        assert_eq!(case.totals().requests, (4859 * groups + 1) * ranks as u64 + 27);
    }
}

#[test]
fn the_shipped_map_is_what_the_generator_makes() {
    let options = GeneratorOptions { columns_per_rank: 20, groups: 5, seed: 0 };
    let made = map_file::to_map(&Generator::new(16, options).unwrap()).unwrap();
    assert!(made == include_bytes!("../../data/small_map_16p.nc"), "run examples/write_map.rs as it says");
    let (map, generated) = (E3smF::shipped().unwrap(), E3smF::generated(16, options, ElementType::Double).unwrap());
    assert_eq!(map.totals(), generated.totals());
    assert_eq!(map.totals().requests, 4859 * 80 + 16 + 27);
    for rank in 0..16 {
        assert_eq!(map.rank_access(rank, 0).unwrap(), generated.rank_access(rank, 0).unwrap());
    }
}

/// Checks that every rank's extents and bytes make the file that the serial writer makes, no byte twice and none left
/// out.
fn check_bytes(case: &E3smF) {
    let (placed, written) = place_all(case);
    assert_eq!(written, placed.len() as u64 - case.layout().header);
    assert!(placed == serial(case), "{}", case.describe());
}

#[test]
fn all_ranks_together_write_the_serial_file() {
    let shipped = E3smF::shipped().unwrap();
    check_bytes(&shipped);
    for ranks in [1, 5, 12, 15, 19] {
        check_bytes(&shipped.clone().with_ranks(ranks, true).unwrap());
    }
    for (ranks, element) in [(1, ElementType::Double), (2, ElementType::Float), (9, ElementType::Double)] {
        let options = GeneratorOptions { columns_per_rank: 7, groups: 3, seed: 1 };
        check_bytes(&E3smF::generated(ranks, options, element).unwrap());
    }
}

#[test]
fn folding_needs_to_be_asked_for() {
    let shipped = E3smF::shipped().unwrap();
    let error = shipped.clone().with_ranks(12, false).err().unwrap();
    assert_eq!(
        error.to_string(),
        "map small_map_16p.nc (shipped) is for 16 ranks, not 12; use 16 ranks, or fold it with --fold"
    );
    assert!(matches!(shipped.clone().with_ranks(17, false), Err(PatternError::Ranks { .. })));
    assert!(shipped.clone().with_ranks(16, false).is_ok());
    assert!(shipped.clone().with_ranks(0, true).is_err());
    let wide = shipped.with_ranks(20, true).unwrap();
    assert_eq!(wide.rank_access(16, 0).unwrap().requests, 0);
    assert_eq!(wide.rank_access(19, 0).unwrap().file.bytes(), 0);
    assert!(wide.fill(19, 0, &mut []).is_ok());
    assert!(wide.rank_access(20, 0).is_err());
}

#[test]
fn a_buffer_of_another_size_is_refused() {
    let case = E3smF::shipped().unwrap();
    let bytes = case.rank_access(3, 0).unwrap().file.bytes() as usize;
    assert!(case.fill(3, 0, &mut vec![0; bytes]).is_ok());
    assert!(case.fill(3, 0, &mut vec![0; bytes - 1]).is_err());
    assert!(case.fill(3, 0, &mut vec![0; bytes + 1]).is_err());
    assert!(case.fill(16, 0, &mut vec![0; bytes]).is_err());
}

#[test]
fn production_scale_is_counted_without_being_expanded() {
    let case = E3smF::generated(21_600, GeneratorOptions::default(), ElementType::Float).unwrap();
    let totals = case.totals();
    let near = |value: f64, published: f64| (value / published - 1.0).abs() < 0.005;
    assert!(near(totals.requests as f64, 1.36e9), "{} requests", totals.requests);
    assert!(near(totals.requests as f64, 1.364e9), "{} requests", totals.requests);
    assert!(near(totals.bytes as f64 / (1u64 << 30) as f64, 14.08), "{} bytes", totals.bytes);
    let access = case.rank_access(21_599, 0).unwrap();
    assert_eq!(access.requests, 4859 * 13 + 1);
    assert!(access.file.memory() < 16 << 10);
}

#[test]
fn the_real_map_has_the_published_numbers() {
    let Some(path) = real_map() else { return };
    let case = E3smF::from_map_file(&path, ElementType::Double).unwrap();
    let source = case.decompositions();
    let n2: Vec<usize> = (0..16).map(|rank| merged(source, 1, rank..rank + 1).len()).collect();
    assert_eq!(n2.iter().sum::<usize>(), 407);
    assert_eq!((n2.iter().min(), n2.iter().max()), (Some(&13), Some(&39)));
    assert!(source.is_levels_of(2, 1), "D3 is D2 on every level");
    assert_eq!(case.totals().requests, 1_977_687);
    assert_eq!(case.totals().file_size, 33_773_560);
    let requests: Vec<u64> = (0..16).map(|rank| case.rank_access(rank, 0).unwrap().requests).collect();
    assert_eq!((requests.iter().min(), requests.iter().max()), (Some(&63_170), Some(&189_503)));
    check_closed_forms(&case, 8);
    check_bytes(&case);
    check_bytes(&case.clone().with_ranks(5, true).unwrap());
    check_closed_forms(&E3smF::from_map_file(&path, ElementType::Float).unwrap(), 4);
}

#[test]
fn decompositions_of_another_case_are_refused() {
    let bad = |dims: &[&[u64]]| {
        let entries = vec![vec![Vec::new()]; dims.len()];
        let all = common::Listed { dims: dims.iter().map(|d| d.to_vec()).collect(), entries };
        let map = DecompositionMap::from_bytes("g.nc", map_file::to_map(&all).unwrap()).unwrap();
        E3smF::new(Arc::new(map), ElementType::Double).err().unwrap().to_string()
    };
    assert!(bad(&[&[4], &[4]]).contains("num_decomp: is 2; the F case has 3"));
    assert!(bad(&[&[2, 2], &[4], &[72, 4]]).contains("D1.dims: is [2, 2]"));
    // The number of columns is that of D3.
    assert!(bad(&[&[4], &[5], &[72, 4]]).contains("D2.dims: is [5]; variable lat has [4]"));
    assert!(bad(&[&[5], &[4], &[72, 4]]).contains("D1.dims: is [5]; variable area has [4]"));
    assert!(bad(&[&[4], &[4], &[4]]).contains("D3.dims: is [4]; the F case has 2 dimension(s) there"));
}

#[test]
fn generator_options_out_of_range_are_refused() {
    let with = |ranks, columns_per_rank, groups| {
        Generator::new(ranks, GeneratorOptions { columns_per_rank, groups, seed: 0 }).err().map(|e| e.to_string())
    };
    assert_eq!(with(4, 4, 4), None);
    assert_eq!(with(4, 4, 5).unwrap(), "groups: 5; allowed: 1 to the columns per rank, 4");
    assert!(with(0, 4, 4).unwrap().starts_with("ranks: 0"));
    assert!(with(4, 0, 0).unwrap().starts_with("columns per rank: 0"));
    assert!(with(1 << 30, u32::MAX.into(), 1).unwrap().contains("on 1073741824 ranks; allowed: below 2^63"));
    assert!(with(4, 4, 0).unwrap().starts_with("groups: 0"));
}
