//! Compiles C programs and links them as users would, with the libraries that Cargo has built beside the test
//! program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tributary_testing::fault_sweep::sources;
use tributary_testing::mpiexec;

/// The way in which a program is linked with GIO.
#[derive(Debug, Clone)]
pub enum Link {
    /// With the shared library, under the name of GIO's own library.
    Shared,
    /// With the static library.
    Static,
    /// With a static PnetCDF at this prefix that contains GIO. If true, this project's static library comes before
    /// PnetCDF.
    Pnetcdf(PathBuf, bool),
}

/// Option that makes the linker take GIO's functions from the first library that has them.
const FIRST: &str = "-Wl,-u,GIO_open";
/// System libraries that the static library needs.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// Compiles `tests/programs/<source>` and returns the program's path.
///
/// # Panics
/// Panics if the program does not compile without a warning.
pub fn compile(source: &str, link: &Link) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = std::env::current_exe().expect("the path of this test program");
    let built = program.parent().expect("a directory").to_path_buf();
    let made = match link {
        Link::Pnetcdf(_, ours) => format!("{source}.{}", if *ours { "ours" } else { "theirs" }),
        other => format!("{source}.{other:?}"),
    };
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(made);
    let mut command = Command::new(mpicc());
    command.args(["-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-I"]).arg(here.join("include"));
    command.arg("-I").arg(sources());
    if let Link::Pnetcdf(prefix, _) = link {
        command.arg("-I").arg(prefix.join("include"));
    }
    command.arg(here.join("tests/programs").join(source)).arg("-o").arg(&made);
    match link {
        Link::Shared => {
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the link").keep();
            let library = std::path::absolute(built.join("libtributary_gio.so")).expect("a path");
            for name in ["libgio.so", "libgio.so.0"] {
                std::os::unix::fs::symlink(&library, folder.join(name)).expect("a link");
            }
            command.arg("-L").arg(&folder).arg("-lgio").arg(format!("-Wl,-rpath,{}", folder.display()));
        }
        Link::Static => {
            command.arg(built.join("libtributary_gio.a")).args(SYSTEM);
        }
        Link::Pnetcdf(prefix, ours) => {
            if *ours {
                command.arg(FIRST).arg(built.join("libtributary_gio.a"));
            }
            command.arg(prefix.join("lib/libpnetcdf.a")).args(SYSTEM);
        }
    }
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", printed(&output));
    made
}

/// Returns the C compiler of the MPI library that the tests run on.
pub fn mpicc() -> String {
    std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_string())
}

/// Returns everything that a program printed, on standard output and standard error.
pub fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// Runs a program on `ranks` ranks, with `file` as its argument; returns its output.
///
/// # Panics
/// Panics if the program fails, or does not report success.
pub fn run(program: &Path, ranks: usize, file: &Path, environment: &[(&str, &str)]) -> String {
    let output = mpiexec::start(ranks, program, &[file.to_str().expect("a path in UTF-8")], environment);
    let printed = printed(&output);
    let what = program.display();
    assert!(output.status.success(), "{what} on {ranks} ranks ended with {}:\n{printed}", output.status);
    assert!(printed.contains("all well"), "{what} on {ranks} ranks did not get through:\n{printed}");
    printed
}
