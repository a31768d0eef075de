//! Tests files with the tools of NetCDF-C and PnetCDF, and compares them with files that NetCDF-C made.

use std::path::Path;

use tributary::fabric::threads;
use tributary::{Endpoint, Hints, Result};
use tributary_netcdf::{Alignment, Dataset, Format, Type, UNLIMITED, Values, VariableId};
use tributary_testing::netcdf_tools as tools;

const RECORDS: u64 = 3;

/// A variable of the test file, over some of `time`, `y` (2) and `x` (5).
struct Variable {
    name: String,
    kind: Type,
    dimensions: &'static [(&'static str, u64)],
}

impl Variable {
    fn is_record(&self) -> bool {
        self.dimensions.first().is_some_and(|(name, _)| *name == "time")
    }

    fn elements(&self) -> u64 {
        self.dimensions.iter().map(|(_, length)| length).product()
    }

    /// Returns the position of element `n` along each dimension, and the counts of a part of one element.
    fn part(&self, mut n: u64) -> (Vec<u64>, Vec<u64>) {
        let mut start = vec![0; self.dimensions.len()];
        for (at, (_, length)) in self.dimensions.iter().enumerate().rev() {
            (start[at], n) = (n % length, n / length);
        }
        (start, vec![1; self.dimensions.len()])
    }

    /// Returns the value of element `n`; None if nobody writes the element, so that the fill value stays.
    fn value(&self, n: u64) -> Option<i64> {
        let holes = self.kind != Type::Char && n % 7 == 6;
        (!holes).then_some((self.name.len() as u64 * 5 + n * 3) as i64 % 26 + 97)
    }
}

/// Returns variables of every type of the format: a scalar, a fixed-size and a record variable.
fn variables(format: Format) -> Vec<Variable> {
    let mut all = Vec::new();
    for kind in Type::ALL.into_iter().filter(|kind| format.has(*kind)) {
        let shapes: [(&str, &[(&str, u64)]); 3] =
            [("s", &[]), ("f", &[("y", 2), ("x", 5)]), ("r", &[("time", RECORDS), ("x", 5)])];
        for (prefix, dimensions) in shapes {
            all.push(Variable { name: format!("{prefix}_{kind}"), kind, dimensions });
        }
    }
    all
}

/// Returns an attribute of every type: name, CDL, values.
fn attributes(format: Format) -> Vec<(&'static str, &'static str, Values)> {
    let mut all: Vec<(_, _, Values)> = vec![
        ("a_text", "\"some words\"", "some words".into()),
        ("a_byte", "1b, -2b, 3b", [1i8, -2, 3].into()),
        ("a_short", "-300s", (-300i16).into()),
        ("a_int", "70000, -1", [70_000i32, -1].into()),
        ("a_float", "1.5f", 1.5f32.into()),
        ("a_double", "2.5e100", 2.5e100f64.into()),
    ];
    if format == Format::Cdf5 {
        all.extend([
            ("a_ubyte", "200ub", Values::from(200u8)),
            ("a_ushort", "60000us", 60_000u16.into()),
            ("a_uint", "4000000000u", 4_000_000_000u32.into()),
            ("a_int64", "-5000000000ll", (-5_000_000_000i64).into()),
            ("a_uint64", "18446744073709551615ull", u64::MAX.into()),
        ]);
    }
    all
}

