//! Tests all files of all cases: requests and bytes of the real benchmark, appended records, and the same file
//! through NetCDF calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{at_hand, every, place_all, real_map, serial};
use tributary::fabric::threads;
use tributary::{Endpoint, Hints};
use tributary_benchmarks::e3sm::decomposition::merged;
use tributary_benchmarks::e3sm::layout::VariableOwner;
use tributary_benchmarks::e3sm::{
    Content, DecompositionMap, Decompositions, E3smCase, Generator, History, Options, map_file,
};
use tributary_benchmarks::{E3sm, ElementType, GeneratorOptions, Pattern, write_case};
use tributary_netcdf::VariableId;
use tributary_testing::netcdf_tools as tools;

const FILES: [(E3smCase, History); 5] = [
    (E3smCase::F, History::H0),
    (E3smCase::F, History::H1),
    (E3smCase::G, History::H0),
    (E3smCase::I, History::H0),
    (E3smCase::I, History::H1),
];

fn content(case: E3smCase, history: History, records: usize) -> Content {
    Content { case, history, element: ElementType::Double, records }
}

fn small(case: E3smCase, history: History, records: usize, ranks: usize) -> E3sm {
    let options = GeneratorOptions { columns_per_rank: 5, groups: 2, seed: 3 };
    E3sm::with_content(Arc::new(Generator::from_case(case, ranks, options).unwrap()), content(case, history, records))
        .unwrap()
}

/// Returns the number of variables of each decomposition, (fixed-size, record); the variables of rank 0 alone come
/// last.
fn counts(case: &E3sm) -> BTreeMap<usize, (usize, usize)> {
    let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for variable in &case.layout().variables {
        let which = match variable.owner {
            VariableOwner::Decomposed(which) => which,
            VariableOwner::Root => case.decompositions().dims().len(),
        };
        let (fixed, record) = counts.entry(which).or_default();
        *if variable.is_record { record } else { fixed } += 1;
    }
    counts
}

/// The counts that the benchmark states in its sources, where it defines each file.
#[test]
fn every_file_has_the_benchmarks_variables() {
    let of = |case, history| counts(&small(case, history, 1, 2)).into_values().collect::<Vec<_>>();
    assert_eq!(of(E3smCase::F, History::H0), [(1, 0), (2, 321), (0, 63), (12, 15)]);
    assert_eq!(of(E3smCase::F, History::H1), [(1, 0), (2, 20), (0, 1), (12, 15)]);
    let g = of(E3smCase::G, History::H0);
    assert_eq!((g.iter().map(|c| c.0).sum::<usize>(), g.iter().map(|c| c.1).sum::<usize>()), (11, 41));
    // "465 of D1, 75 of D2, 4 of D3, 1 of D4, 1 of D5, 14 of none"; of h1 the 8 fixed-size ones on levels are missing.
    let i = of(E3smCase::I, History::H0);
    assert_eq!(i.iter().map(|c| c.0 + c.1).collect::<Vec<_>>(), [465, 75, 4, 1, 1, 14]);
    assert_eq!((i.iter().map(|c| c.0).sum::<usize>(), i.iter().map(|c| c.1).sum::<usize>()), (18, 542));
    let i = of(E3smCase::I, History::H1);
    assert_eq!(i.iter().map(|c| c.0 + c.1).collect::<Vec<_>>(), [465, 69, 2, 1, 1, 14]);
}

/// Checks that every rank's extents and bytes make the file that the serial writer makes, and that the totals are
/// right.
fn check_bytes(case: &E3sm) {
    let (placed, written) = place_all(case);
    let totals = case.totals();
    assert_eq!(written, totals.bytes, "{}", case.describe());
    assert!(placed == serial(case), "{}", case.describe());
    let ranks = (0..case.steps()).flat_map(|step| (0..case.ranks()).map(move |rank| (rank, step)));
    let requests: u64 = ranks.map(|(rank, step)| case.rank_access(rank, step).unwrap().requests).sum();
    assert_eq!(requests, totals.requests, "{}", case.describe());
}

