//! Installs the libraries of this build as a user would, and compiles programs against them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use crate::fault_sweep::sources;
use crate::mpiexec;

/// The library with which a program is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The shared library.
    Shared,
    /// The static library, and the system libraries it needs.
    Static,
}

/// Returns the prefix under which this test program installs the libraries. `bindings/install` installs those that
/// Cargo has built beside the program.
pub fn prefix() -> &'static Path {
    static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = std::env::current_exe().expect("the path of this test program");
        let prefix = program.with_extension("installed");
        let _ = std::fs::remove_dir_all(&prefix);
        let built = program.parent().expect("a directory");
        expect(install().arg("--built").arg(built).arg(&prefix), "bindings/install");
        prefix
    });
    &PREFIX
}

/// Returns a command that runs the installation script.
pub fn install() -> Command {
    Command::new(crate_directory().join("../install"))
}

/// Returns the directory of the C API's crate.
pub fn crate_directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings/c"))
}

/// Returns the C compiler of the MPI library that the tests run on.
pub fn mpicc() -> String {
    std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_string())
}

/// Returns the compiler wrapper of another language that belongs to the C compiler: mpicxx.mpich for mpicc.mpich.
fn wrapper(name: &str, variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| mpicc().replace("mpicc", name))
}

/// Compiles one source against the installation and links it; returns the program's path.
///
/// # Panics
/// Panics if the source does not compile without a warning.
pub fn compile(source: &Path, link: Link) -> PathBuf {
    let extension = source.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let stem = source.file_stem().expect("a name").to_string_lossy();
    let program = prefix().join(format!("{stem}-{extension}-{link:?}"));
    let mut command = compiler(extension);
    if extension == "f90" {
        command.arg(prefix().join("include/tributary.f90"));
    }
    command.arg(source).arg("-o").arg(&program).arg("-I").arg(prefix().join("include"));
    command.arg("-I").arg(sources());
    match link {
        Link::Shared => {
            let lib = prefix().join("lib");
            command.arg("-L").arg(&lib).arg("-ltributary").arg(format!("-Wl,-rpath,{}", lib.display()));
        }
        Link::Static => {
            command.arg(prefix().join("lib/libtributary.a"));
            command.args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"]);
        }
    }
    // The Fortran compiler writes the module's file into the current directory.
    expect(command.current_dir(prefix()), "the compiler");
    program
}

/// Returns the compiler of a language, with its strictest options.
pub fn compiler(extension: &str) -> Command {
    let (wrapper, flags): (_, &[&str]) = match extension {
        "c" => (mpicc(), &["-std=c99", "-D_GNU_SOURCE", "-pedantic"]),
        // The C++ interface of MPI-2, which Open MPI's mpi.h brings unasked, does not compile without warnings.
        "cpp" => {
            (wrapper("mpicxx", "MPICXX"), &["-std=c++11", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-pedantic"])
        }
        // Without -pedantic, which would warn of the MPI modules.
        "f90" => (wrapper("mpifort", "MPIFC"), &["-std=f2018", "-Wno-unused-dummy-argument"]),
        other => panic!("a source that ends with .{other}"),
    };
    let mut command = Command::new(wrapper);
    command.args(flags).args(["-Wall", "-Wextra", "-Werror", "-O1"]);
    command
}

/// Runs a program to its end.
///
/// # Panics
/// Panics if the program cannot be run or fails. The message has everything that it printed.
pub fn expect(command: &mut Command, what: &str) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {command:?}: {error}"));
    assert!(output.status.success(), "{what} failed: {command:?}\n{}", printed(&output));
    output
}

/// Returns everything that a program printed, on standard output and standard error.
pub fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// Runs a program on `ranks` ranks. Its argument is the path of a file in a temporary directory.
///
/// # Panics
/// Panics if the program fails, or if no rank prints `words`.
pub fn run(program: &Path, ranks: usize, environment: &[(&str, &str)], words: &str) {
    let directory = tempfile::tempdir().expect("a directory for the ranks");
    let file = directory.path().join("file");
    let output = mpiexec::start(ranks, program, &[file.to_str().expect("a path in UTF-8")], environment);
    let printed = printed(&output);
    let what = program.display();
    assert!(output.status.success(), "{what} on {ranks} ranks ended with {}:\n{printed}", output.status);
    assert!(printed.contains(words), "{what} on {ranks} ranks did not print `{words}`:\n{printed}");
}
