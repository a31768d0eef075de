//! `trib run`: runs a command with the preload library in its ranks, and ends as the program ends.
//!
//! | module | holds |
//! |---|---|
//! | [`variables`] | the environment variables of the ranks |
//! | [`after`] | explains the captures when the command has ended |
//! | [`gain`] | a run without the library and one with it |

mod after;
mod gain;
mod variables;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tributary::engine::capture::CaptureTarget;

use crate::cli::run::RunOptions;
use crate::launcher::command::Ready;
use crate::launcher::component;
use crate::launcher::linked;
use crate::launcher::sanitizer::Sanitizer;
use crate::launcher::{self, Launcher, child, library, preload, program};
use crate::{Failure, compare, doctor, say};

/// Exit codes, as of `env` and `timeout`: the command was not found, or could not be run.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;

/// Runs the user's command with the library in its ranks.
///
/// # Errors
/// Mistakes in the options that are found before anything is started.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let plan = RunPlan::new(options)?;
    let mistakes = [crate::variables::unknown(), crate::hints::mistakes_of_process()?];
    mistakes.iter().flatten().for_each(|line| eprintln!("trib: {line}"));
    if options.dry_run {
        return say(&plan.ready);
    }
    doctor::check_launcher(&options.command)?;
    options.library.as_deref().map_or(Ok(()), doctor::check_library)?;
    if options.compare {
        return gain::run(options);
    }
    eprintln!("trib: {}", plan.line);
    if options.report.is_some()
        && let Some(program) = doctor::without_mpi(&options.command)
    {
        eprintln!(
            "trib: {program} is linked with no MPI library: there is a report only if it, or what it starts, opens a file by \
             MPI_File_open"
        );
    }
    let mut command = plan.ready.command();
    let Some(CaptureTarget { directory, .. }) = variables::captures(options)? else {
        // The command replaces this process, which so ends as the command does.
        let cause = command.exec();
        not_started(&command, &cause)
    };
    let status = child::run(&mut command).unwrap_or_else(|cause| not_started(&command, &cause));
    if !after::say(options, &directory) && status.success() {
        std::process::exit(1);
    }
    child::end_as(status)
}

/// Prints that the command could not be started, and ends the process with the exit code of `env`.
fn not_started(command: &Command, cause: &std::io::Error) -> ! {
    let code = if cause.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
    let name = command.get_program().to_string_lossy();
    eprintln!("trib: run: {name}: {cause}; check its name, or load the module that has it");
    std::process::exit(code)
}

/// Command to run, and the line about it.
struct RunPlan {
    ready: Ready,
    /// Line for the user that says how the library gets into the ranks.
    line: String,
}

impl RunPlan {
    /// Creates the command that runs the user's command with the library.
    fn new(options: &RunOptions) -> Result<Self, Failure> {
        let found = library::library(options.library.as_deref())?;
        if let Some(plan) = Self::by_component(options, &found)? {
            return Ok(plan);
        }
        let library = preload::word(&found)?;
        Self::with_list(options, &library, &library, variables::of(options)?)
    }

    /// Creates the command with the component of Open MPI. None if the library is preloaded instead.
    fn by_component(options: &RunOptions, library: &Path) -> Result<Option<Self>, Failure> {
        let Some(launcher) = launcher::of(&options.command[0])? else { return Ok(None) };
        let Some(loaded) = component_of(options, launcher, library) else { return Ok(None) };
        let mut all = variables::of(options)?;
        all.insert(0, loaded.variable);
        add_kept_back(&mut all, launcher);
        let ready = Ready::new(Some(launcher), &options.command, &all, |name| std::env::var(name).ok())?;
        Ok(Some(Self { ready, line: loaded_line(&loaded.file) }))
    }

    /// Creates the command with the library `inside`, which records into a folder, and with our library or without.
    fn measured(options: &RunOptions, inside: &Path, is_with: bool, folder: &Path) -> Result<Self, Failure> {
        let inside = preload::word(inside)?;
        let found = library::library(options.library.as_deref())?;
        let library = preload::word(&found)?;
        let mut variables = if is_with { variables::of(options)? } else { vec![compare::disabled()] };
        variables.push((compare::INSIDE.to_string(), folder.display().to_string()));
        let loaded = launcher::of(&options.command[0])?.and_then(|launcher| component_of(options, launcher, &found));
        match loaded.filter(|_| is_with) {
            Some(loaded) => {
                variables.push(loaded.variable);
                let plan = Self::with_list(options, &library, &inside, variables)?;
                Ok(Self { line: loaded_line(&loaded.file), ..plan })
            }
            None => {
                let list = if is_with { format!("{inside}:{library}") } else { inside };
                Self::with_list(options, &library, &list, variables)
            }
        }
    }

