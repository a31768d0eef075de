//! What is written, by name: a pattern with its parameters, or the largest call of a capture.

use std::path::{Path, PathBuf};

use clap::FromArgMatches;
use trib::Failure;
use trib::source::Chosen;

/// How the name of a capture's write begins.
pub const CAPTURE: &str = "capture ";
/// How a capture's file name ends.
const ENDING: &str = "tribcap";

/// A write.
#[derive(Debug, Clone)]
pub struct Write {
    /// The pattern with its parameters, or the capture.
    pub name: String,
    /// The capture's file.
    pub capture: Option<PathBuf>,
}

impl Write {
    /// The patterns and the captures of the folders that are named; if none are, `patterns`.
    ///
    /// # Errors
    /// A folder without captures.
    pub fn all(named: &[String], folders: &[PathBuf], patterns: &[&str]) -> Result<Vec<Self>, Failure> {
        let default = named.is_empty() && folders.is_empty();
        let patterns = patterns.iter().filter(|_| default).map(ToString::to_string);
        let pattern = |name| Self { name, capture: None };
        let mut all: Vec<_> = named.iter().cloned().chain(patterns).map(pattern).collect();
        for folder in folders {
            all.extend(captures(folder)?);
        }
        Ok(all)
    }

    /// The pattern of the name.
    ///
    /// # Errors
    /// A name or parameters that do not exist.
    pub fn parsed(&self) -> Result<Chosen, Failure> {
        let text = &self.name;
        let fail = |cause: clap::Error| {
            let line = cause.to_string().lines().next().unwrap_or_default().to_string();
            Failure::new(format!("pattern: {text}: {line}"))
        };
        let command = <Chosen as clap::Subcommand>::augment_subcommands(clap::Command::new("pattern"));
        let words = std::iter::once("pattern").chain(text.split_whitespace());
        Chosen::from_arg_matches(&command.try_get_matches_from(words).map_err(fail)?).map_err(fail)
    }
}

/// The captures of a folder, by name.
fn captures(folder: &Path) -> Result<Vec<Write>, Failure> {
    let fail = |cause: &dyn std::fmt::Display| Failure::new(format!("capture: {}: {cause}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|cause| fail(&cause))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut found = paths.collect::<Result<Vec<_>, _>>().map_err(|cause| fail(&cause))?;
    found.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    found.sort();
    if found.is_empty() {
        return Err(fail(&format!("no captures; allowed: a folder with files NAME.{ENDING}")));
    }
    let write = |path: PathBuf| {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Write { name: format!("{CAPTURE}{name}"), capture: Some(path) }
    };
    Ok(found.into_iter().map(write).collect())
}
