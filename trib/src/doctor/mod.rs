//! `trib doctor`: finds problems of a program that is to run with the library. Does not run the program. Runs only the dynamic
//! linker, which lists the program's libraries, the launcher, which prints its version, and Python, which finds the MPI
//! library of mpi4py. Also starts itself with the libraries of LD_PRELOAD, to find out which of them cannot be loaded.
//!
//! | module | holds |
//! |---|---|
//! | [`loading`] | libraries that cannot be preloaded |
//! | [`program`] | what kind of file the program is |
//! | [`mpi`] | the MPI library that the program loads |
//! | [`python`] | the MPI library that Python's mpi4py loads |
//! | [`slots`] | ranks that a launcher refuses |
//! | [`place`] | the file system of a path |
//! | [`settings`] | variables, the site's file, hints |
//! | [`text`] | the findings for people |

mod loading;
mod mpi;
mod place;
mod program;
mod python;
mod settings;
mod slots;
mod text;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::cli::doctor::DoctorOptions;
use crate::explain::FileSpeed;
use crate::launcher::{self, Family, Launcher, component, library, preload, program as words};
use crate::{Failure, say};
use mpi::MpiLibrary;
use place::FilePlace;
use program::Program;
use settings::Settings;

/// Time in which more calls on files are measured.
const MEASURE: Duration = Duration::from_secs(10);
/// Variables by which launchers number the processes that they start.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// Findings of `trib doctor`.
#[derive(Debug, Serialize)]
struct Findings {
    /// Path of the library to preload.
    library: Option<String>,
    /// Launcher, if the command begins with a known one.
    launcher: Option<Found>,
    /// Program of the command.
    program: Option<Program>,
    /// MPI library that the program loads; without a program, the library that a program would load here.
    mpi: Option<MpiLibrary>,
    /// Path of the component that Open MPI finds by itself.
    component: Option<PathBuf>,
    place: FilePlace,
    /// What calls on files take in the folder that was to be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<FileSpeed>,
    #[serde(flatten)]
    settings: Settings,
    /// Problems that were found, the worst first.
    problems: Vec<String>,
    /// Advice what to do next.
    next: String,
}

/// Launcher of the command.
#[derive(Debug, Serialize)]
struct Found {
    command: String,
    name: &'static str,
}

/// Checks everything that the options ask for, and prints the findings.
///
/// # Errors
/// There is a problem.
pub fn run(options: &DoctorOptions) -> Result<(), Failure> {
    if options.load_mpi {
        return mpi::load();
    }
    let measured = options.measure.as_deref().map(|folder| FileSpeed::measured(folder, MEASURE)).transpose()?;
    if let Some((measured, rank)) = measured.as_ref().zip(rank().filter(|&rank| rank > 0 && !options.json)) {
        return say(format!("process {rank}: {}", measured.text()));
    }
    let findings = Findings { measured, ..Findings::from_options(options) };
    say(if options.json { serde_json::to_string_pretty(&findings)? } else { text::of(&findings) })?;
    match findings.problems.len() {
        0 => Ok(()),
        1 => Err(Failure::new("doctor: 1 problem found")),
        several => Err(Failure::new(format!("doctor: {several} problems found"))),
    }
}

/// Returns the program of a command, if it is not linked with MPI, also not through a library, and is no Python.
pub fn without_mpi(command: &[String]) -> Option<String> {
    let is_launcher = usize::from(launcher::is_named(&command[0]));
    let word = &command[words::place(command, is_launcher)?];
    let program = Program::from_word(word).ok()?;
    mpi::is_without(&program).then(|| word.clone())
}

/// Checks that the launcher of a command belongs to the MPI library with which its program is linked. Otherwise each rank would be a
/// job of one rank, and all would write the same files. Runs the program's dynamic linker, and a process that loads the MPI library;
/// neither if the launcher belongs to no MPI, as srun.
///
/// # Errors
/// The launcher belongs to another MPI library, or cannot be started.
pub fn check_launcher(command: &[String]) -> Result<(), Failure> {
    let Some(family) = launcher::of(&command[0])?.and_then(|launcher| launcher.family) else { return Ok(()) };
    let program = words::place(command, 1).and_then(|at| Program::from_word(&command[at]).ok());
    let mpi = program.and_then(|program| mpi::linked(&program));
    mpi.and_then(|mpi| mismatch(&mpi, Some(family))).map_or(Ok(()), |problem| Err(Failure::new(problem)))
}

/// Checks that the dynamic linker can preload a library that the user named: otherwise the program would run without it.
///
/// # Errors
/// It cannot be loaded.
pub fn check_library(named: &Path) -> Result<(), Failure> {
    let word = preload::word(&library::library(Some(named))?)?;
    let problem = loading::problems(Some(&word)).into_iter().find(|problem| problem.starts_with("library:"));
    problem.map_or(Ok(()), |problem| Err(Failure::new(problem)))
}

