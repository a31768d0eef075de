//! Tests layouts against the format's definition: closed forms, an element-by-element reference, limits.

use proptest::prelude::*;
use tributary_netcdf::{Alignment, Format, Layout, Schema, Type, UNLIMITED, VariableId};

const FORMATS: [Format; 3] = [Format::Cdf1, Format::Cdf2, Format::Cdf5];

/// Defines two fixed-size variables and `records` record variables of odd sizes.
fn schema(format: Format, records: usize) -> Schema {
    let mut schema = Schema::new(format);
    let time = schema.define_dimension("time", UNLIMITED).unwrap();
    let [x, y] = [("x", 3), ("y", 5)].map(|(name, length)| schema.define_dimension(name, length).unwrap());
    schema.define_variable("scalar", Type::Byte, &[]).unwrap();
    schema.define_variable("plane", Type::Short, &[x, y]).unwrap();
    for number in 0..records {
        schema.define_variable(&format!("r{number}"), Type::Short, &[time, x, y]).unwrap();
    }
    schema
}

#[test]
fn the_smallest_header_is_the_specifications() {
    // CDF-1 of one dimension and one variable: every byte by hand.
    let mut schema = Schema::new(Format::Cdf1);
    let dim = schema.define_dimension("dim", 5).unwrap();
    schema.define_variable("vx", Type::Short, &[dim]).unwrap();
    let layout = schema.layout(Alignment::PACKED).unwrap();
    let words: [u32; 20] =
        [0x43444601, 0, 0x0a, 1, 3, 0x64696d00, 5, 0, 0, 0x0b, 1, 2, 0x76780000, 1, 0, 0, 0, 3, 12, 0x50];
    let expected: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert_eq!(layout.header(0).unwrap(), expected);
}

#[test]
fn variables_lie_one_behind_the_other() {
    for format in FORMATS {
        let layout = schema(format, 2).layout(Alignment::PACKED).unwrap();
        let at = layout.header_bytes();
        let begins: Vec<u64> = (0..4).map(|v| layout.begin(VariableId(v)) - at).collect();
        assert_eq!(begins, [0, 4, 36, 68], "{format}");
        assert_eq!((layout.record_size(), layout.begin_of_records() - at), (64, 36));
        assert_eq!(layout.file_bytes(3), Some(at + 36 + 3 * 64));
        assert_eq!(layout.variable_bytes(VariableId(1)), 32);
        // A lone record variable: no padding between records.
        let lone = schema(format, 1).layout(Alignment::PACKED).unwrap();
        assert_eq!((lone.record_size(), lone.variable_bytes(VariableId(2))), (30, 32));
    }
}

#[test]
fn alignment_has_pnetcdfs_meanings() {
    let begins = |alignment, records| {
        let layout = schema(Format::Cdf5, records).layout(alignment).unwrap();
        (layout.begin(VariableId(0)), layout.begin_of_records())
    };
    let parse = |text| Alignment::parse(text).unwrap();
    assert_eq!(begins(parse(""), 2), (512, 548));
    assert_eq!(begins(parse("nc_header_align_size=1024; cb_nodes=3"), 2), (1024, 1060));
    assert_eq!(begins(parse("nc_header_align_size=1024\nnc_var_align_size=2048 # wins"), 2), (2048, 2084));
    assert_eq!(begins(parse("nc_record_align_size=4096"), 2), (512, 4096));
    assert_eq!(begins(parse("nc_var_align_size=1000"), 0), (1000, 1036));
    assert!(Alignment::parse("nc_var_align_size=many").is_err());
    // Without fixed-size variables the records begin where the data do.
    let mut records_only = Schema::new(Format::Cdf2);
    let time = records_only.define_dimension("time", UNLIMITED).unwrap();
    records_only.define_variable("r", Type::Int, &[time]).unwrap();
    assert_eq!(records_only.layout(parse("nc_var_align_size=4096")).unwrap().begin(VariableId(0)), 512);
    assert_eq!(records_only.layout(parse("nc_record_align_size=4096")).unwrap().begin(VariableId(0)), 4096);
    assert!(records_only.layout(Alignment { record: Some(u64::MAX), ..Alignment::default() }).is_err());
}