#[test]
fn all_ranks_together_write_the_serial_file() {
    for (case, history) in FILES {
        let once = small(case, history, 1, 3);
        check_bytes(&once);
        check_bytes(&once.with_ranks(2, true).unwrap());
        if (case, history) != (E3smCase::I, History::H1) {
            check_bytes(&small(case, history, 3, 2));
        }
    }
}

#[test]
fn records_are_appended_at_the_distance_of_a_record() {
    for (case, history) in FILES {
        let (one, five) = (small(case, history, 1, 2), small(case, history, 5, 2));
        assert_eq!((one.steps(), five.steps()), (1, 5));
        assert_eq!(one.rank_access(1, 0).unwrap(), five.rank_access(1, 0).unwrap());
        let layout = five.layout();
        assert_eq!(layout.end, layout.begin_of_records + 5 * layout.record_size);
        let first = five.rank_access(1, 1).unwrap();
        let fourth = five.rank_access(1, 4).unwrap();
        let moved = first.file.shift(3 * layout.record_size).unwrap();
        assert!(moved.iter().eq(fourth.file.iter()), "{case:?} {history:?}");
        assert!(moved.span().unwrap().0 >= layout.begin_of_records + 4 * layout.record_size);
        // Another record holds other values.
        let data = |step| {
            let mut bytes = vec![0; fourth.file.bytes() as usize];
            five.fill(1, step, &mut bytes).unwrap();
            bytes
        };
        assert_ne!(data(1), data(4));
        assert!(five.rank_access(0, 5).unwrap_err().to_string().contains("step: 5; allowed: 0 to 4"));
    }
}

#[test]
fn every_file_holds_what_every_pattern_must() {
    for (case, history) in FILES {
        // As many columns in every group: the last elements of the file are somebody's.
        let options = GeneratorOptions { columns_per_rank: 4, groups: 2, seed: 1 };
        let source = Arc::new(Generator::from_case(case, 2, options).unwrap());
        every::check(&E3sm::with_content(source, content(case, history, 2)).unwrap());
    }
}

#[test]
fn every_file_is_valid_netcdf() {
    let directory = tempfile::tempdir().unwrap();
    for (case, history) in FILES {
        let path = directory.path().join(format!("{case:?}_{history:?}.nc"));
        let case = small(case, history, 2, 3);
        let written = threads::run(3, |transport| {
            let netcdf = case.netcdf().unwrap();
            write_case(Endpoint::new(transport), netcdf, &path, &Hints::default()).unwrap().0.calls.len()
        });
        assert_eq!(written.unwrap(), [2; 3], "one flush a record");
        tools::validate(&path);
        // Behind the header it is the pattern's own file.
        let (bytes, expected, header) = (std::fs::read(&path).unwrap(), serial(&case), case.layout().header as usize);
        assert!(bytes[header..expected.len()] == expected[header..], "{}", case.describe());
    }
}

#[test]
fn netcdf_calls_write_the_same_bytes_to_the_same_places() {
    for (case, history) in FILES {
        let case = small(case, history, 2, 2);
        let netcdf = case.netcdf().unwrap();
        let places = netcdf.schema().layout(netcdf.alignment()).unwrap();
        for (rank, step) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let access = case.rank_access(rank, step).unwrap();
            let (mut extents, mut data, mut requests) = (Vec::new(), Vec::new(), 0);
            for put in netcdf.puts(rank, step).unwrap() {
                extents.extend(places.extents_of_all(put.variable, put.requests.iter()).unwrap().iter());
                data.extend(put.data);
                requests += put.requests.len() as u64;
            }
            assert_eq!(requests, access.requests, "{}", case.describe());
            assert!(access.file.iter().eq(extents.iter().copied()), "{}", case.describe());
            let mut expected = vec![0; access.file.bytes() as usize];
            case.fill(rank, step, &mut expected).unwrap();
            assert!(data == expected, "{}", case.describe());
        }
        assert!(netcdf.puts(2, 0).is_err() && netcdf.puts(0, 2).is_err());
    }
}

