//! Finds the MPI library that a program loads. The dynamic linker names the file; the library itself, loaded in a
//! process of its own, returns its version and its ABI.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use goblin::elf::Elf;
use serde::{Deserialize, Serialize};
use tributary_abi::Abi;

use super::program::Program;
use super::python;
use crate::compare::process;
use crate::launcher::{Family, preload};
use crate::{Failure, say};

/// Maximum time of a process that loads a library. A process that takes longer is assumed to hang.
const LIMIT: Duration = Duration::from_secs(30);

/// MPI library that a program loads.
#[derive(Debug, Serialize)]
pub struct MpiLibrary {
    pub path: PathBuf,
    /// Name and version of the library.
    pub version: String,
    /// Name of the library's ABI.
    #[serde(rename = "abi")]
    pub abi_name: &'static str,
    #[serde(skip)]
    pub abi: Option<Abi>,
}

impl MpiLibrary {
    /// Returns true if the library is linked with PMIx, by which a launcher of Open MPI starts ranks of any MPI library.
    pub fn has_pmix(&self) -> bool {
        let Ok(bytes) = std::fs::read(&self.path) else { return false };
        Elf::parse(&bytes).is_ok_and(|elf| elf.libraries.iter().any(|name| name.starts_with("libpmix")))
    }
}

/// Output of the process that loads a library.
#[derive(Serialize, Deserialize)]
struct Loaded {
    path: PathBuf,
    version: String,
    abi: String,
}

const ABIS: [Abi; 3] = [Abi::Mpich, Abi::OpenMpi, Abi::Standard];

/// Returns the MPI library of the program; if the program names none, the library that would be loaded under a launcher of
/// this family.
pub fn of(program: Option<&Program>, family: Option<Family>, problems: &mut Vec<String>) -> Option<MpiLibrary> {
    let listed = match program.filter(|program| program.is_preloadable()).map(listed) {
        Some(Ok(found)) => found,
        Some(Err(failure)) => {
            problems.push(failure.to_string());
            return None;
        }
        None if program.is_some() => return None,
        None => None,
    };
    let listed = match (listed, program) {
        (None, Some(program)) => match python::library(program) {
            Ok(found) => found,
            Err(failure) => {
                problems.push(failure.to_string());
                return None;
            }
        },
        (listed, _) => listed,
    };
    match loaded(listed.as_deref(), family) {
        Ok(mpi) => Some(mpi),
        // A program that names no MPI library may need none of the libraries that are found by default.
        Err(_) if listed.is_none() && program.is_some() => None,
        Err(failure) => {
            problems.push(failure.to_string());
            None
        }
    }
}

/// Returns the MPI library with which a program is linked; none if it is linked with none, or if the library cannot be loaded.
pub fn linked(program: &Program) -> Option<MpiLibrary> {
    loaded(Some(&listed(program).ok()??), None).ok()
}

/// Returns true if a program is not linked with an MPI library, and is not a script or an interpreter, which may load
/// one later.
pub fn is_without(program: &Program) -> bool {
    program.script.is_none() && !python::is_python(&program.path) && matches!(listed(program), Ok(None))
}

/// Returns the path of the MPI library among all libraries that the program needs, as the program's dynamic linker
/// finds them.
fn listed(program: &Program) -> Result<Option<PathBuf>, Failure> {
    let Some(linker) = &program.linker else { return Ok(None) };
    let mut command = Command::new(linker);
    command.arg("--list").arg(std::path::absolute(&program.path)?).env_remove(preload::NAME);
    let output = process::run(&mut command, LIMIT)?;
    let shown = program.path.display();
    for line in output.stdout.lines().map(str::trim) {
        let Some((name, file)) = line.split_once(" => ") else { continue };
        if file.starts_with("not found") {
            let allowed = "a library that LD_LIBRARY_PATH finds, or the module that the program was built with";
            return Err(Failure::new(format!("program: {shown}: {name} is not found; allowed: {allowed}")));
        }
        if name.starts_with("libmpi")
            && !["libmpicxx", "libmpi_", "libmpichf", "libmpichcxx"].iter().any(|other| name.starts_with(other))
            || name.starts_with("libmpi_abi")
        {
            return Ok(Some(PathBuf::from(file.split(" (").next().unwrap_or(file))));
        }
    }
    Ok(None)
}

/// Starts a process that loads the library at `path`; without a path, the library that a program would load.
fn loaded(path: Option<&Path>, family: Option<Family>) -> Result<MpiLibrary, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["doctor", "--load-mpi"]).env_remove(preload::NAME);
    match (path, family) {
        (Some(path), _) => drop(command.env("TRIB_MPI", path)),
        // By this variable, the process knows which launcher has started it.
        (None, Some(Family::OpenMpi)) => drop(command.env("OMPI_COMM_WORLD_SIZE", "1")),
        (None, Some(Family::Mpich)) => drop(command.env("PMI_RANK", "0")),
        (None, None) => {}
    }
    let output = process::run(&mut command, LIMIT).map_err(|failure| {
        let said = failure.to_string();
        Failure::new(said.split_once("trib: ").map_or(said.as_str(), |(_, line)| line))
    })?;
    let Loaded { path, version, abi } = serde_json::from_str(&output.stdout)?;
    let abi = ABIS.into_iter().find(|known| known.name() == abi);
    Ok(MpiLibrary { path, version, abi_name: abi.map_or("", Abi::name), abi })
}

/// Loads the MPI library and prints its properties. Runs in a process of its own.
///
/// # Errors
/// There is no MPI library, or one whose ABI is not known.
pub fn load() -> Result<(), Failure> {
    let mpi = tributary_abi::load()?;
    let version = tributary::fabric::mpi::name();
    let loaded = Loaded { path: mpi.path().to_path_buf(), version, abi: mpi.abi.name().to_string() };
    say(serde_json::to_string(&loaded)?)
}
