//! `trib manual`: writes manual pages and completions of shells, from the definition of the command line.
//!
//! The command is not in the help; `bindings/install` runs it. clap writes names, options and notes; the rest is added here.

use std::fmt::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::{Shell, generate_to};

use crate::cli::{Cli, ManualOptions};
use crate::{Failure, variables};

/// Directory of each shell's completions, below a directory of shared data.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Fish, "fish/vendor_completions.d"),
    (Shell::Zsh, "zsh/site-functions"),
];

/// The page about the site's file.
const SITE: &str = include_str!("tributary.conf.5");
/// Where `@VERSION@` stands in a page.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files of all commands: a name and what it is, in the language of pages.
const FILES: [(&str, &str); 4] = [
    (r"\fIPREFIX\fR/lib/libtributary_mpiio.so", "The library that is preloaded."),
    (
        r"\fIPREFIX\fR/lib/tributary/openmpi/mca_io_tributary.so",
        "The same as a component, which Open MPI 4 loads in place of a preloaded library.",
    ),
    (r"\fIPREFIX\fR/etc/tributary.conf", "What the site has decided: \\fBtributary.conf\\fR(5)."),
    (r"\fIPREFIX\fR/share/doc/tributary", "The documentation, examples, and a sample of tributary.conf."),
];

/// Runs `trib manual`.
pub fn run(options: &ManualOptions) -> Result<(), Failure> {
    let pages = made(&options.directory.join("man/man1"))?;
    clap_mangen::generate_to(Cli::command(), &pages).map_err(|cause| failed(&pages, cause))?;
    for entry in std::fs::read_dir(&pages).map_err(|cause| failed(&pages, cause))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".1")) {
            let page = std::fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
            std::fs::write(&path, completed(name, &page)).map_err(|cause| failed(&path, cause))?;
        }
    }
    let site = made(&options.directory.join("man/man5"))?.join("tributary.conf.5");
    std::fs::write(&site, SITE.replace("@VERSION@", VERSION)).map_err(|cause| failed(&site, cause))?;
    for (shell, place) in COMPLETIONS {
        let place = made(&options.directory.join(place))?;
        let written = generate_to(shell, &mut Cli::command(), "trib", &place).map_err(|cause| failed(&place, cause))?;
        // Bash loads the file that has the command's name.
        if shell == Shell::Bash {
            std::fs::rename(&written, place.join("trib")).map_err(|cause| failed(&written, cause))?;
        }
    }
    Ok(())
}

/// Returns the page of the command `name` with a title, `--` and the values of options in the synopsis, and the sections that clap does not
/// write.
fn completed(name: &str, page: &str) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_string).collect();
    // An option's line of its own has its value: `\fB\-\-hints\fR \fI<HINTS>\fR`.
    let own = lines.windows(2).filter(|two| two[0] == ".TP").filter_map(|two| two[1].split_once(r"\fR "));
    let valued: Vec<(String, String)> = own
        .filter_map(|(option, value)| Some((option.split(", ").last()?.to_string(), value.to_string())))
        .filter(|(option, _)| option.starts_with(r"\fB\-\-"))
        .collect();
    for line in &mut lines {
        if line.starts_with(".TH ") {
            *line = format!(".TH {name} 1 \"\" \"Tributary {VERSION}\" \"Tributary\"");
        } else if line == ".SH EXTRA" {
            *line = ".SH NOTES".to_string();
        } else if line.starts_with(r"\fBtrib") {
            for (option, value) in &valued {
                *line = line.replace(&format!(r"{option}\fR]"), &format!(r"{option}\fR {value}]"));
            }
            *line = line
                .replace(r"<\fICOMMAND\fR>", r"\-\- \fICOMMAND\fR")
                .replace(r"[\fICOMMAND\fR]", r"[\-\- \fICOMMAND\fR]");
        }
    }
    if let Some(at) = lines.iter().position(|line| line == ".SH VERSION") {
        lines.truncate(at);
    }
    let mut text = lines.join("\n") + "\n";
    section(&mut text, "EXIT STATUS", exit_status(name).iter().copied());
    section(&mut text, "ENVIRONMENT", variables::meanings());
    section(&mut text, "FILES", FILES);
    let _ = writeln!(text, ".SH SEE ALSO\n{}.BR tributary.conf (5)", see_also(name));
    text
}

fn section<'a>(text: &mut String, title: &str, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let _ = writeln!(text, ".SH {title}");
    for (name, meaning) in entries {
        let _ = writeln!(text, ".TP\n\\fB{name}\\fR\n{meaning}");
    }
}

/// Returns the exit codes of a command and what they mean.
fn exit_status(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "trib-run" => &[
            ("that of the program", "The program has run. A signal that ended it ends trib, too."),
            ("1", "A mistake was found before anything was started, or a capture cannot be explained."),
            ("2", "The command line is wrong."),
            ("126, 127", "The command cannot be run; it was not found."),
        ],
        "trib-doctor" => &[
            ("0", "No problem was found."),
            ("1", "A problem was found, or a failure."),
            ("2", "The command line is wrong."),
        ],
        _ => &[
            ("0", "Success."),
            ("1", "A failure, or a comparison found a difference."),
            ("2", "The command line is wrong."),
        ],
    }
}

/// Returns the references to the pages of other commands.
fn see_also(name: &str) -> String {
    let others = ["trib", "trib-run", "trib-doctor", "trib-hints", "trib-compare", "trib-explain"];
    others.iter().filter(|other| **other != name).map(|other| format!(".BR {other} (1),\n")).collect()
}

fn made(directory: &Path) -> Result<std::path::PathBuf, Failure> {
    std::fs::create_dir_all(directory).map_err(|cause| failed(directory, cause))?;
    Ok(directory.to_path_buf())
}

fn failed(path: &Path, cause: std::io::Error) -> Failure {
    Failure::new(format!("{}: {cause}; allowed: a directory that can be written", path.display()))
}
