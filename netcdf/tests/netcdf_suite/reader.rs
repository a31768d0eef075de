//! Tests the reader: it decodes what the crate encodes, and refuses damaged files with an error of one line.

use proptest::prelude::*;
use tributary::fabric::threads;
use tributary::{Endpoint, Hints};
use tributary_netcdf::reader::{FileHeader, FileReader, ReadError};
use tributary_netcdf::{Alignment, Dataset, DimensionId, Format, Schema, Type, UNLIMITED, Values};

const FORMATS: [Format; 3] = [Format::Cdf1, Format::Cdf2, Format::Cdf5];

/// Checks that definitions are the same after they were encoded and decoded.
fn assert_round_trip(schema: &Schema, records: u64) {
    let layout = schema.layout(Alignment::default()).unwrap();
    let bytes = layout.header(records).unwrap();
    let header = FileHeader::decode("x.nc", &bytes).unwrap();
    assert_eq!((header.format, header.records), (schema.format(), Some(records)));
    assert_eq!(header.dimensions, schema.dimensions());
    assert_eq!(header.attributes, schema.attributes());
    assert_eq!(header.variables, schema.variables());
    let begins: Vec<u64> =
        schema.variables().iter().map(|v| layout.begin(schema.variable_id(&v.name).unwrap())).collect();
    assert_eq!(header.begins, begins);
    // Every byte belongs to an item.
    assert!((0..bytes.len()).all(|len| FileHeader::decode("x.nc", &bytes[..len]).is_err()));
}

/// Returns a value of every type.
fn values(kind: Type) -> Values {
    match kind {
        Type::Byte => [1i8, -2, 3].into(),
        Type::Char => "words".into(),
        Type::Short => (-300i16).into(),
        Type::Int => [70_000i32, -1].into(),
        Type::Float => 1.5f32.into(),
        Type::Double => 2.5e100f64.into(),
        Type::UByte => 200u8.into(),
        Type::UShort => 60_000u16.into(),
        Type::UInt => u32::MAX.into(),
        Type::Int64 => i64::MIN.into(),
        Type::UInt64 => u64::MAX.into(),
    }
}

#[test]
fn every_definition_is_decoded_as_it_was_encoded() {
    for format in FORMATS {
        assert_round_trip(&Schema::new(format), 0);
        let mut schema = Schema::new(format);
        let [time, y, x] = [("time", UNLIMITED), ("größe", 2), ("x", 5)]
            .map(|(name, len)| schema.define_dimension(name, len).unwrap());
        for kind in Type::ALL.into_iter().filter(|kind| format.has(*kind)) {
            schema.put_global_attribute(&format!("a_{kind}"), values(kind)).unwrap();
            for (prefix, dimensions) in [("s", &[][..]), ("f", &[y, x]), ("r", &[time, x])] {
                let variable = schema.define_variable(&format!("{prefix}_{kind}"), kind, dimensions).unwrap();
                schema.put_attribute(variable, "empty", "").unwrap();
                schema.put_attribute(variable, "some", values(kind)).unwrap();
            }
        }
        assert_round_trip(&schema, 0);
        assert_round_trip(&schema, i32::MAX as u64);
    }
}

#[test]
fn sizes_beyond_32_bits_are_decoded() {
    for (format, length) in [(Format::Cdf2, 5 << 20), (Format::Cdf2, 3 << 20), (Format::Cdf5, 1 << 40)] {
        let mut schema = Schema::new(format);
        let dimensions = [("k", 1 << 10), ("n", length)].map(|(name, len)| schema.define_dimension(name, len).unwrap());
        schema.define_variable("large", Type::Byte, &dimensions).unwrap();
        assert_round_trip(&schema, 0);
    }
}