/// Returns the number of requests of one record by the benchmark's rule: merged entries, variable by variable, and
/// one for each variable of rank 0.
fn requests_by_rule(case: &E3sm) -> u64 {
    let source = case.decompositions();
    let of = |which: usize| (0..source.ranks()).map(|r| merged(source, which, r..r + 1).len() as u64).sum::<u64>();
    let variables = |(fixed, record): (usize, usize)| (fixed + record) as u64;
    let roots = source.dims().len();
    counts(case).into_iter().map(|(which, n)| variables(n) * if which == roots { 1 } else { of(which) }).sum()
}

#[test]
fn the_real_maps_have_the_benchmarks_requests() {
    let sizes = |case: &E3sm| {
        assert_eq!(requests_by_rule(case), case.totals().requests);
        (case.totals().requests, case.totals().bytes)
    };
    if let Some(map) = real_map() {
        let open = |content| E3sm::open(&Options { content, map: Some(&map), ..Options::default() }).unwrap();
        // The published number leaves out the 27 requests of rank 0 alone.
        let h1 = open(content(E3smCase::F, History::H1, 1));
        assert_eq!(sizes(&h1).0, 38_305 + 27);
        check_bytes(&open(content(E3smCase::F, History::H1, 2)));
        assert_eq!(sizes(&open(Content::default())), (1_977_687, 33_673_696));
    }
    if let Some(map) = at_hand("TRIB_E3SM_G_MAP", "e3sm/map_g_case_16p.nc") {
        let open = |records| {
            let content = content(E3smCase::G, History::H0, records);
            E3sm::open(&Options { content, map: Some(&map), ..Options::default() }).unwrap()
        };
        // Published are 12,387 without the 11 of rank 0 alone, and 9.0 MB: as if all elements were doubles.
        assert_eq!(sizes(&open(1)), (12_387 + 11, 8_296_404));
        let variables = open(1);
        let decomposed = variables.layout().variables.iter().filter(|v| v.owner != VariableOwner::Root);
        assert_eq!(decomposed.map(|variable| variable.elements * 8).sum::<u64>(), 9_004_064);
        check_bytes(&open(2));
        check_bytes(&open(1).with_ranks(5, true).unwrap());
    }
    if let Some(map) = at_hand("TRIB_E3SM_I_MAP", "e3sm/map_i_case_16p.nc") {
        let open = |element| {
            let content = Content { element, ..content(E3smCase::I, History::H0, 1) };
            E3sm::open(&Options { content, map: Some(&map), ..Options::default() }).unwrap()
        };
        // Published are 1,616,256 without the 14 of rank 0 alone, and 37.5 MB.
        assert_eq!(sizes(&open(ElementType::Float)), (1_616_256 + 14, 37_512_904));
        let case = open(ElementType::Double);
        assert!((1..5).all(|which| case.decompositions().is_levels_of(which, 0)), "D2 to D5 are D1 on levels");
        check_bytes(&case);
    }
}

/// Compares names and dimensions of the variables with a header of a production run (`ncdump -h`), which has them in
/// another order.
#[test]
fn the_tables_have_the_variables_of_the_models_own_files() {
    let Some(directory) = at_hand("TRIB_E3SM_HEADERS", "e3sm") else { return };
    for (file, case, history) in [
        ("f_case_h0.txt", E3smCase::F, History::H0),
        ("f_case_h1.txt", E3smCase::F, History::H1),
        ("g_case_hist.txt", E3smCase::G, History::H0),
    ] {
        let text = std::fs::read_to_string(directory.join(file)).unwrap();
        let variable = |line: &str| {
            let declared = line.strip_prefix('\t')?.strip_suffix(" ;")?;
            let (kind, rest) = declared.split_once(' ')?;
            ["char", "int", "float", "double"].contains(&kind).then(|| rest.replace(' ', ""))
        };
        let mut real: Vec<String> = text.lines().filter_map(variable).collect();
        let case = small(case, history, 1, 1);
        let schema = case.layout().schema();
        let name = |number: usize| {
            let variable = &schema.variables()[VariableId(number).0];
            let dims: Vec<_> = variable.dimensions.iter().map(|id| schema.dimensions()[id.0].name.clone()).collect();
            if dims.is_empty() { variable.name.clone() } else { format!("{}({})", variable.name, dims.join(",")) }
        };
        let mut ours: Vec<String> = (0..schema.variables().len()).map(name).collect();
        real.sort();
        ours.sort();
        assert_eq!(ours, real, "{file}");
    }
}

