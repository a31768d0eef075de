//! Tests map files that are missing, foreign, damaged or hostile: each gives one clear error, and nothing panics.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tributary_benchmarks::e3sm::decomposition::{Entry, merged};
use tributary_benchmarks::e3sm::{DecompositionMap, Decompositions, Generator, map_file};
use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions, Pattern};
use tributary_netcdf::reader::FileReader;
use tributary_netcdf::{Alignment, Format, Schema, Type};

/// Returns the bytes of a good map, small enough to damage it thousands of times.
fn good_map() -> Vec<u8> {
    let options = GeneratorOptions { columns_per_rank: 3, groups: 2, seed: 3 };
    map_file::to_map(&Generator::new(3, options).unwrap()).unwrap()
}

/// Does everything that a user does with a map, except writing the file.
fn use_map(bytes: Vec<u8>) -> Result<(), String> {
    let map = DecompositionMap::from_bytes("m.nc", bytes).map_err(|e| e.to_string())?;
    let case = E3smF::new(Arc::new(map), ElementType::Double).map_err(|e| e.to_string())?;
    for rank in 0..case.ranks() {
        case.rank_access(rank, 0).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn error_of(bytes: Vec<u8>) -> String {
    use_map(bytes).unwrap_err()
}

#[test]
fn what_is_written_is_read_back() {
    let options = GeneratorOptions { columns_per_rank: 11, groups: 4, seed: 9 };
    let made = Generator::new(13, options).unwrap();
    let read = DecompositionMap::from_bytes("m.nc", map_file::to_map(&made).unwrap()).unwrap();
    assert_eq!((read.ranks(), read.dims()), (made.ranks(), made.dims()));
    for which in 0..3 {
        for rank in 0..13 {
            let raw = |all: &dyn Decompositions| {
                let mut entries = Vec::new();
                all.visit(which, rank, &mut |entry| entries.push(entry));
                entries
            };
            assert_eq!(raw(&read), raw(&made), "D{} of rank {rank}", which + 1);
        }
    }
    let written = map_file::to_map(&made).unwrap();
    let file = FileReader::new("m.nc", &written[..]).unwrap();
    assert_eq!(file.attribute_ints("D3.dims").unwrap(), [72, 143]);
    assert_eq!(file.attribute_ints("D3.max_nreqs").unwrap(), [4 * 72]);
    assert_eq!(file.attribute_ints("D3.min_nreqs").unwrap(), [4 * 72]);
    assert_eq!(file.attribute_text("D2.fully_covered").unwrap(), "true");
}

/// Decompositions of which the second of three has one element a rank, and the others have none.
struct Sparse([Vec<u64>; 3]);

impl Decompositions for Sparse {
    fn name(&self) -> &str {
        "sparse"
    }

    fn ranks(&self) -> usize {
        3
    }

    fn dims(&self) -> &[Vec<u64>] {
        &self.0
    }

    fn visit(&self, which: usize, rank: usize, visitor: &mut dyn FnMut(Entry)) {
        if which == 1 {
            visitor(Entry { offset: rank as u64, length: 1 });
        }
    }

    fn is_levels_of(&self, _which: usize, _base: usize) -> bool {
        false
    }
}

#[test]
fn empty_decompositions_are_read_back() {
    let written = map_file::to_map(&Sparse([vec![4], vec![3], vec![2, 5]])).unwrap();
    let read = DecompositionMap::from_bytes("m.nc", written.clone()).unwrap();
    let entries = [0, 1, 2].map(|which| merged(&read, which, 0..3));
    assert_eq!(entries, [vec![], vec![Entry { offset: 0, length: 3 }], vec![]]);
    assert_eq!(map_file::to_map(&read).unwrap(), written);
}

#[test]
fn files_that_are_no_maps_say_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let error = |path: &Path| DecompositionMap::open(path).err().unwrap().to_string();
    let with = |name: &str, bytes: &[u8]| {
        std::fs::write(directory.path().join(name), bytes).unwrap();
        error(&directory.path().join(name))
    };
    let missing = error(&directory.path().join("none.nc"));
    assert!(missing.contains("none.nc: open failed: No such file"), "{missing}");
    assert!(error(directory.path()).contains("is a directory"));
    assert!(with("empty.nc", b"").contains("empty.nc: file: is empty"));
    assert!(
        with("text.dat", b"version 2001 npes 16").contains("text.dat: file: is not NetCDF: it begins with \"vers\"")
    );
    assert!(with("two.nc", b"CD").contains("has 2 bytes"));
    assert!(with("v3.nc", b"CDF\x03aaaaaaaa").contains("format version 3; allowed: 1, 2, 5"));
    let mut hdf5 = b"\x89HDF\r\n\x1a\n".to_vec();
    assert!(with("m.h5", &hdf5).contains("m.h5: file: is an HDF5 (NetCDF-4) file"));
    assert!(with("m.h5", &hdf5).contains("nccopy -k cdf5"));
    hdf5.splice(0..0, [0; 512]);
    assert!(with("block.h5", &hdf5).contains("is an HDF5 (NetCDF-4) file"), "behind a user block");
    std::fs::write(directory.path().join("good.nc"), good_map()).unwrap();
    assert!(DecompositionMap::open(&directory.path().join("good.nc")).is_ok());
}

#[test]
fn a_map_cut_anywhere_is_an_error_that_names_the_place() {
    let good = good_map();
    assert_eq!(use_map(good.clone()), Ok(()));
    for len in 0..good.len() {
        let error = error_of(good[..len].to_vec());
        assert!(error.starts_with("m.nc: ") && error.lines().count() == 1, "cut to {len}: {error}");
    }
    let header = error_of(good[..110].to_vec());
    assert!(header.contains("m.nc: dimension D1.total_nreqs: ") && header.contains("truncated"), "{header}");
    let data = error_of(good[..good.len() - 1].to_vec());
    assert!(data.contains("m.nc: variable D3.lengths: ") && data.contains("truncated"), "{data}");
}

/// A map of one decomposition of 2 rows of 4 elements over 2 ranks; a test can replace every part by a bad one.
struct Raw {
    decompositions: u64,
    ranks: u64,
    dims: Vec<i32>,
    ndims: i32,
    total: u64,
    nreqs: Vec<i32>,
    fills: Option<Vec<i32>>,
    offsets: Vec<i32>,
    lengths: Vec<i32>,
}

impl Raw {
    fn good() -> Self {
        Self {
            decompositions: 1,
            ranks: 2,
            dims: vec![2, 4],
            ndims: 2,
            total: 4,
            nreqs: vec![1, 3],
            fills: None,
            offsets: vec![0, 6, 4, 2],
            lengths: vec![2, 1, 2, 2],
        }
    }

    fn open(&self) -> Result<DecompositionMap, String> {
        let mut schema = Schema::without_records(Format::Cdf5);
        schema.define_dimension("num_decomp", self.decompositions).unwrap();
        let ranks = schema.define_dimension("decomp_nprocs", self.ranks).unwrap();
        let total = schema.define_dimension("D1.total_nreqs", self.total).unwrap();
        schema.put_global_attribute("D1.ndims", self.ndims).unwrap();
        schema.put_global_attribute("D1.dims", &self.dims[..]).unwrap();
        let fills = self.fills.as_ref().map(|fills| ("D1.fill_starts", ranks, fills));
        let variables = [("D1.nreqs", ranks, &self.nreqs)].into_iter().chain(fills);
        let variables = variables.chain([("D1.offsets", total, &self.offsets), ("D1.lengths", total, &self.lengths)]);
        let mut data = Vec::new();
        for (name, dimension, values) in variables {
            schema.define_variable(name, Type::Int, &[dimension]).unwrap();
            data.extend(values.iter().flat_map(|value| value.to_be_bytes()));
        }
        let bytes = [schema.layout(Alignment::PACKED).unwrap().header(0).unwrap(), data].concat();
        DecompositionMap::from_bytes("m.nc", bytes).map_err(|e| e.to_string())
    }
}

fn owned(map: &DecompositionMap, rank: usize) -> Vec<(u64, u64)> {
    merged(map, 0, rank..rank + 1).iter().map(|e| (e.offset, e.length)).collect()
}

#[test]
fn fill_entries_are_no_requests() {
    let all = Raw::good().open().unwrap();
    assert_eq!((owned(&all, 0), owned(&all, 1)), (vec![(0, 2)], vec![(2, 2), (4, 3)]));
    let some = Raw { fills: Some(vec![0, 2]), ..Raw::good() }.open().unwrap();
    assert_eq!((owned(&some, 0), owned(&some, 1)), (vec![], vec![(4, 3)]), "the second rank still begins at entry 1");
}

#[test]
fn damaged_numbers_are_named() {
    let cases: Vec<(Raw, &str)> = vec![
        (Raw { decompositions: 0, ..Raw::good() }, "dimension num_decomp: is 0"),
        (Raw { decompositions: 2, ..Raw::good() }, "attribute D2.dims: is missing"),
        (Raw { decompositions: 1 << 60, ..Raw::good() }, "dimension num_decomp: is 1152921504606846976; allowed"),
        (Raw { ranks: 0, ..Raw::good() }, "dimension decomp_nprocs: is 0"),
        (Raw { ranks: 1 << 60, ..Raw::good() }, "variable D1.nreqs: 1152921504606846976 elements from byte"),
        (Raw { dims: vec![2, 0], ..Raw::good() }, "attribute D1.dims: holds 0"),
        (Raw { dims: vec![], ..Raw::good() }, "attribute D1.dims: is empty"),
        (Raw { dims: vec![i32::MAX; 3], ndims: 3, ..Raw::good() }, "attribute D1.dims: is [2147483647, "),
        (Raw { ndims: 1, ..Raw::good() }, "attribute D1.ndims: is [1]; D1.dims is [2, 4]"),
        (Raw { total: 5, ..Raw::good() }, "variable D1.nreqs: sums to 4; the dimension D1.total_nreqs is 5"),
        (Raw { total: 1 << 59, ..Raw::good() }, "variable D1.nreqs: sums to 4"),
        (Raw { nreqs: vec![-1, 5], ..Raw::good() }, "variable D1.nreqs: rank 0 has -1"),
        (Raw { fills: Some(vec![1, 4]), ..Raw::good() }, "variable D1.fill_starts: rank 1 has 4"),
        (Raw { fills: Some(vec![-1, 3]), ..Raw::good() }, "variable D1.fill_starts: rank 0 has -1"),
        (Raw { offsets: vec![0, -6, 4, 2], ..Raw::good() }, "variable D1.offsets: entry 1 is -6"),
        (Raw { offsets: vec![0, 8, 4, 2], ..Raw::good() }, "variable D1.offsets: entry 1 ends at element 9"),
        (Raw { lengths: vec![2, 1, -2, 2], ..Raw::good() }, "variable D1.lengths: entry 2 is -2"),
        (Raw { lengths: vec![2, 1, 2, 3], ..Raw::good() }, "variable D1.lengths: entry 3 is 3 from element 2 on"),
        (Raw { offsets: vec![0, 6, 5, 2], ..Raw::good() }, "variable D1.offsets: element 6 has two owners"),
        (Raw { offsets: vec![0, 6, 4, 1], ..Raw::good() }, "variable D1.offsets: element 1 has two owners"),
    ];
    for (raw, expected) in cases {
        let error = raw.open().err().unwrap_or_else(|| panic!("accepted; expected {expected}"));
        assert!(error.starts_with("m.nc: ") && error.contains(expected), "{error}\nexpected {expected}");
        assert_eq!(error.lines().count(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn flipped_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in prop::option::of(any::<prop::sample::Index>())
    ) {
        let mut bytes = good_map();
        for (index, value) in flips {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Err(error) = use_map(bytes) {
            prop_assert_eq!(error.lines().count(), 1, "{}", error);
        }
    }

    #[test]
    fn flipped_header_bytes_never_panic(
        flips in prop::collection::vec((0usize..900, prop::sample::select(vec![0u8, 1, 4, 0x7f, 0x80, 0xff])), 1..4)
    ) {
        let mut bytes = good_map();
        for (at, value) in flips {
            bytes[at] = value;
        }
        let _ = use_map(bytes);
    }

    #[test]
    fn random_headers_never_panic(version in prop::sample::select(vec![1u8, 2, 5]), tail in prop::collection::vec(prop::sample::select(vec![0u8, 0, 0, 1, 2, 4, 10, 11, 12, 0x61, 0xff]), 0..300)) {
        let _ = use_map([vec![b'C', b'D', b'F', version], tail].concat());
    }
}