#[test]
fn schemas_without_records_have_empty_dimensions() {
    for format in FORMATS {
        let mut schema = Schema::without_records(format);
        let [x, none, nothing] =
            [("x", 3), ("none", 0), ("nothing", 0)].map(|(name, len)| schema.define_dimension(name, len).unwrap());
        assert_eq!(schema.unlimited(), None);
        let [a, b, c] = [("a", vec![none]), ("b", vec![x, nothing, none]), ("c", vec![x])]
            .map(|(name, dimensions)| schema.define_variable(name, Type::Int, &dimensions).unwrap());
        assert_round_trip(&schema, 0);
        let layout = schema.layout(Alignment::PACKED).unwrap();
        let header = layout.header_bytes();
        assert_eq!([a, b, c].map(|variable| layout.begin(variable)), [header; 3]);
        assert_eq!((layout.file_bytes(0), layout.record_size()), (Some(header + 12), 0));
        assert_eq!(layout.extents(a, &[0], &[0]).unwrap().bytes(), 0);
        assert!(layout.extents(a, &[0], &[1]).is_err());
        let bytes = [layout.header(0).unwrap(), [7i32, 8, 9].map(i32::to_be_bytes).concat()].concat();
        let file = FileReader::new("x.nc", &bytes[..]).unwrap();
        assert!(file.ints("a", 0).unwrap().is_empty() && file.ints("b", 0).unwrap().is_empty());
        assert_eq!(file.ints("c", 3).unwrap().iter().collect::<Vec<_>>(), [7, 8, 9]);
    }
    // A row of an empty array may not be larger than a file.
    let mut schema = Schema::without_records(Format::Cdf5);
    let dimensions: Vec<DimensionId> = [("none", 0), ("y", 1 << 40), ("x", 1 << 40)]
        .map(|(name, len)| schema.define_dimension(name, len).unwrap())
        .to_vec();
    schema.define_variable("v", Type::Int, &dimensions).unwrap();
    assert!(schema.layout(Alignment::PACKED).unwrap_err().to_string().contains("size of variable v"));
}

#[test]
fn a_dataset_is_read() {
    let directory = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let path = directory.path().join(format!("{format}.nc"));
        let outcomes = threads::run(3, |transport| -> tributary::Result<()> {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let mut file = Dataset::create(endpoint, &path, format, Hints::default())?;
            let time = file.define_dimension("time", UNLIMITED)?;
            let x = file.define_dimension("x", 6)?;
            let fixed = file.define_variable("fixed", Type::Int, &[x])?;
            let record = file.define_variable("record", Type::Short, &[time, x])?;
            file.put_global_attribute("title", "a title")?;
            file.end_define()?;
            file.iput_vara(fixed, &[2 * rank], &[2], &[-(rank as i64), i64::from(i32::MAX)])?;
            file.iput_vara(record, &[0, 2 * rank], &[4, 2], &[1; 8])?;
            file.wait_all()?;
            file.close().map(drop)
        });
        outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let file = FileReader::new("x.nc", &bytes[..]).unwrap();
        assert_eq!((file.name(), file.header().records), ("x.nc", Some(4)));
        assert_eq!(file.attribute_text("title").unwrap(), "a title");
        let values = file.ints("fixed", 6).unwrap();
        assert_eq!(values.iter().collect::<Vec<_>>(), [0, i32::MAX, -1, i32::MAX, -2, i32::MAX]);
        assert_eq!((values.len(), values.range(4..9).collect::<Vec<_>>()), (6, vec![-2, i32::MAX]));
        assert_eq!(values.range(7..9).count(), 0);
    }
}

