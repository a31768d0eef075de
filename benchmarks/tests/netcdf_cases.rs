//! Patterns as NetCDF files: byte for byte their own serial file, valid, and equal to what NetCDF-C makes of the same
//! values.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tributary::access::BufferLayout;
use tributary::fabric::threads;
use tributary::{Endpoint, Extents, Hints};
use tributary_benchmarks::{
    ClosedForm, Division, NetcdfCase, Pattern, PatternError, Put, RankAccess, Totals, write_case, write_case_serially,
};
use tributary_netcdf::{Alignment, Format, Layout, Requests, Schema, Type, UNLIMITED, VariableId};

#[path = "../../tests/common/netcdf_tools.rs"]
mod tools;

/// A value of a variable in the file, as CDL has it.
fn cdl_value(kind: Type, bytes: &[u8]) -> String {
    let unsigned = bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let unused = 64 - 8 * bytes.len() as u32;
    match kind {
        Type::Float => format!("{:.9e}", f32::from_bits(unsigned as u32)),
        Type::Double => format!("{:.17e}", f64::from_bits(unsigned)),
        Type::UByte | Type::UShort | Type::UInt | Type::UInt64 => format!("{unsigned}ull"),
        Type::Byte | Type::Short | Type::Int | Type::Int64 => format!("{}ll", (unsigned << unused) as i64 >> unused),
        Type::Char => panic!("text goes by rows"),
    }
}

/// Attributes of a type as CDL has them.
fn cdl_attribute(kind: Type, bytes: &[u8]) -> String {
    let suffix = match kind {
        Type::Char => return cdl_text(bytes),
        Type::Byte => "b",
        Type::Short => "s",
        Type::Float => "f",
        Type::UByte => "ub",
        Type::UShort => "us",
        Type::UInt => "u",
        _ => "",
    };
    let one = |value: &[u8]| {
        let text = cdl_value(kind, value);
        let plain = if matches!(kind, Type::Int64 | Type::UInt64) { &*text } else { text.trim_end_matches(['l', 'u']) };
        format!("{plain}{suffix}")
    };
    bytes.chunks(kind.size() as usize).map(one).collect::<Vec<_>>().join(", ")
}

fn cdl_text(bytes: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\{byte:03o}"),
        _ => char::from(byte).to_string(),
    };
    format!("\"{}\"", bytes.iter().map(letter).collect::<String>())
}

/// A whole file as CDL: definitions from the schema, values from `file`.
fn cdl(schema: &Schema, layout: &Layout, records: u64, file: &File) -> String {
    let (mut head, mut data) = (String::from("netcdf x {\ndimensions:\n"), String::from("data:\n"));
    for dimension in schema.dimensions() {
        let length = if dimension.length == UNLIMITED { "UNLIMITED".into() } else { dimension.length.to_string() };
        head += &format!("{} = {length};\n", dimension.name);
    }
    head += "variables:\n";
    for (number, variable) in schema.variables().iter().enumerate() {
        let dimensions = variable.dimensions.iter().map(|id| &schema.dimensions()[id.0]);
        let names: Vec<&str> = dimensions.clone().map(|dimension| dimension.name.as_str()).collect();
        let names = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
        head += &format!("{} {}{names};\n", variable.kind, variable.name);
        for attribute in &variable.attributes {
            let values = cdl_attribute(attribute.values.kind(), attribute.values.bytes());
            head += &format!("{}:{} = {values};\n", variable.name, attribute.name);
        }
        let count: Vec<u64> = dimensions.map(|d| if d.length == UNLIMITED { records } else { d.length }).collect();
        if count.contains(&0) {
            continue;
        }
        let all = layout.extents(VariableId(number), &vec![0; count.len()], &count).unwrap();
        let mut bytes = Vec::new();
        for extent in all.iter() {
            let at = bytes.len();
            bytes.resize(at + extent.len as usize, 0);
            file.read_exact_at(&mut bytes[at..], extent.offset).unwrap();
        }
        let values: Vec<String> = match variable.kind {
            Type::Char => bytes.chunks(count.last().map_or(1, |&n| n as usize)).map(cdl_text).collect(),
            kind => bytes.chunks(kind.size() as usize).map(|value| cdl_value(kind, value)).collect(),
        };
        data += &format!("{} = {};\n", variable.name, values.join(", "));
    }
    for attribute in schema.attributes() {
        head +=
            &format!(":{} = {};\n", attribute.name, cdl_attribute(attribute.values.kind(), attribute.values.bytes()));
    }
    format!("{head}{data}}}\n")
}