    /// Creates the command with a `list` of libraries to preload, and other variables.
    fn with_list(
        options: &RunOptions,
        library: &str,
        list: &str,
        mut variables: Vec<(String, String)>,
    ) -> Result<Self, Failure> {
        let launcher = launcher::of(&options.command[0])?;
        let mut words = options.command.clone();
        let inherited = std::env::var(preload::NAME).unwrap_or_default();
        let program = program::of(&words, launcher.is_some());
        let darshan = program.as_deref().and_then(linked::darshan_at);
        let darshan = darshan.as_deref().map(preload::word).transpose()?;
        let list = &darshan.iter().map(String::as_str).chain([list]).collect::<Vec<_>>().join(":");
        let sanitizer = program.as_deref().and_then(Sanitizer::at);
        let first = match &sanitizer {
            Some(Sanitizer::First(path)) => Some(preload::word(path)?),
            Some(Sanitizer::Missing(name)) => {
                eprintln!(
                    "trib: the program is built with -fsanitize=address, and the dynamic linker does not find its {name}"
                );
                None
            }
            Some(Sanitizer::Inside) | None => None,
        };
        let theirs = preload::into(&mut words, list, first.as_deref(), &inherited);
        if theirs.is_none() {
            let list = preload::behind(&inherited, list);
            let list = first.as_deref().map_or(list.clone(), |first| preload::before(first, &list));
            variables.insert(0, (preload::NAME.to_string(), list));
        }
        if let Some(launcher) = launcher {
            add_kept_back(&mut variables, launcher);
        }
        let ready = Ready::new(launcher, &words, &variables, |name| std::env::var(name).ok())?;
        let others = theirs.unwrap_or_else(|| preload::others(&inherited).iter().map(ToString::to_string).collect());
        let others: Vec<String> = first.into_iter().chain(others).chain(darshan).collect();
        let line = line(library, (launcher, &ready), &others);
        Ok(Self { ready, line })
    }
}

/// Returns the component of Open MPI with which the command is run; None if the library is preloaded, as it is if the
/// user names one, and in place of another one in LD_PRELOAD, to which the component would leave the files.
fn component_of(options: &RunOptions, launcher: &Launcher, library: &Path) -> Option<component::Loaded> {
    let inherited = std::env::var(preload::NAME).unwrap_or_default();
    let is_preloaded = options.library.is_some() || preload::replaced(&inherited, &library.to_string_lossy()).is_some();
    component::of(launcher, &options.command, library).filter(|_| !is_preloaded)
}

/// Returns the line for the user that says that the component is loaded.
fn loaded_line(file: &Path) -> String {
    format!("Open MPI loads {} in the ranks, as a component{}", file.display(), off())
}

/// Adds the variables of this library that the launcher does not give to ranks on other hosts by itself.
fn add_kept_back(variables: &mut Vec<(String, String)>, launcher: &Launcher) {
    for (name, value) in launcher.kept_back("TRIB_") {
        if !variables.iter().any(|(set, _)| *set == name) {
            variables.push((name, value));
        }
    }
}

/// Returns the part of the line for the user about a library that is switched off; empty if the library is on.
fn off() -> &'static str {
    if tributary::is_disabled() { "; TRIB_DISABLE is set, so MPI runs all calls" } else { "" }
}

/// Returns the line for the user that says how the library gets into the ranks.
fn line(library: &str, (launcher, ready): (Option<&Launcher>, &Ready), others: &[String]) -> String {
    let word = &ready.words[0];
    let into = match (launcher, ready.option) {
        (Some(launcher), Some(option)) => format!("into the ranks, by {option} of {}", launcher.name),
        _ => format!("into {word} and all that it starts, as it is no launcher that is known"),
    };
    let behind = match others {
        [] => String::new(),
        others => {
            format!(", behind {}", others.iter().map(|path| launcher::file_name(path)).collect::<Vec<_>>().join(", "))
        }
    };
    let inherited = std::env::var(preload::NAME).unwrap_or_default();
    let replaced = match preload::replaced(&inherited, library) {
        Some(other) => format!(", in place of {other} of {}", preload::NAME),
        None => String::new(),
    };
    format!("{library} is preloaded {into}{behind}{replaced}{}", off())
}