fn said<T>(outcome: Result<T, ReadError>) -> String {
    let error = outcome.map(drop).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn wrong_kinds_and_shapes_are_named() {
    let mut schema = Schema::new(Format::Cdf5);
    let [one, records] =
        [("one", 1), ("records", UNLIMITED)].map(|(name, len)| schema.define_dimension(name, len).unwrap());
    schema.put_global_attribute("text", "words").unwrap();
    schema.put_global_attribute("numbers", [1i32, -2]).unwrap();
    for (name, kind, dimension) in [("v", Type::Int, one), ("r", Type::Int, records), ("s", Type::Short, one)] {
        schema.define_variable(name, kind, &[dimension]).unwrap();
    }
    let header = schema.layout(Alignment::PACKED).unwrap().header(0).unwrap();
    let bytes = [&header[..], &(-7i32).to_be_bytes()].concat();
    let file = FileReader::new("x.nc", &bytes[..]).unwrap();
    assert_eq!(file.ints("v", 1).unwrap().iter().collect::<Vec<_>>(), [-7]);
    assert_eq!(file.attribute_ints("numbers").unwrap(), [1, -2]);
    assert!(file.has_variable("v") && !file.has_variable("one"));
    assert!(said(file.attribute_ints("text")).contains("attribute text: has the type 2, not 4"));
    assert!(said(file.attribute_text("numbers")).contains("attribute numbers: has the type 4, not 2"));
    assert!(said(file.ints("v", 2)).contains("variable v: has the shape [1], not 2 elements"));
    assert!(said(file.ints("s", 1)).contains("variable s: has the type 3, not 4"));
    assert!(said(file.ints("r", 1)).contains("a record variable?"));
    assert!(said(file.ints("w", 1)).contains("variable w: is missing"));
    assert!(said(file.dimension("two")).contains("dimension two: is missing"));
}

/// Returns the bytes of a file of the given version with one dimension `n` of 3, one attribute `a` of two shorts, and
/// one variable `v` over the dimension; written by the format's grammar, not by the crate's encoder.
fn small(version: u8) -> Vec<u8> {
    let count = |n: u64| if version == 5 { n.to_be_bytes().to_vec() } else { (n as u32).to_be_bytes().to_vec() };
    let offset = |n: u64| if version == 1 { (n as u32).to_be_bytes().to_vec() } else { n.to_be_bytes().to_vec() };
    let tag = |t: u32| t.to_be_bytes().to_vec();
    let name = |n: &[u8; 1]| [count(1), vec![n[0], 0, 0, 0]].concat();
    let header = |begin: u64| {
        let dimensions = [tag(10), count(1), name(b"n"), count(3)].concat();
        let attributes = [tag(12), count(1), name(b"a"), tag(3), count(1), vec![0, 9, 0, 0]].concat();
        let variable = [name(b"v"), count(1), count(0), tag(0), count(0), tag(4), count(12), offset(begin)].concat();
        [vec![b'C', b'D', b'F', version], count(0), dimensions, attributes, tag(11), count(1), variable].concat()
    };
    let begin = header(0).len() as u64;
    [header(begin), [1i32, -1, i32::MAX].iter().flat_map(|v| v.to_be_bytes()).collect()].concat()
}

#[test]
fn all_three_versions_are_read() {
    for version in [1, 2, 5] {
        let good = small(version);
        let file = FileReader::new("x.nc", &good[..]).unwrap();
        assert_eq!(file.dimension("n").unwrap(), 3);
        assert_eq!(file.ints("v", 3).unwrap().iter().collect::<Vec<_>>(), [1, -1, i32::MAX], "version {version}");
        for len in 0..good.len() {
            let cut = FileReader::new("x.nc", &good[..len]).and_then(|file| file.ints("v", 3).map(drop));
            assert!(said(cut).starts_with("x.nc: "), "version {version} cut to {len}");
        }
        // The number of records: unknown, or negative.
        let width = if version == 5 { 8 } else { 4 };
        let mut bytes = good;
        bytes[4..4 + width].fill(0xff);
        assert_eq!(FileHeader::decode("x.nc", &bytes).unwrap().records, None);
        bytes[4 + width - 1] = 0;
        assert!(said(FileHeader::decode("x.nc", &bytes)).contains("number of records: is negative"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files_never_panic(
        version in prop::sample::select(vec![1u8, 2, 5]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![0u8, 1, 4, 0x7f, 0x80, 0xff])), 1..5),
        count in prop::sample::select(vec![0, 1, 3, 1 << 31, 1 << 62, u64::MAX]),
    ) {
        let mut bytes = small(version);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        match FileReader::new("x.nc", &bytes[..]) {
            Err(error) => drop(said::<()>(Err(error))),
            Ok(file) => drop(file.ints("v", count).map(|values| values.iter().count())),
        }
    }
}