/// Returns the expected file as CDL, from the definitions above only, without this crate's code.
fn cdl(format: Format) -> String {
    let mut head = String::from("netcdf x {\ndimensions: time = UNLIMITED; y = 2; x = 5;\nvariables:\n");
    let mut data = String::from("data:\n");
    for variable in variables(format) {
        let Variable { name, kind, dimensions } = &variable;
        let names: Vec<&str> = dimensions.iter().map(|(name, _)| *name).collect();
        head += &format!(
            "{kind} {name}{};\n",
            if names.is_empty() { String::new() } else { format!("({})", names.join(",")) }
        );
        let number = |n| variable.value(n).map_or("_".to_string(), |value| value.to_string());
        let values: Vec<String> = (0..variable.elements()).map(number).collect();
        data += &match kind {
            Type::Char => {
                let letters: Vec<u8> =
                    (0..variable.elements()).filter_map(|n| Some(variable.value(n)? as u8)).collect();
                let rows: Vec<String> = letters.chunks(5).map(|row| format!("\"{}\"", row.escape_ascii())).collect();
                format!("{name} = {};\n", rows.join(", "))
            }
            _ => format!("{name} = {};\n", values.join(", ")),
        };
    }
    head += "f_short:_FillValue = 77s;\nr_int:_FillValue = -5;\n";
    for (name, text, _) in attributes(format) {
        head += &format!(":{name} = {text};\nr_double:{name} = {text};\n");
    }
    format!("{head}{data}}}\n")
}

/// Writes the file collectively: rank r of p writes the elements n with n mod p = r, of all variables in one flush.
fn write(path: &Path, format: Format, ranks: usize, alignment: Alignment, hints: &str) {
    let hints = Hints::parse(hints).unwrap();
    let outcomes = threads::run(ranks, |transport| -> Result<()> {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let mut file = Dataset::create(endpoint, path, format, hints.clone())?;
        file.set_alignment(alignment)?;
        file.set_fill(true)?;
        for (name, length) in [("time", UNLIMITED), ("y", 2), ("x", 5)] {
            file.define_dimension(name, length)?;
        }
        let all = variables(format);
        for Variable { name, kind, dimensions } in &all {
            let ids: Vec<_> = dimensions.iter().map(|(name, _)| file.schema().dimension_id(name).unwrap()).collect();
            file.define_variable(name, *kind, &ids)?;
        }
        let named = |file: &Dataset, name| file.schema().variable_id(name).unwrap();
        file.put_attribute(named(&file, "f_short"), "_FillValue", 77i16)?;
        file.put_attribute(named(&file, "r_int"), "_FillValue", -5i32)?;
        for (name, _, values) in attributes(format) {
            file.put_global_attribute(name, values.clone())?;
            file.put_attribute(named(&file, "r_double"), name, values)?;
        }
        assert!(file.end_define()?.is_some());
        for (id, variable) in all.iter().enumerate().filter(|(_, variable)| variable.is_record()) {
            for record in 0..RECORDS {
                assert_eq!(file.fill_record(VariableId(id), record)?.bytes_written % 2, 0, "{}", variable.name);
            }
        }
        for (id, variable) in all.iter().enumerate() {
            let mine =
                (rank..variable.elements()).step_by(ranks).filter_map(|n| Some((variable.part(n), variable.value(n)?)));
            let (parts, values): (Vec<_>, Vec<i64>) = mine.unzip();
            match variable.kind {
                Type::Char => {
                    let letters: Vec<u8> = values.iter().map(|&value| value as u8).collect();
                    file.iput_varn_external(VariableId(id), parts, &letters)?;
                }
                _ => file.iput_varn(VariableId(id), parts, &values)?,
            }
        }
        file.wait_all()?;
        file.close().map(drop)
    });
    outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
}

/// Writes the test file with this crate and with NetCDF-C; returns both paths.
fn both(directory: &Path, format: Format, ranks: usize, alignment: Alignment, hints: &str) -> [std::path::PathBuf; 2] {
    let [ours, theirs] = ["ours", "theirs"].map(|name| {
        let folder = directory.join(format!("{name}-{format}-{ranks}"));
        std::fs::create_dir_all(&folder).unwrap();
        folder.join("x.nc")
    });
    write(&ours, format, ranks, alignment, hints);
    tools::generate(&cdl(format), format.version(), true, &theirs);
    tools::validate(&ours);
    tools::same(&ours, &theirs, None);
    assert_eq!(tools::dump(&ours, None), tools::dump(&theirs, None), "{format} on {ranks} ranks");
    [ours, theirs]
}

