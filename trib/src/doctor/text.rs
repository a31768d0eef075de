//! Prints the findings as lines of text.

use super::Findings;
use super::program::Program;
use crate::launcher::sanitizer::Sanitizer;

/// Returns the findings as lines of text.
pub fn of(findings: &Findings) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut line = |name, text: String| lines.push((name, text));
    line("library", findings.library.clone().unwrap_or_else(|| "none".to_string()));
    if let Some(launcher) = &findings.launcher {
        line("launcher", format!("{} ({})", launcher.command, launcher.name));
    }
    if let Some(program) = &findings.program {
        line("program", about(program));
        if let Some(sanitizer) = &program.sanitizer {
            line("sanitizer", first(sanitizer));
        }
        if let Some(darshan) = &program.darshan {
            let what = "the program is linked with it, so it must come before the library in LD_PRELOAD; trib run puts it there";
            line("Darshan", format!("{}: {what}", darshan.display()));
        }
    }
    match &findings.mpi {
        Some(mpi) => line("MPI", format!("{}, {} ({})", mpi.version, mpi.abi_name, mpi.path.display())),
        None => line("MPI", "none found".to_string()),
    }
    if let Some(component) = &findings.component {
        let how = "Open MPI loads it without trib run; --mca io ^tributary leaves it out";
        line("component", format!("{}: {how}", component.display()));
    }
    let place = &findings.place;
    let stripes = place.stripes.as_ref().map_or(String::new(), |stripes| match stripes.factor {
        0 => format!(", stripes of {} bytes", stripes.unit),
        servers => format!(", stripes of {} bytes over {servers}", stripes.unit),
    });
    let apart = if place.is_coherent { "" } else { ", where hosts do not see each other's writes at once" };
    let left = match place.is_left_to_mpi {
        true => "; MPI runs the calls on files there, unless trib_driver=posix is set",
        false => "",
    };
    let (name, note) =
        place.nearest.as_ref().map_or((&place.path, ""), |nearest| (nearest, " (the nearest folder that is there)"));
    let (kind, driver) = (&place.file_system, place.driver);
    line("files", format!("{}{note}: {kind}, driver {driver}{stripes}{apart}{left}", name.display()));
    if let Some(measured) = &findings.measured {
        line("measured", measured.text());
        line(
            "trib_machine",
            format!("a file of this line, named by the hint, keeps these numbers: {}", measured.file()),
        );
        line("site", format!("a line of tributary.conf for all users: hints {}/*:trib_machine=FILE", name.display()));
    }
    for (name, value) in &findings.settings.variables {
        line("variable", format!("{name}={value}"));
    }
    if let Some(site) = &findings.settings.site {
        line("site", site.file.display().to_string());
        for log in &site.log {
            let problem = log.problem.as_ref().map_or(String::new(), |why| format!(", which cannot be written: {why}"));
            line("site's log", format!("{}{problem}", log.path.display()));
        }
    }
    if let Some(policy) = &findings.settings.policy {
        line(
            "site's policy",
            format!("{policy}: MPI runs its collective calls; ask the administrators of this machine why"),
        );
    }
    for hint in &findings.settings.hints {
        line("hint", format!("{}={} by {}", hint.key, hint.value, hint.source));
    }
    if findings.settings.hints.is_empty() {
        line("hint", "none is given: the defaults (trib hints)".to_string());
    }
    for hint in &findings.settings.hints_ignored {
        line("hint ignored", hint.to_string());
    }
    for warning in &findings.settings.warnings {
        line("warning", warning.clone());
    }
    for problem in &findings.problems {
        line("problem", problem.clone());
    }
    line("next", findings.next.clone());
    let lines = lines.iter().map(|(name, text)| format!("{:<13} {text}", format!("{name}:")));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the line about the runtime that AddressSanitizer needs first in LD_PRELOAD.
fn first(sanitizer: &Sanitizer) -> String {
    let what = "the program is built with -fsanitize=address";
    match sanitizer {
        Sanitizer::First(path) => {
            format!("{what}: {} must come first in LD_PRELOAD; trib run puts it there", path.display())
        }
        Sanitizer::Missing(name) => {
            format!("{what}: {name}, which the dynamic linker does not find, must come first in LD_PRELOAD")
        }
        Sanitizer::Inside => format!("{what}: its runtime is inside of it, so nothing need come first in LD_PRELOAD"),
    }
}

/// Returns a line that describes the program.
fn about(program: &Program) -> String {
    let script = program.script.as_ref().map(|script| format!("{}, a script of ", script.display()));
    let linked = match &program.linker {
        None => "static",
        Some(_) if program.is_of_musl() => "dynamic, of musl",
        Some(_) => "dynamic, of glibc",
    };
    let can = match (program.is_preloadable(), program.may_load_mpi_later()) {
        (false, _) => "cannot be preloaded",
        (true, true) => "can be preloaded; it names no MPI library, but may load one when it runs",
        (true, false) => "can be preloaded",
    };
    format!("{}{} ({}, {linked}): {can}", script.unwrap_or_default(), program.path.display(), program.machine)
}