/// Holds a case to everything a NetCDF file must be.
fn check(case: &dyn NetcdfCase) {
    let directory = tempfile::tempdir().unwrap();
    let [ours, serial, theirs] = ["ours", "serial", "theirs"].map(|name| {
        std::fs::create_dir(directory.path().join(name)).unwrap();
        directory.path().join(name).join("x.nc")
    });
    let hints = Hints::parse("cb_nodes=3; cb_buffer_size=64KiB").unwrap();
    let outcomes = threads::run(case.ranks(), |transport| {
        let (written, _) = write_case(Endpoint::new(transport), case, &ours, &hints)?;
        Ok::<_, tributary::Error>(written)
    });
    let layout = case.schema().layout(case.alignment()).unwrap();
    for outcome in outcomes.unwrap() {
        let written = outcome.unwrap();
        assert_eq!(written.calls.len(), case.steps(), "one flush a step");
        let bytes: u64 = written.calls.iter().map(|call| call.bytes).sum();
        let header = bytes.checked_sub(case.totals().bytes).expect("all bytes of the pattern");
        assert!(header >= layout.header_bytes() && header <= layout.header_bytes() + 8 * case.steps() as u64);
    }
    let options = || File::options().read(true).write(true).create(true).truncate(true).open(&serial).unwrap();
    let file = options();
    write_case_serially(case, &file).unwrap();
    assert!(content(&ours) == content(&serial), "{}: not its own serial file", case.name());
    tools::validate(&ours);
    let at = u64::from_be_bytes(head(&file, 4));
    let records = if case.schema().format() == Format::Cdf5 { at } else { at >> 32 };
    tools::generate(&cdl(case.schema(), &layout, records, &file), case.schema().format().version(), true, &theirs);
    tools::same(&ours, &theirs, None);
    assert!(tools::dump(&ours, None) == tools::dump(&theirs, None), "{}: ncdump prints something else", case.name());
}

fn content(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn head(file: &File, at: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at).unwrap();
    bytes
}

/// The smallest case: a name of each rank, and a record a step whose columns are dealt out to the ranks.
struct Columns {
    ranks: usize,
    schema: Schema,
    layout: Layout,
}

const COLUMNS: u64 = 29;
const STEPS: usize = 3;

impl Columns {
    fn new(ranks: usize, format: Format) -> Self {
        let mut schema = Schema::new(format);
        let time = schema.define_dimension("time", UNLIMITED).unwrap();
        let rank = schema.define_dimension("rank", ranks as u64).unwrap();
        let column = schema.define_dimension("column", COLUMNS).unwrap();
        schema.define_variable("name", Type::Char, &[rank]).unwrap();
        let heat = schema.define_variable("heat", Type::Float, &[time, column]).unwrap();
        schema.put_attribute(heat, "scale", [0.25f32, -8.0]).unwrap();
        schema.put_global_attribute("ranks", ranks as i32).unwrap();
        let layout = schema.layout(Alignment::PACKED).unwrap();
        Self { ranks, schema, layout }
    }

    fn columns(&self, rank: usize) -> impl Iterator<Item = u64> + use<> {
        (rank as u64..COLUMNS).step_by(self.ranks)
    }
}

fn heat(step: usize, column: u64) -> [u8; 4] {
    (1.0 / (step as f32 + column as f32 * 7.0 + 3.0)).to_be_bytes()
}

impl NetcdfCase for Columns {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn alignment(&self) -> Alignment {
        Alignment::PACKED
    }

    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError> {
        let requests: Requests = self.columns(rank).map(|column| ([step as u64, column], [1, 1])).collect();
        let data = self.columns(rank).flat_map(|column| heat(step, column)).collect();
        let mut puts = vec![Put { variable: VariableId(1), requests, data }];
        if step == 0 {
            let requests = vec![([rank as u64], [1])].into();
            puts.push(Put { variable: VariableId(0), requests, data: vec![b'a' + rank as u8] });
        }
        Ok(puts)
    }
}

impl Pattern for Columns {
    fn name(&self) -> &str {
        "columns"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        "a test".to_string()
    }

    fn steps(&self) -> usize {
        STEPS
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        let mut file = Extents::empty();
        for put in self.puts(rank, step)? {
            file.push(&self.layout.extents_of_all(put.variable, put.requests.iter())?)?;
        }
        Ok(RankAccess { requests: file.count(), file, layout: BufferLayout::Contiguous })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        data.copy_from_slice(&self.puts(rank, step)?.into_iter().flat_map(|put| put.data).collect::<Vec<_>>());
        Ok(())
    }

    fn totals(&self) -> Totals {
        let bytes = self.ranks as u64 + COLUMNS * 4 * STEPS as u64;
        let file_size = self.layout.file_bytes(STEPS as u64).unwrap();
        Totals { requests: COLUMNS * STEPS as u64 + self.ranks as u64, bytes, file_size }
    }

    fn closed_form(&self, _division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        ClosedForm { requests, bytes, metadata_fan_in: None, data_fan_in: None }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        for rank in 0..self.ranks {
            file.write_all_at(&[b'a' + rank as u8], self.layout.begin(VariableId(0)) + rank as u64).unwrap();
        }
        for (step, column) in (0..STEPS).flat_map(|step| (0..COLUMNS).map(move |column| (step, column))) {
            let at = self.layout.begin_of_records() + (step as u64 * COLUMNS + column) * 4;
            file.write_all_at(&heat(step, column), at).unwrap();
        }
        Ok(())
    }

    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        Some(self)
    }
}

#[test]
fn the_smallest_case_on_odd_worlds() {
    for (ranks, format) in [(1, Format::Cdf1), (3, Format::Cdf2), (5, Format::Cdf5), (13, Format::Cdf5)] {
        check(Columns::new(ranks, format).netcdf().unwrap());
    }
}
