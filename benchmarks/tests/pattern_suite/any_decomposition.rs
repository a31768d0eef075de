//! Tests the F case on arbitrary decompositions: unsorted single elements, uneven ranks, elements that nobody owns, a
//! D3 that is not D2 on every level. The map file keeps them, and all ranks together write the serial file.

use std::sync::Arc;

use crate::common::{Listed, place_all, serial};
use proptest::prelude::*;
use tributary::Extents;
use tributary_benchmarks::e3sm::{DecompositionMap, Decompositions, Entry, map_file};
use tributary_benchmarks::{E3smF, ElementType, Pattern};

/// Distributes the elements of an array to ranks by `owners` (the value `ranks` means no owner), in the order of
/// `keys`: unsorted runs of 1 element, or of up to 2 inside a row.
fn dealt(elements: u64, row: u64, ranks: usize, owners: &[usize], keys: &[u64], pairs: bool) -> Vec<Vec<Entry>> {
    let mut all = vec![Vec::new(); ranks];
    let mut element = 0;
    while element < elements {
        let length = if pairs && element % row + 2 <= row { 2 } else { 1 };
        if let Some(list) = all.get_mut(owners[element as usize % owners.len()]) {
            list.push(Entry { offset: element, length });
        }
        element += length;
    }
    for list in &mut all {
        list.sort_by_key(|entry| keys[entry.offset as usize % keys.len()]);
    }
    all
}

fn on_levels(d2: &[Vec<Entry>], columns: u64) -> Vec<Vec<Entry>> {
    let levels = |e: &Entry| (0..72).map(|l| Entry { offset: e.offset + l * columns, ..*e }).collect::<Vec<_>>();
    d2.iter().map(|list| list.iter().rev().flat_map(levels).collect()).collect()
}

/// Returns the extents as (offset, end), and joins adjacent ones.
fn joined(extents: &Extents) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for extent in extents.iter() {
        match all.last_mut() {
            Some((_, end)) if *end == extent.offset => *end = extent.end(),
            _ => all.push((extent.offset, extent.end())),
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_ranks_together_write_the_serial_file(
        columns in 1u64..24,
        ranks in 1usize..6,
        owners in prop::collection::vec(0usize..7, 1..40),
        keys in prop::collection::vec(any::<u64>(), 1..40),
        pairs: bool,
        repeat: bool,
        float: bool,
        run_on in 1usize..8,
    ) {
        let deal = |n: u64, shift: usize| {
            let owners: Vec<usize> = owners.iter().map(|o| (o + shift) % (ranks + 1)).collect();
            dealt(n, columns, ranks, &owners, &keys, pairs)
        };
        let (d1, d2) = (deal(columns, 1), deal(columns, 0));
        let d3 = if repeat { on_levels(&d2, columns) } else { deal(72 * columns, 2) };
        let listed = Listed {
            dims: vec![vec![columns], vec![columns], vec![72, columns]],
            entries: vec![d1, d2, d3],
        };
        let map = DecompositionMap::from_bytes("m.nc", map_file::to_map(&listed).unwrap()).unwrap();
        if repeat {
            prop_assert!(map.is_levels_of(2, 1));
        }
        let element = if float { ElementType::Float } else { ElementType::Double };
        let case = E3smF::new(Arc::new(map), element).unwrap().with_ranks(run_on, true).unwrap();
        let (placed, written) = place_all(&case);
        prop_assert_eq!(written, case.totals().bytes);
        prop_assert!(placed == serial(&case), "{}", case.describe());
        let requests: u64 = (0..run_on).map(|rank| case.rank_access(rank, 0).unwrap().requests).sum();
        prop_assert_eq!(requests, case.totals().requests);
        // What the map's reader knows to be repeated is only a shorter way to say the same.
        let plain = E3smF::new(Arc::new(listed), element).unwrap().with_ranks(run_on, true).unwrap();
        prop_assert_eq!(plain.totals(), case.totals());
        for rank in 0..run_on {
            let (one, other) = (plain.rank_access(rank, 0).unwrap(), case.rank_access(rank, 0).unwrap());
            prop_assert_eq!(one.requests, other.requests);
            prop_assert_eq!(joined(&one.file), joined(&other.file));
        }
    }
}
