//! The launchers of MPI programs: how each sets variables for the ranks and not for itself, and the libraries that are
//! preloaded.
//!
//! | module | holds |
//! |---|---|
//! | [`command`], [`child`] | a command with variables for its ranks; a command that runs as a child process |
//! | `srun` | srun's option `--export` |
//! | [`program`] | which word of a command is the program |
//! | [`library`] | where the library to preload is |
//! | [`component`] | the component of Open MPI, which is not preloaded |
//! | [`preload`] | the list of LD_PRELOAD, and commands that set it themselves |
//! | [`sanitizer`] | a library that must come first in it |
//! | [`linked`] | libraries of the program that decide how the library is loaded: Darshan, PnetCDF |

pub mod child;
pub mod command;
pub mod component;
pub mod library;
pub mod linked;
pub mod preload;
pub mod program;
pub mod sanitizer;
mod srun;

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Family of an MPI library. Handles, launchers and hints differ between families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// MPICH and its derivatives.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Family {
    /// Returns the suffix of the names of the family's tools in distributions, as in `mpiexec.mpich`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpich => "mpich",
            Self::OpenMpi => "openmpi",
        }
    }

    /// Returns the launcher arguments that set a variable for the ranks only.
    pub fn for_ranks(self, name: &str, value: &str) -> Vec<String> {
        let launcher = LAUNCHERS.iter().find(|launcher| launcher.family == Some(self));
        launcher.map(|launcher| launcher.way.words(name, value)).unwrap_or_default()
    }
}

/// Launcher of MPI programs. [`LAUNCHERS`] has all.
#[derive(Debug)]
pub struct Launcher {
    /// Name of the launcher in messages.
    pub name: &'static str,
    /// File names that only this launcher has.
    files: &'static [&'static str],
    /// Texts in the output of `--version`, by which launchers with the same file name are distinguished.
    says: &'static [&'static str],
    /// Family of the MPI library that the launcher belongs to, if it belongs to one.
    pub family: Option<Family>,
    /// Form of the option that sets a variable.
    way: VariableForm,
    /// True if each part of a command with ` : ` has its own options.
    each: bool,
    /// True if the launcher passes its environment to ranks on other hosts by default.
    hands_on: bool,
}

/// Form of a launcher's option that sets a variable for the ranks.
#[derive(Debug, Clone, Copy)]
enum VariableForm {
    /// `-genv NAME VALUE`
    Pair(&'static str),
    /// `-x NAME=VALUE`
    Joined(&'static str),
    /// `--env=NAME=VALUE` after the command of flux, such as `flux run`. In flux a `$` begins the name of a variable.
    Flux,
    /// `--export=ALL,NAME=VALUE`
    Export,
}

/// All known launchers.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "hydra",
        files: &["mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich"],
        says: &["HYDRA", "MPICH", "Intel(R) MPI"],
        family: Some(Family::Mpich),
        way: VariableForm::Pair("-genv"),
        each: false,
        hands_on: true,
    },
    Launcher {
        name: "Open MPI",
        files: &["mpiexec.openmpi", "mpirun.openmpi", "orterun", "prterun", "prun"],
        says: &["Open MPI", "OpenRTE", "PRRTE"],
        family: Some(Family::OpenMpi),
        way: VariableForm::Joined("-x"),
        each: true,
        hands_on: false,
    },
    Launcher { files: &["srun"], way: VariableForm::Export, each: true, ..of_a_scheduler("Slurm") },
    Launcher { files: &["flux"], way: VariableForm::Flux, ..of_a_scheduler("flux") },
    Launcher { files: &["jsrun"], way: VariableForm::Joined("-E"), ..of_a_scheduler("jsrun") },
    Launcher { files: &["aprun"], way: VariableForm::Joined("-e"), each: true, ..of_a_scheduler("aprun") },
];

const fn of_a_scheduler(name: &'static str) -> Launcher {
    Launcher { name, files: &[], says: &[], family: None, way: VariableForm::Export, each: false, hands_on: true }
}

/// Environment variables: pairs of name and value.
pub type Variables = Vec<(String, String)>;

/// Beginnings of file names that several launchers have.
const SHARED: [&str; 2] = ["mpiexec", "mpirun"];

