//! `trib hints`, and the hints of other commands: options override the environment.

use tributary::Hints;
use tributary::hints::{self, Environment, FileHints, HintRow, Unused};

use crate::cli::HintsOptions;
use crate::cli::replay::How;
use crate::{Failure, listing, say};

/// Returns the environment's hints for all files, overridden by `KEY=VALUE` options.
fn with_options<'a>(options: impl IntoIterator<Item = &'a String>) -> Result<FileHints, Failure> {
    let mut asked = Environment::of_process().map_err(explained)?.file_hints("");
    for option in options {
        add(&mut asked, option).map_err(explained)?;
    }
    Ok(asked)
}

/// Adds the hints of an option.
///
/// # Errors
/// A hint that no library has, or a value that is not allowed.
pub fn add(asked: &mut FileHints, option: &str) -> tributary::Result<()> {
    Hints::unknown_keys(option).next().map_or(Ok(()), Err)?;
    asked.text(option)
}

/// Adds to an error about a hint's value the command that explains the hint.
fn explained(error: tributary::Error) -> Failure {
    match &error {
        tributary::Error::Hint { key, .. } if Hints::default().table().iter().any(|row| row.key == key) => {
            Failure::new(format!("{error}; `trib hints {key}` explains it"))
        }
        _ => error.into(),
    }
}

/// Returns the hints that the environment of this process sets.
///
/// # Errors
/// A hint or a value that does not exist.
pub fn of_process() -> Result<Hints, Failure> {
    Ok(with_options([])?.hints().clone())
}

/// Checks the hints of the environment and of options.
///
/// # Errors
/// A hint or a value that does not exist.
pub fn check(options: &[String]) -> Result<(), Failure> {
    with_options(options).map(drop)
}

/// Returns a line for each hint of the user's environment that no library has. Only this library reads these variables, so such
/// a hint is a mistake.
pub fn of_no_library(given: &FileHints) -> Vec<String> {
    given.unused().iter().filter(|unused| is_misspelt(unused)).map(|unused| format!("hint {unused}")).collect()
}

/// Returns true for a hint of the user's environment that no library has.
pub fn is_misspelt(unused: &Unused) -> bool {
    unused.is_of_no_library() && unused.source.starts_with("TRIB_HINTS")
}

/// Returns the lines of [`of_no_library`] for this process.
///
/// # Errors
/// A value that is not allowed.
pub fn mistakes_of_process() -> Result<Vec<String>, Failure> {
    Ok(of_no_library(&with_options([])?))
}

/// Returns the hints of a replay, from the environment and the options.
pub fn of_replay(options: &How) -> Result<Hints, Failure> {
    let mut asked = with_options(&options.hints)?;
    let named = [
        ("trib_kernel", &options.kernel),
        ("trib_kernel_meta", &options.kernel_meta),
        ("trib_kernel_data", &options.kernel_data),
        ("trib_throttle", &options.throttle),
        ("trib_driver", &options.driver),
        ("trib_ranks_per_node", &options.ranks_per_node),
    ];
    for (key, value) in named {
        if let Some(value) = value {
            asked.program(key, value, "the command line").map_err(explained)?;
        }
    }
    Ok(asked.hints().clone())
}

/// Returns the list of all hints: name, value, and what the hint sets, in one line each; folded at `width`, if there is one.
fn list(rows: &[HintRow], width: Option<usize>) -> String {
    let hint = |row: &HintRow| format!("{}={}", row.key, row.value);
    // A long value has a line of its own.
    let column =
        rows.iter().map(|row| hint(row).chars().count()).filter(|&count| count <= WIDEST).max().unwrap_or(0) + 2;
    let entry = |row: &HintRow| listing::entry(&hint(row), first_sentence(row), column, width);
    rows.iter().map(entry).collect()
}

/// Maximum width, in columns, of a name and its value. The meaning of the hint follows.
const WIDEST: usize = 32;

/// Returns the first sentence of a hint's meaning.
fn first_sentence(row: &HintRow) -> &str {
    row.meaning.find(". ").map_or(row.meaning, |end| &row.meaning[..=end])
}

/// Returns the value of a hint as text; a number gets its unit.
fn valued(row: &HintRow) -> String {
    match row.value.starts_with(|c: char| c.is_ascii_digit()) && !row.unit.is_empty() {
        true => format!("{} {}", row.value, row.unit),
        false => row.value.clone(),
    }
}

/// Returns the text about one hint, folded at `width`, if there is one.
fn one(row: &HintRow, width: Option<usize>) -> String {
    // Blanks around each |, so that a list of words can be folded.
    let allowed = row.allowed.replace('|', " | ");
    let parts = [
        ("  default", row.default.as_str()),
        ("  allowed", &allowed),
        ("  meaning", row.meaning),
        ("  set it", row.when),
    ];
    let parts: String = parts.iter().map(|(name, text)| listing::entry(name, text, 11, width)).collect();
    format!("{}={}\n{parts}", row.key, valued(row))
}

/// Prints all hints, or one.
pub fn run(options: &HintsOptions) -> Result<(), Failure> {
    let mut rows = with_options(&options.hints)?.hints().table();
    if let Some(name) = &options.name {
        rows.retain(|row| row.key == name);
        if rows.is_empty() {
            return Err(hints::unknown(name).into());
        }
    }
    if options.json {
        let row = |row: &HintRow| {
            serde_json::json!({
                "key": row.key, "value": row.value, "default": row.default, "unit": row.unit,
                "allowed": row.allowed, "meaning": row.meaning, "when": row.when,
            })
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        return say(serde_json::to_string_pretty(&rows)?);
    }
    let width = listing::width();
    if options.name.is_some() {
        return rows.iter().try_for_each(|row| say(one(row, width).trim_end()));
    }
    say(format!(
        "{}`trib hints NAME` explains a hint; docs/reference/hints.md says where to set it",
        list(&rows, width)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_columns_are_enough() {
        let mut hints = Hints::default();
        hints.set("trib_machine", "/a/path/longer/than/any/column").unwrap();
        let rows = hints.table();
        for shown in rows.iter().map(|row| one(row, Some(80))).chain([list(&rows, Some(80))]) {
            assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        }
        let piped = list(&rows, None);
        assert_eq!(piped.lines().count(), rows.len(), "{piped}");
        assert!(piped.starts_with("cb_nodes=auto  "), "{piped}");
        assert!(
            piped.contains("  Number of I/O aggregators: the ranks that access the file for all ranks.\n"),
            "{piped}"
        );
        assert!(piped.contains("\ntrib_machine=/a/path/longer/than/any/column  Path of"), "{piped}");
    }
}
