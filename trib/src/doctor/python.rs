//! Finds the MPI library of a program in Python: Python itself names none, and its package mpi4py loads one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::program::Program;
use crate::Failure;
use crate::compare::process;
use crate::launcher::{file_name, preload};

/// Maximum time of the Python process. A process that takes longer is assumed to hang.
const LIMIT: Duration = Duration::from_secs(10);

/// Python program that prints the file of the MPI library that mpi4py loads, or why it loads none; nothing if there is
/// no mpi4py. MPI is not initialised.
const ASK: &str = r#"
import importlib.util, sys
if importlib.util.find_spec("mpi4py") is None:
    sys.exit()
import mpi4py
mpi4py.rc.initialize = False
try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as failure:
    print("failure", " ".join(str(failure).split()))
    sys.exit()
for line in open("/proc/self/maps"):
    path = line.split(maxsplit=5)[-1].strip()
    if path.rpartition("/")[2].startswith(("libmpi.", "libmpich.", "libmpi_abi.", "libmpi_cray.", "libmpi_gnu")):
        print("library", path)
        break
"#;

/// Returns the path of the MPI library that mpi4py loads in this program. None if the program is not Python, or if there is
/// no mpi4py.
///
/// # Errors
/// mpi4py is there and loads no MPI library.
pub fn library(program: &Program) -> Result<Option<PathBuf>, Failure> {
    // The `python` of a version manager is a script. That script then runs the Python that is set for the folder.
    let Some(python) = program.script.iter().chain([&program.path]).find(|path| is_python(path)) else {
        return Ok(None);
    };
    let mut command = Command::new(python);
    command.args(["-c", ASK]).env_remove(preload::NAME);
    let Ok(output) = process::run(&mut command, LIMIT) else { return Ok(None) };
    let last = output.stdout.lines().last().unwrap_or_default();
    match last.split_once(' ') {
        Some(("library", path)) => Ok(Some(PathBuf::from(path))),
        Some(("failure", why)) => Err(Failure::new(format!(
            "program: mpi4py of {} loads no MPI library: {why}; load the module of the MPI library that mpi4py was made for",
            python.display()
        ))),
        _ => Ok(None),
    }
}

/// Returns true if a program is called python, python3, python3.11, pypy or similar.
pub fn is_python(path: &Path) -> bool {
    let name = file_name(path.to_str().unwrap_or_default());
    name.starts_with("python") || name.starts_with("pypy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_by_their_names() {
        for (path, due) in [("/v/bin/python", true), ("/usr/bin/python3.11", true), ("/usr/bin/env", false)] {
            assert_eq!(is_python(Path::new(path)), due, "{path}");
        }
    }
}