impl Findings {
    fn from_options(options: &DoctorOptions) -> Self {
        let mut problems = Vec::new();
        let mut or_problem = |failure: Failure| problems.push(failure.to_string());
        let found = library::library(options.library.as_deref()).and_then(|path| preload::word(&path));
        let library = found.map_err(&mut or_problem).ok();
        problems.extend(loading::problems(library.as_deref()));
        let mut or_problem = |failure: Failure| problems.push(failure.to_string());
        let named = options.command.first().map(|word| launcher::of(word));
        let launcher: Option<&'static Launcher> = named.and_then(|found| found.map_err(&mut or_problem).ok()).flatten();
        let from = usize::from(launcher.is_some());
        let program = match words::place(&options.command, from) {
            Some(at) => Program::from_word(&options.command[at]).map_err(&mut or_problem).ok(),
            None => {
                if !options.command.is_empty() {
                    problems.push(no_program(&options.command, from));
                }
                None
            }
        };
        problems.extend(program.iter().flat_map(Program::problems));
        let family = launcher.and_then(|launcher| launcher.family);
        let mpi = mpi::of(program.as_ref(), family, &mut problems);
        problems.extend(mpi.as_ref().and_then(|mpi| mismatch(mpi, family)));
        problems.extend(launcher.and_then(|launcher| absent(launcher, &options.command[0])));
        let component = mpi.as_ref().filter(|mpi| mpi.abi == Some(tributary_abi::Abi::OpenMpi));
        let component = component.and_then(|mpi| component::installed(&mpi.path));
        let of = (library.as_ref().map(Path::new), program.as_ref().map(|program| &*program.path));
        let path = options.measure.as_ref().unwrap_or(&options.path);
        let settings = Settings::from_path(path, &options.hints, of, &mut problems);
        let place = FilePlace::from_path(path, &mut problems);
        problems.extend(launcher.and_then(|launcher| slots::too_few(launcher, &options.command)));
        let next = next(options, &problems, &settings, (&place, program.as_ref()));
        let word = options.command.first().cloned();
        let launcher = launcher.zip(word).map(|(launcher, command)| Found { command, name: launcher.name });
        Self { library, launcher, program, mpi, component, place, measured: None, settings, problems, next }
    }
}

/// Returns this process's number, if a launcher has started it.
fn rank() -> Option<usize> {
    RANKS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// Returns the problem of a command in which no word is a program.
fn no_program(command: &[String], from: usize) -> String {
    match command[from..].iter().find(|word| word.contains('/') && Path::new(word).is_file()) {
        Some(word) => format!("program: {word}: it is not executable; chmod +x {word}"),
        None => format!(
            "program: `{}` names no program that is there; name it by its path, as in mpiexec -n 4 ./program",
            command.join(" ")
        ),
    }
}

/// Returns the problem of a launcher that is known by its name and is not there.
fn absent(launcher: &Launcher, word: &str) -> Option<String> {
    let is_absent = words::file(word).is_none();
    is_absent.then(|| {
        format!(
            "launcher: {word}: no such program; load the module of {}, or name the launcher by its path",
            launcher.name
        )
    })
}

/// Returns the problem of a launcher whose family differs from the ABI of the MPI library, if they differ.
fn mismatch(mpi: &MpiLibrary, family: Option<Family>) -> Option<String> {
    let (other, launcher) = match (family?, mpi.abi?) {
        (Family::Mpich, tributary_abi::Abi::OpenMpi) => ("Open MPI", "hydra"),
        (Family::OpenMpi, tributary_abi::Abi::Mpich) if !mpi.has_pmix() => ("MPICH", "Open MPI"),
        _ => return None,
    };
    Some(format!(
        "launcher: that of {launcher}, but the program loads a library with the ABI of {other}: each rank would be alone in its \
         MPI_COMM_WORLD; allowed: the launcher of the same MPI"
    ))
}

/// Returns the last line of the output: the advice what to do next.
fn next(
    options: &DoctorOptions,
    problems: &[String],
    settings: &Settings,
    (place, program): (&FilePlace, Option<&Program>),
) -> String {
    let line = options.command.join(" ");
    match problems.first() {
        Some(_) if options.command.is_empty() => "repair the first problem, then trib doctor again".to_string(),
        Some(_) => format!("repair the first problem, then trib doctor -- {line}"),
        None if options.command.is_empty() => {
            "trib doctor -- COMMAND looks at a program of yours; trib run -- COMMAND runs it".to_string()
        }
        None if settings.policy.is_some() => format!("trib run -- {line} runs it as without the library"),
        None if program.is_some_and(|program| program.may_load_mpi_later()) => {
            format!("trib run --report -- {line}: the report says whether the program makes collective calls on files")
        }
        None if place.is_left_to_mpi => format!(
            "trib run --report -- {line}: MPI runs the calls on files on {}, for which it may have a driver; --hint \
             trib_driver=posix tries the library",
            place.file_system
        ),
        None if !place.is_coherent => format!(
            "trib run -- {line}: with ranks on several hosts, files are better on a parallel file system than on {}",
            place.file_system
        ),
        None => format!("trib run --report -- {line}"),
    }
}
