//! Tests patterns as NetCDF files: they equal their own serial file byte for byte, are valid, and equal the file that
//! NetCDF-C makes of the same values.

use crate::cdl;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use tributary::fabric::threads;
use tributary::{Endpoint, Hints};
use tributary_benchmarks::e3sm::{Content, E3sm, E3smCase, Generator, History};
use tributary_benchmarks::{
    Btio, BtioOptions, ElementType, Flash, FlashFile, FlashOptions, GeneratorOptions, NetcdfCase, Pattern, write_case,
    write_case_serially,
};
use tributary_netcdf::Format;
use tributary_testing::netcdf_tools as tools;

use crate::columns::Columns;

/// Checks everything that must be true of a case's NetCDF file.
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
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&serial).unwrap();
    write_case_serially(case, &file).unwrap();
    assert!(content(&ours) == content(&serial), "{}: not its own serial file", case.name());
    tools::validate(&ours);
    let at = u64::from_be_bytes(head(&file, 4));
    let records = if case.schema().format() == Format::Cdf5 { at } else { at >> 32 };
    tools::generate(&cdl::cdl(case.schema(), &layout, records, &file), case.schema().format().version(), true, &theirs);
    let every = case.schema().variables().iter().flat_map(|variable| &variable.attributes);
    let empty = every.chain(case.schema().attributes()).filter(|attribute| attribute.values.count() == 0);
    tools::same_but(&ours, &theirs, None, &empty.map(|attribute| &*attribute.name).collect::<Vec<_>>());
    assert!(tools::dump(&ours, None) == tools::dump(&theirs, None), "{}: ncdump prints something else", case.name());
}

fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn head(file: &File, at: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at).unwrap();
    bytes
}

#[test]
fn the_smallest_case_on_odd_worlds() {
    for (ranks, format) in [(1, Format::Cdf1), (3, Format::Cdf2), (5, Format::Cdf5), (13, Format::Cdf5)] {
        check(Columns::new(ranks, format).netcdf().unwrap());
    }
}

#[test]
fn the_files_of_flash() {
    for (ranks, file) in [(1, FlashFile::Checkpoint), (5, FlashFile::PlotCenter), (8, FlashFile::PlotCorner)] {
        let options = FlashOptions { file, cells: [2, 3, 4], blocks: 3, ..FlashOptions::default() };
        check(Flash::new(ranks, options).unwrap().netcdf().unwrap());
    }
}

#[test]
fn btio_on_square_worlds() {
    for (ranks, grid) in [(1, 5), (4, 7), (16, 13)] {
        check(Btio::new(ranks, BtioOptions { grid, iterations: 2 }).unwrap().netcdf().unwrap());
    }
}

/// Uses few columns, so that NetCDF-C's text form of all values stays small.
#[test]
fn the_cases_of_e3sm() {
    let options = GeneratorOptions { columns_per_rank: 2, groups: 1, seed: 5 };
    for (ranks, content) in [
        (3, Content { records: 2, element: ElementType::Float, ..Content::default() }),
        (5, Content { history: History::H1, ..Content::default() }),
        (2, Content { case: E3smCase::G, records: 2, ..Content::default() }),
        (2, Content { case: E3smCase::I, element: ElementType::Float, ..Content::default() }),
    ] {
        let source = Arc::new(Generator::from_case(content.case, ranks, options).unwrap());
        check(E3sm::with_content(source, content).unwrap().netcdf().unwrap());
    }
}

/// The file of the shipped map (16 ranks) is the same after NetCDF-C has read it and written it in another format and
/// back.
#[test]
fn the_f_case_as_netcdf_c_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.nc");
    let case = E3sm::shipped().unwrap();
    let hints = Hints::parse("cb_nodes=4").unwrap();
    let outcomes = threads::run(16, |transport| write_case(Endpoint::new(transport), &case, &path, &hints).map(drop));
    outcomes.unwrap().into_iter().for_each(|outcome| outcome.unwrap());
    tools::validate(&path);
    tools::same(&path, &tools::copied(&path), None);
}
