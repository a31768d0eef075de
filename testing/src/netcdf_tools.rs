//! Runs other projects' NetCDF tools, with which tests check files (instead of a reader of ours).
//!
//! `ncdump` and `ncgen` belong to NetCDF-C, `ncvalidator`, `cdfdiff` and `ncmpidiff` to PnetCDF. If a tool is
//! missing, the test fails; it is never skipped.

use std::path::Path;
use std::process::Command;

const PACKAGES: &str = "netcdf-bin and pnetcdf-bin (Debian, Ubuntu: apt-get install netcdf-bin pnetcdf-bin)";

/// Runs a tool; returns true if it succeeded, and its output.
///
/// # Panics
/// Panics if the tool is missing.
fn try_run(tool: &str, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(tool);
    // PnetCDF's tools may be linked with Open MPI, which refuses to start for root unless told twice.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = command.args(arguments).output();
    let output = output.unwrap_or_else(|cause| panic!("{tool}: {cause}; install {PACKAGES}"));
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), said)
}

/// Runs a tool; returns its output.
///
/// # Panics
/// Panics if the tool is missing or fails.
fn run(tool: &str, arguments: &[&str]) -> String {
    let (content, said) = try_run(tool, arguments);
    assert!(content, "{tool} {arguments:?}: {said}");
    said
}

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// Checks a file's header and size.
pub fn validate(path: &Path) {
    let said = run("ncvalidator", &[text(path)]);
    assert!(said.contains("is a valid NetCDF") && !said.contains("Error"), "{said}");
}

/// Returns the file as CDL: everything, or the data of one variable only.
pub fn dump(path: &Path, variable: Option<&str>) -> String {
    match variable {
        Some(name) => run("ncdump", &["-v", name, text(path)]),
        None => run("ncdump", &[text(path)]),
    }
}

/// Makes a file from CDL with NetCDF-C, in the format of this number (1, 2, 5); `fill` is true to write fill values
/// (`nc_set_fill`).
///
/// Makes a CDF-5 file from a NetCDF-4 file if there are 64-bit integers, which `ncgen` turns into `int` in classic
/// files.
pub fn generate(cdl: &str, format: u8, fill: bool, path: &Path) {
    let source = path.with_extension("cdl");
    std::fs::write(&source, cdl).unwrap();
    let between = path.with_extension("nc4");
    let kind = match format {
        1 => "classic",
        2 => "64-bit offset",
        _ => "cdf5",
    };
    let by_way = cdl.contains("int64 ");
    let (first, made) = if by_way { ("nc4", &*between) } else { (kind, path) };
    let mut arguments = vec!["-k", first, "-o", text(made), text(&source)];
    if !fill {
        arguments.insert(0, "-x");
    }
    run("ncgen", &arguments);
    if by_way {
        run("nccopy", &["-k", kind, text(&between), text(path)]);
    }
}

/// Returns a copy of a file that NetCDF-C read and wrote twice: into NetCDF-4 and back into the file's own format.
pub fn copied(path: &Path) -> std::path::PathBuf {
    let (between, back) = (path.with_extension("nc4"), path.with_extension("copy.nc"));
    let kind = run("ncdump", &["-k", text(path)]);
    run("nccopy", &["-k", "nc4", text(path), text(&between)]);
    run("nccopy", &["-k", kind.trim(), text(&between), text(&back)]);
    back
}

/// Checks with both of PnetCDF's tools that two files have the same definitions and data; or checks one variable
/// only.
pub fn same(path: &Path, other: &Path, variable: Option<&str>) {
    same_but(path, other, variable, &[]);
}

/// Does what [`same`] does. Accepts that `other` has one zero byte as the text of attributes that are empty in
/// `path`, because `ncgen` has no empty attributes.
pub fn same_but(path: &Path, other: &Path, variable: Option<&str>, empty: &[&str]) {
    for tool in ["cdfdiff", "ncmpidiff"] {
        let (content, said) = match variable {
            Some(name) => try_run(tool, &["-v", name, text(path), text(other)]),
            None => try_run(tool, &[text(path), text(other)]),
        };
        let excused = |line: &str| {
            line.ends_with("length (0) != (1)") && empty.iter().any(|name| line.contains(&format!("\"{name}\"")))
        };
        let differences: Vec<&str> = said.lines().filter(|line| line.contains("DIFF") && !excused(line)).collect();
        assert!(differences.is_empty(), "{tool}: {differences:#?}");
        assert!(content || !empty.is_empty(), "{tool}: {said}");
        assert!(said.contains("All variables of two files are the same") || variable.is_some(), "{tool}: {said}");
        assert!(said.contains("are the same"), "{tool} compared nothing: {said}");
    }
}
