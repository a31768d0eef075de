//! Tests `tributary_io.enable()` of the Python package: the library takes the calls of a script that enables it,
//! under every MPI library, with no variable set.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tributary_testing::wheels::Wheel;

use super::abis;
use super::mpi4py;
use crate::common::launch::{Launch, library};
use crate::common::programs::folder;
use crate::common::report::accelerated;

/// Returns the path of a file of the project.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Returns a folder with the Python package, as a wheel installs it, with the library under test.
pub fn package() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target directory").keep();
        let (inside, about) = (folder.join("tributary_io/root/lib"), folder.join("tributary_io-0.0.0.dist-info"));
        std::fs::create_dir_all(&inside).and_then(|()| std::fs::create_dir(&about)).expect("folders of the package");
        for entry in std::fs::read_dir(source("packages/python/tributary_io")).expect("the package's modules") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "py") {
                let name = path.file_name().expect("the name of a module");
                std::fs::copy(&path, folder.join("tributary_io").join(name)).expect("a copy of a module");
            }
        }
        std::os::unix::fs::symlink(library(), inside.join("libtributary_mpiio.so")).expect("a link to the library");
        std::fs::write(about.join("METADATA"), "Metadata-Version: 2.1\nName: tributary-io\nVersion: 0.0.0\n").unwrap();
        folder
    })
}

/// Returns the run with the package, and with reports.
fn packaged(launch: Launch) -> Launch {
    launch.env("PYTHONPATH", package().display().to_string()).env("TRIB_REPORT", "json")
}

/// Returns a run of a script on the MPI library that the tests run on.
fn script(ranks: usize, name: &str) -> Launch {
    packaged(mpi4py::python(ranks, &source(name)))
}

#[test]
fn a_script_that_enables_the_library() {
    let arrays = folder().join("arrays.py").display().to_string();
    let plain = mpi4py::python(3, Path::new(&arrays)).run();
    let outcome = script(3, "packages/tests/enables.py").arg(arrays).run();
    assert_eq!(outcome.stdout, plain.stdout);
    assert!(outcome.files == plain.files, "other files than without the library");
    assert!(accelerated(&outcome.reports, "write_all") > 0, "{}", outcome.stderr);
}

#[test]
fn under_every_mpi_of_the_package_index() {
    for wheel in [Wheel::mpich(), Wheel::intel(), Wheel::open_mpi()].into_iter().flatten() {
        let python = mpi4py::installed().join("python/bin/python");
        let launch = abis::under(&wheel, &python, 2).arg(source("packages/tests/enables.py").display().to_string());
        let launch = launch.arg(folder().join("arrays.py").display().to_string());
        let outcome = packaged(launch.env("MPI4PY_MPIABI", abis::family(&wheel).name())).run();
        assert!(accelerated(&outcome.reports, "write_all") > 0, "{}: {}", wheel.folder.display(), outcome.stderr);
    }
}

/// Imports mpi4py.MPI before, in a process in which nothing is simulated.
#[test]
fn too_late_is_an_error_that_says_so() {
    let text = "from mpi4py import MPI\nimport tributary_io\ntry:\n    tributary_io.enable()\nexcept RuntimeError as error:\n    print(error)\n";
    let written = tempfile::Builder::new().suffix(".py").tempfile().unwrap();
    std::fs::write(written.path(), text).unwrap();
    let said = packaged(mpi4py::python(1, written.path())).run().stdout;
    let due = "is loaded already; call tributary_io.enable() before the first import that loads MPI";
    assert!(said.starts_with("libmp") && said.contains(due), "{said}");
}

/// Writes a file with reports, hints and captures by arguments, and looks at the report on its first rank.
const ARGUMENTS: &str = r#"
import tributary_io
try:
    tributary_io.enable(report="page")
except ValueError as error:
    assert str(error) == "report='page'; allowed: True, False, 'json'", error
hints = {"trib_shared_memory": "disable", "cb_nodes": 1}
tributary_io.enable(report="json", hints=hints, capture="runs")
from mpi4py import MPI
world = MPI.COMM_WORLD
assert tributary_io.report() is None
file = MPI.File.Open(world, "data", MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Write_at_all(world.rank, bytes([world.rank]))
file.Close()
last = tributary_io.report()
assert (last is not None) == (world.rank == 0), last
assert last is None or last["file"].endswith("/data") and last["hints"]["cb_nodes"] == "1", last
own = MPI.File.Open(MPI.COMM_SELF, f"own-{world.rank}", MPI.MODE_CREATE | MPI.MODE_WRONLY)
own.Write_at_all(0, b"own")
own.Close()
assert tributary_io.report()["file"].endswith(f"/own-{world.rank}"), tributary_io.report()
print("ok")
"#;

#[test]
fn arguments_ask_for_reports_hints_and_captures() {
    let written = tempfile::Builder::new().suffix(".py").tempfile().unwrap();
    std::fs::write(written.path(), ARGUMENTS).unwrap();
    let outcome = mpi4py::python(3, written.path()).env("PYTHONPATH", package().display().to_string()).run();
    assert_eq!(outcome.stdout.matches("ok").count(), 3, "{}{}", outcome.stdout, outcome.stderr);
    let report = outcome.reports.first().unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert_eq!(report.hints.get("trib_shared_memory").map(String::as_str), Some("disable"), "{report:?}");
    assert!(outcome.folder.path().join("runs/data.tribcap").exists(), "{}", outcome.stderr);
    // mpi4py lets all threads call MPI; the files of single ranks have one report all the same.
    let files: Vec<_> = outcome.reports.iter().filter_map(|report| report.files).collect();
    assert_eq!(files, [3], "{}", outcome.stderr);
}

/// The reason why the library did not open a file is in its report: nobody reads the standard error of a notebook's kernel.
#[test]
fn a_hint_that_is_not_allowed_is_in_the_report() {
    let text = "import tributary_io\ntributary_io.enable(report=True, hints={'cb_nodes': 'many'})\nfrom mpi4py import MPI\n\
                file = MPI.File.Open(MPI.COMM_WORLD, 'data', MPI.MODE_CREATE | MPI.MODE_WRONLY)\ntry:\n    \
                file.Write_at_all(0, b'a')\nexcept MPI.Exception:\n    print('refused')\nfile.Close()\n\
                print(tributary_io.report()['not_taken'])\n";
    let written = tempfile::Builder::new().suffix(".py").tempfile().unwrap();
    std::fs::write(written.path(), text).unwrap();
    let said = mpi4py::python(1, written.path()).env("PYTHONPATH", package().display().to_string()).run().stdout;
    assert!(said.starts_with("refused\nthe library did not open the file: "), "{said}");
    assert!(said.contains("cb_nodes") && said.contains("`many` is not allowed"), "{said}");
}

#[test]
fn the_cells_of_the_notebook() {
    for ranks in [1, 3] {
        let notebook = source("examples/python/notebook.ipynb").display().to_string();
        let outcome = script(ranks, "packages/tests/cells.py").arg(notebook).run();
        assert_eq!(outcome.stdout.matches("driver posix").count(), ranks, "{}", outcome.stdout);
        assert!(accelerated(&outcome.reports, "write_at_all") == 1, "{}", outcome.stderr);
        assert_eq!(outcome.files["matrix.bin"].len(), 1000 * 50 * ranks * 8);
    }
}