#[test]
fn offsets_beyond_the_format_are_refused() {
    let of = |format, types: &[(u64, bool)]| -> Result<Layout, String> {
        let mut schema = Schema::new(format);
        let time = schema.define_dimension("time", UNLIMITED).unwrap();
        let k = schema.define_dimension("k", 1 << 20).unwrap();
        for (number, &(length, record)) in types.iter().enumerate() {
            let d = schema.define_dimension(&format!("d{number}"), length).unwrap();
            let dims = if record { vec![time, k, d] } else { vec![k, d] };
            schema.define_variable(&format!("v{number}"), Type::Byte, &dims).unwrap();
        }
        schema.layout(Alignment::PACKED).map_err(|error| error.to_string())
    };
    let (gib, small) = (1 << 10, 1);
    // CDF-1: nothing may begin beyond 2 GiB; only the last variable may reach over it.
    assert!(of(Format::Cdf1, &[(gib, false), (gib, false)]).is_ok());
    assert!(
        of(Format::Cdf1, &[(gib, false), (gib, false), (small, false)]).unwrap_err().contains("begin of variable v2")
    );
    assert!(of(Format::Cdf1, &[(2 * gib, false)]).is_ok());
    assert!(of(Format::Cdf1, &[(2 * gib, false), (small, false)]).unwrap_err().contains("bytes of variable v0"));
    // CDF-2: 4 GiB for all but the last variable of a file without records, or the last record variable.
    assert!(of(Format::Cdf2, &[(2 * gib, false), (3 * gib, false), (small, true)]).is_ok());
    assert!(of(Format::Cdf2, &[(small, false), (4 * gib, false)]).is_ok());
    assert!(of(Format::Cdf2, &[(4 * gib, false), (small, true)]).is_err());
    assert!(of(Format::Cdf2, &[(small, true), (5 * gib, true)]).is_ok());
    assert!(of(Format::Cdf2, &[(5 * gib, true), (small, true)]).is_err());
    assert!(of(Format::Cdf5, &[(5 * gib, false), (5 * gib, true), (small, true)]).is_ok());
    // What 32 bits cannot state is stated as 2^32 - 1.
    let large = of(Format::Cdf2, &[(5 * gib, false)]).unwrap();
    let header = large.header(0).unwrap();
    assert_eq!(&header[header.len() - 12..header.len() - 8], [0xff; 4]);
    assert!(large.header(1 << 31).unwrap_err().to_string().contains("records"));
}

#[test]
fn definitions_are_checked() {
    let mut schema = schema(Format::Cdf2, 1);
    let time = schema.unlimited().unwrap();
    let x = schema.dimension_id("x").unwrap();
    let v = schema.variable_id("plane").unwrap();
    let said = |result: tributary::Result<()>| result.unwrap_err().to_string();
    assert!(said(schema.define_dimension("x", 4).map(drop)).contains("defined already"));
    assert!(said(schema.define_dimension("t2", UNLIMITED).map(drop)).contains("one unlimited dimension"));
    assert!(said(schema.define_dimension("far", 1 << 31).map(drop)).contains("up to 2147483644 in CDF-2"));
    assert!(said(schema.define_variable("plane", Type::Int, &[x]).map(drop)).contains("defined already"));
    assert!(said(schema.define_variable("w", Type::Int64, &[x]).map(drop)).contains("type of variable w: int64"));
    assert!(said(schema.define_variable("w", Type::Int, &[x, time]).map(drop)).contains("as the first"));
    assert!(said(schema.put_attribute(v, "a", 1u8)).contains("type of attribute a: ubyte"));
    assert!(said(schema.put_attribute(v, "_FillValue", 1i32)).contains("one of type short"));
    assert!(said(schema.put_attribute(VariableId(9), "a", 1i32)).contains("3 defined variables"));
    assert!(said(schema.put_global_attribute("a/b", 1i32)).contains("name of attribute"));
    schema.put_global_attribute("title", "one").unwrap();
    schema.put_global_attribute("title", "two").unwrap();
    assert_eq!(schema.attributes()[0].values.bytes(), b"two");
}