#[test]
fn generated_decompositions_have_no_element_twice() {
    for case in [E3smCase::F, E3smCase::G, E3smCase::I] {
        for (ranks, columns_per_rank, groups) in [(1, 1, 1), (3, 7, 3), (4, 6, 6), (5, 8, 3)] {
            let made =
                Generator::from_case(case, ranks, GeneratorOptions { columns_per_rank, groups, seed: 5 }).unwrap();
            // Reading a map checks ranges, rows and owners.
            let map = DecompositionMap::from_bytes("m.nc", map_file::to_map(&made).unwrap()).unwrap();
            assert_eq!(map.dims(), made.dims());
            for which in 0..6 {
                // What the generator says of levels, the map's reader finds (with one rank, D1 of the F case is D2).
                let any = |all: &dyn Decompositions| (0..6).any(|base| all.is_levels_of(which, base));
                assert_eq!(any(&made), any(&map), "{case:?} D{}", which + 1);
            }
        }
    }
}

#[test]
fn a_case_opens_with_and_without_a_map() {
    let directory = tempfile::tempdir().unwrap();
    for case in [E3smCase::F, E3smCase::G, E3smCase::I] {
        let content = content(case, History::H0, 1);
        let open = |ranks, fold| E3sm::open(&Options { content, ranks, fold, ..Options::default() });
        assert_eq!(open(None, false).unwrap().ranks(), 16);
        assert_eq!(open(Some(5), false).unwrap().decompositions().ranks(), 5);
        let folded = open(Some(5), true).unwrap();
        assert_eq!((folded.ranks(), folded.decompositions().ranks()), (5, 16));
        assert!(open(Some(0), false).is_err() && open(Some(0), true).is_err());
        let path = directory.path().join(format!("{case:?}.nc"));
        let made = Generator::from_case(case, 3, GeneratorOptions::default()).unwrap();
        std::fs::write(&path, map_file::to_map(&made).unwrap()).unwrap();
        let with_map = |case, ranks, fold| {
            let content = Content { case, ..Content::default() };
            E3sm::open(&Options { content, map: Some(&path), ranks, fold })
        };
        assert_eq!(with_map(case, None, false).unwrap().ranks(), 3);
        assert_eq!(with_map(case, Some(2), true).unwrap().ranks(), 2);
        assert!(with_map(case, Some(2), false).err().unwrap().to_string().contains("is for 3 ranks, not 2"));
        let other = if case == E3smCase::G { E3smCase::I } else { E3smCase::G };
        let said = with_map(other, None, false).err().unwrap().to_string();
        assert!(
            said.contains("dimension num_decomp: is") && said.contains(&format!("the {other:?} case has")),
            "{said}"
        );
    }
}

#[test]
fn content_that_no_file_has_is_refused_before_a_map_is_opened() {
    let map = Some(std::path::Path::new("none.nc"));
    let said = |content| E3sm::open(&Options { content, map, ..Options::default() }).err().unwrap().to_string();
    let float = Content { element: ElementType::Float, ..content(E3smCase::G, History::H0, 1) };
    assert_eq!(said(content(E3smCase::G, History::H1, 1)), "history file of the G case: h1; allowed: h0, its only one");
    assert_eq!(said(float), "type of the G case: float; allowed: double, its only one");
    assert_eq!(said(content(E3smCase::F, History::H0, 0)), "records: 0; allowed: 1 or more");
    let many = Content { records: usize::MAX, ..Content::default() };
    let said = E3sm::open(&Options { content: many, ..Options::default() }).err().unwrap().to_string();
    assert_eq!(said, format!("records: {}; allowed: a file below 2^63 bytes", usize::MAX));
}
