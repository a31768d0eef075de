//! Tests the functions of GIO in C programs, linked either way, and PnetCDF linked with them.

mod faults;
mod linked;

use std::path::{Path, PathBuf};
use std::process::Command;

use tributary_testing::fault_sweep::preloadable;
use tributary_testing::foreign_hints::ForeignHints;

use linked::{Link, compile, printed, run};

/// Builds this crate and the preload library together with the test, so that their libraries exist.
use tributary_gio as _;
use tributary_mpiio as _;

const WORLDS: [usize; 4] = [1, 2, 3, 5];

fn on_all_worlds(source: &str, link: &Link, environment: &[(&str, &str)]) {
    let program = compile(source, link);
    for ranks in WORLDS {
        let directory = tempfile::tempdir().unwrap();
        run(&program, ranks, &directory.path().join("file"), environment);
    }
}

#[test]
fn lists_are_written_and_read() {
    on_all_worlds("lists.c", &Link::Shared, &[]);
}

#[test]
fn lists_are_written_and_read_through_several_aggregators() {
    on_all_worlds("lists.c", &Link::Static, &[("TRIB_HINTS", "cb_nodes=3;cb_buffer_size=256;trib_tiny_call=0")]);
}

#[test]
fn lists_in_device_memory() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mpiio/tests/programs/gpu.c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcuda.so.1");
    let mut compiler = Command::new(linked::mpicc());
    compiler.args(["-shared", "-fPIC", "-DRUNTIME_CUDA", "-o"]).arg(&library).arg(&source);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    on_all_worlds("device.c", &Link::Shared, &[("TRIB_TEST_GPU", library.to_str().unwrap())]);
}

#[test]
fn stripes_of_new_files() {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lustre.so");
    let lustre = preloadable(&linked::mpicc(), "lustre", &made);
    let environment = [("LD_PRELOAD", lustre.to_str().unwrap()), ("TRIB_HINTS", "trib_ranks_per_node=1")];
    on_all_worlds("striped.c", &Link::Shared, &environment);
}

/// The preload library leaves PnetCDF this GIO. (Without it, the preload library makes PnetCDF call MPI-IO; its own tests
/// check that.)
#[test]
fn the_preload_library_lets_pnetcdf_keep_this_gio() {
    let preloaded = std::env::current_exe().unwrap().with_file_name("libtributary_mpiio.so");
    assert!(preloaded.exists(), "{} is not there", preloaded.display());
    for link in [Link::Shared, Link::Static] {
        on_all_worlds("kept.c", &link, &[("LD_PRELOAD", preloaded.to_str().unwrap())]);
    }
}

#[test]
fn hints_for_other_libraries_are_taken() {
    let foreign = ForeignHints::new();
    let environment = foreign.environment();
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    on_all_worlds("foreign.c", &Link::Shared, &environment);
}

#[test]
fn bad_input_is_refused_alike_on_all_ranks() {
    on_all_worlds("refusals.c", &Link::Static, &[]);
}

#[test]
fn ranks_in_different_calls_get_one_error() {
    let program = compile("mixed_calls.c", &Link::Shared);
    let all = ["", "trib_shared_memory=enable;trib_ranks_per_node=2", "trib_shared_memory=disable"];
    for (ranks, hints) in [2, 3].into_iter().flat_map(|ranks| all.map(|hints| (ranks, hints))) {
        let directory = tempfile::tempdir().unwrap();
        let said = run(&program, ranks, &directory.path().join("file"), &[("TRIB_HINTS", hints)]);
        for line in [
            "GIO_read_all: rank 1 is in GIO_write_all, rank 0 in GIO_read_all of /",
            "rank 1 is in GIO_read_all, rank 0 in GIO_set_size of /",
            "rank 1 is in GIO_close, rank 0 in GIO_write_all of /",
            "rank 1 closed the file while other ranks made other calls",
        ] {
            assert!(said.contains(line), "{ranks} ranks, {hints}: no {line}:\n{said}");
        }
    }
}

#[test]
fn the_shared_library_has_the_name_of_gios_and_exports_the_functions_of_the_header_and_its_version() {
    let program = std::env::current_exe().unwrap();
    let library = program.with_file_name("libtributary_gio.so");
    let say = |tool: &str, options: &[&str]| {
        let output = Command::new(tool).args(options).arg(&library).output().unwrap();
        assert!(output.status.success(), "{}", printed(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = say("nm", &["-D", "--defined-only", "--format=posix"]);
    let mut exported: Vec<_> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort_unstable();
    let header = include_str!("../../include/gio.h");
    let words = header.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('));
    let mut declared: Vec<_> = words.filter_map(|word| Some(word.split_once('(')?.0)).collect();
    declared.retain(|name| name.starts_with("GIO_"));
    declared.push("tributary_version");
    declared.sort_unstable();
    assert_eq!(exported, declared);
    assert!(say("readelf", &["-d"]).contains("[libgio.so.0]"));
}

/// Environment variable with the prefix of a static PnetCDF with GIO, for the MPI library of this build.
const PNETCDF: &str = "TRIB_PNETCDF_GIO";

#[test]
#[cfg_attr(
    not(pnetcdf_gio),
    ignore = "TRIB_PNETCDF_GIO does not name the prefix of a static PnetCDF 1.15 or later with GIO, for this MPI library"
)]
fn pnetcdf_writes_the_same_bytes() {
    let prefix = PathBuf::from(std::env::var_os(PNETCDF).expect("TRIB_PNETCDF_GIO, as at the build"));
    let (ours, theirs) = (
        compile("pnetcdf.c", &Link::Pnetcdf(prefix.clone(), true)),
        compile("pnetcdf.c", &Link::Pnetcdf(prefix, false)),
    );
    for ranks in [1, 2, 4] {
        let directory = tempfile::tempdir().unwrap();
        let files = ["ours", "theirs"].map(|name| directory.path().join(name));
        for (program, file, is_ours) in [(&ours, &files[0], true), (&theirs, &files[1], false)] {
            for hints in [&[][..], &[("PNETCDF_HINTS", "nc_num_aggrs_per_node=1")]] {
                let said = run(program, ranks, file, hints);
                assert_eq!(said.contains("Tributary"), is_ours, "{said}");
            }
        }
        let [ours, theirs] = files.map(|file| std::fs::read(file).unwrap());
        assert!(ours == theirs, "the files of {ranks} ranks differ");
    }
}