#[test]
fn parts_that_leave_a_variable_are_refused() {
    let layout = schema(Format::Cdf2, 2).layout(Alignment::PACKED).unwrap();
    let said = |start: &[u64], count: &[u64]| layout.extents(VariableId(2), start, count).unwrap_err().to_string();
    assert!(said(&[0, 0], &[1, 1]).contains("3 each"));
    assert!(said(&[0, 2, 0], &[1, 2, 1]).contains("dimension 1 of variable r0: start 2, count 2"));
    assert!(said(&[0, 0, u64::MAX], &[1, 1, 2]).contains("dimension 2"));
    assert!(said(&[1 << 31, 0, 0], &[1, 1, 1]).contains("dimension 0"));
    assert!(layout.extents(VariableId(7), &[], &[]).is_err());
    assert!(layout.elements(VariableId(1), 1, [(0, 1)]).unwrap_err().to_string().contains("it has no records"));
    assert!(layout.elements(VariableId(1), 0, [(14, 2)]).is_err());
    assert!(layout.extents_of_all(VariableId(1), [([0, 0], [1, 1]), ([3, 0], [1, 1])]).is_err());
}

#[test]
fn regular_parts_take_constant_memory() {
    let mut schema = Schema::new(Format::Cdf5);
    let time = schema.define_dimension("time", UNLIMITED).unwrap();
    let d: Vec<_> = (0..3).map(|n| schema.define_dimension(&format!("d{n}"), 512).unwrap()).collect();
    let v = schema.define_variable("v", Type::Double, &[time, d[0], d[1], d[2]]).unwrap();
    let all = schema.layout(Alignment::PACKED).unwrap().extents(v, &[3, 1, 2, 3], &[100, 400, 400, 5]).unwrap();
    assert_eq!(all.count(), 100 * 400 * 400);
    assert!(all.memory() < 512, "{} bytes", all.memory());
}

proptest! {
    /// The extents of parts have the same bytes as the parts' elements one by one.
    #[test]
    fn parts_are_their_elements(
        records in 1usize..3,
        variable in 1usize..3,
        parts in prop::collection::vec((0u64..4, 0u64..3, 0u64..5, 0u64..3, 0u64..4, 0u64..6), 1..4),
    ) {
        let layout = schema(Format::Cdf2, records).layout(Alignment::default()).unwrap();
        let id = VariableId(variable);
        let record = variable > 1;
        let (mut list, mut expected) = (Vec::new(), Vec::new());
        for (t, x, y, nt, nx, ny) in parts {
            let (nx, ny) = (nx.min(3 - x), ny.min(5 - y));
            let (t, nt) = if record { (t, nt) } else { (0, 1) };
            for (t, x, y) in (t..t + nt).flat_map(|t| (x..x + nx).flat_map(move |x| (y..y + ny).map(move |y| (t, x, y)))) {
                let first = layout.begin(id) + t * layout.record_size() + (x * 5 + y) * 2;
                expected.extend([first, first + 1]);
            }
            let skip = usize::from(!record);
            list.push(([t, x, y][skip..].to_vec(), [nt, nx, ny][skip..].to_vec()));
        }
        let bytes = |all: &tributary::Extents| all.iter().flat_map(|e| e.offset..e.end()).collect::<Vec<_>>();
        let each: Vec<u64> =
            list.iter().flat_map(|(start, count)| bytes(&layout.extents(id, start, count).unwrap())).collect();
        prop_assert_eq!(&each, &expected);
        prop_assert_eq!(&bytes(&layout.extents_of_all(id, list).unwrap()), &expected);
    }
}