/// With packed alignment, our files equal NetCDF-C's byte for byte, padding included; in CDF-5 except for the
/// padding, which `nccopy` leaves empty.
#[test]
fn files_are_those_of_netcdf_c() {
    let directory = tempfile::tempdir().unwrap();
    let worlds = [1, 2, 3, 5, 8, 13, 16];
    let formats = [Format::Cdf1, Format::Cdf2, Format::Cdf5];
    for (at, ranks) in worlds.into_iter().enumerate() {
        let format = formats[at % 3];
        let files = both(directory.path(), format, ranks, Alignment::PACKED, "cb_nodes=3");
        let [ours, theirs] = files.map(|path| std::fs::read(path).unwrap());
        if format != Format::Cdf5 {
            assert!(ours == theirs, "{format} on {ranks} ranks");
        }
        let header = ours.windows(8).rposition(|name| name == b"r_uint64").unwrap_or(0);
        assert_eq!(ours[..header], theirs[..header], "{format} on {ranks} ranks");
        assert_eq!(ours.len(), theirs.len(), "{format} on {ranks} ranks");
    }
}

#[test]
fn aligned_files_hold_the_same() {
    let directory = tempfile::tempdir().unwrap();
    for (format, text) in [
        (Format::Cdf1, "nc_header_align_size=4096"),
        (Format::Cdf2, "nc_var_align_size=1048576; nc_record_align_size=4096"),
        (Format::Cdf5, ""),
    ] {
        let alignment = Alignment::parse(text).unwrap();
        both(directory.path(), format, 5, alignment, "trib_driver=lustre; striping_unit=65536; striping_factor=3");
    }
}

/// The records of a single record variable with an odd size, without fill, have no padding between them.
#[test]
fn a_lone_record_variable_is_not_padded() {
    let directory = tempfile::tempdir().unwrap();
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        let (ours, theirs) = (directory.path().join("x.nc"), directory.path().join("y.nc"));
        let outcomes = threads::run(3, |transport| -> Result<()> {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank() as u64;
            let mut file = Dataset::create(endpoint, &ours, format, Hints::default())?;
            let time = file.define_dimension("time", UNLIMITED)?;
            let x = file.define_dimension("x", 3)?;
            let v = file.define_variable("v", Type::Byte, &[time, x])?;
            file.end_define()?;
            file.iput_vara(v, &[0, rank], &[5, 1], &[1 + rank, 2, 3, 4, 5])?;
            file.wait_all()?;
            file.close().map(drop)
        });
        outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
        let cdl = "netcdf y { dimensions: time = UNLIMITED; x = 3; variables: byte v(time, x); \
                   data: v = 1,2,3, 2,2,2, 3,3,3, 4,4,4, 5,5,5; }";
        tools::generate(cdl, format.version(), true, &theirs);
        tools::validate(&ours);
        tools::same(&ours, &theirs, None);
    }
}

/// `ncdump` prints exactly the definitions and values that were written.
#[test]
fn ncdump_prints_what_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("heat.nc");
    let outcomes = threads::run(2, |transport| -> Result<()> {
        let endpoint = Endpoint::new(transport);
        let rank = endpoint.rank() as u64;
        let mut file = Dataset::create(endpoint, &path, Format::Cdf5, Hints::default())?;
        let time = file.define_dimension("time", UNLIMITED)?;
        let column = file.define_dimension("column", 4)?;
        let heat = file.define_variable("heat", Type::Float, &[time, column])?;
        file.put_attribute(heat, "units", "W/m2")?;
        file.put_global_attribute("steps", [1i32, 2])?;
        file.end_define()?;
        file.iput_vara(heat, &[0, 2 * rank], &[2, 2], &[0.5, 1.5, 2.5, -3.0])?;
        file.wait_all()?;
        file.close().map(drop)
    });
    outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
    let expected = "netcdf heat {
dimensions:
\ttime = UNLIMITED ; // (2 currently)
\tcolumn = 4 ;
variables:
\tfloat heat(time, column) ;
\t\theat:units = \"W/m2\" ;

// global attributes:
\t\t:steps = 1, 2 ;
data:

 heat =
  0.5, 1.5, 0.5, 1.5,
  2.5, -3, 2.5, -3 ;
}
";
    assert_eq!(tools::dump(&path, None), expected);
}
