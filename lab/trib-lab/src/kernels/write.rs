//! Write that is named: a pattern with its parameters, or the largest call of a capture.

use std::path::{Path, PathBuf};

use clap::FromArgMatches;
use clap::error::ErrorKind;
use trib::Failure;
use trib::source::Chosen;

/// Beginning of the name of a capture's write.
pub const CAPTURE: &str = "capture ";
/// Ending of a capture's file name.
const ENDING: &str = "tribcap";

/// Write to simulate or measure.
#[derive(Debug, Clone)]
pub struct Write {
    /// Pattern with its parameters, or name of the capture.
    pub name: String,
    /// Path of the capture's file.
    pub capture: Option<PathBuf>,
}

impl Write {
    /// Returns the writes of the named patterns and of the captures in the folders; of `patterns` if nothing is named.
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

    /// Parses the name as a pattern.
    ///
    /// # Errors
    /// A name or parameters that do not exist.
    pub fn parsed(&self) -> Result<Chosen, Failure> {
        let text = &self.name;
        let fail = |cause: clap::Error| {
            if cause.kind() == ErrorKind::InvalidSubcommand {
                return Failure::new(format!(
                    "pattern: {text}; allowed: a name that `trib-lab patterns` shows, with its parameters"
                ));
            }
            let line = cause.to_string().lines().next().unwrap_or_default().to_string();
            Failure::new(format!("pattern: {text}: {line}"))
        };
        let command = <Chosen as clap::Subcommand>::augment_subcommands(clap::Command::new("pattern"));
        let words = std::iter::once("pattern").chain(text.split_whitespace());
        Chosen::from_arg_matches(&command.try_get_matches_from(words).map_err(fail)?).map_err(fail)
    }
}

/// Returns the captures of a folder, by name.
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