impl VariableForm {
    /// Returns the words of the command line that set a variable.
    fn words(self, name: &str, value: &str) -> Vec<String> {
        match self {
            Self::Pair(option) => vec![option.to_string(), name.to_string(), value.to_string()],
            Self::Joined(option) => vec![option.to_string(), format!("{name}={value}")],
            Self::Flux => vec![format!("--env={name}={}", value.replace('$', "$$"))],
            Self::Export => vec![format!("--export=ALL,{name}={value}")],
        }
    }

    /// Returns the name of the option.
    fn option(self) -> &'static str {
        match self {
            Self::Pair(option) | Self::Joined(option) => option,
            Self::Flux => "--env",
            Self::Export => "--export",
        }
    }
}

/// Returns the name of a command's file.
pub fn file_name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
}

/// Returns true if a word has the file name of a launcher. Starts nothing.
pub fn is_named(word: &str) -> bool {
    let file = file_name(word);
    LAUNCHERS.iter().any(|launcher| launcher.files.contains(&file)) || SHARED.iter().any(|name| file.starts_with(name))
}

/// Returns the launcher that the first word of a command names, if it is a known one. If several launchers have the
/// name, runs it with `--version`; starts nothing else.
///
/// # Errors
/// The launcher cannot be started.
pub fn of(word: &str) -> Result<Option<&'static Launcher>, Failure> {
    let file = file_name(word);
    match LAUNCHERS.iter().find(|launcher| launcher.files.contains(&file)) {
        None if SHARED.iter().any(|name| file.starts_with(name)) => asked(word),
        known => Ok(known),
    }
}

/// Returns the message why a launcher could not be started, and what to do.
fn why_not_started(program: &str, cause: &std::io::Error) -> String {
    let near = tributary::hints::similar(file_name(program), SHARED).filter(|near| *near != program);
    let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
    format!("{cause}; {near}load the module of your MPI library, or name its launcher by its path")
}

/// Returns the launcher that a program is, from the output of `--version`; none if it is not known.
///
/// # Errors
/// The program cannot be started.
pub fn asked(program: &str) -> Result<Option<&'static Launcher>, Failure> {
    let output = Command::new(program).arg("--version").env_remove("LD_PRELOAD").output();
    let output =
        output.map_err(|cause| Failure::new(format!("mpiexec: {program}: {}", why_not_started(program, &cause))))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(LAUNCHERS.iter().find(|launcher| launcher.says.iter().any(|words| said.contains(words))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_by_their_names() {
        for (word, name) in [
            ("mpiexec.hydra", Some("hydra")),
            ("/opt/bin/orterun", Some("Open MPI")),
            ("/usr/bin/srun", Some("Slurm")),
            ("flux", Some("flux")),
            ("jsrun", Some("jsrun")),
            ("aprun", Some("aprun")),
            ("./model", None),
            ("bash", None),
        ] {
            assert_eq!(of(word).unwrap().map(|launcher| launcher.name), name, "{word}");
        }
        let said = of("/nowhere/mpirun").unwrap_err().to_string();
        assert!(said.starts_with("mpiexec: /nowhere/mpirun: No such file"), "{said}");
    }

    #[test]
    fn launchers_of_one_name_by_what_they_say() {
        let folder = tempfile::tempdir().unwrap();
        for (says, name) in [
            ("HYDRA build details:\n  Version: 4.0.2", Some("hydra")),
            ("Intel(R) MPI Library for Linux* OS, Version 2021.19 Build 20260101", Some("hydra")),
            ("mpirun (Open MPI) 5.0.11", Some("Open MPI")),
            ("mpiexec version 1.4", None),
        ] {
            let path = folder.path().join("mpirun");
            let fresh = folder.path().join("fresh");
            std::fs::write(&fresh, format!("#!/bin/sh\ncat <<'END'\n{says}\nEND\n")).unwrap();
            std::fs::set_permissions(&fresh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            std::fs::rename(&fresh, &path).unwrap();
            // Another thread of this process may be starting a program, with the script's file still open for writing.
            let found = std::iter::repeat_with(|| of(path.to_str().unwrap())).find_map(Result::ok).unwrap();
            assert_eq!(found.map(|launcher| launcher.name), name, "{says}");
        }
    }
}
