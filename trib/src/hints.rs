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

/// Adds to an error about a hint's value where the hint is explained.
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

/// Checks the hints of the environment, and those of options.
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

/// Width of the terminal in characters from which the table has all columns.
const WIDE: u16 = 110;

fn in_columns(mut table: comfy_table::Table, rows: &[HintRow]) -> comfy_table::Table {
    for row in rows {
        table.add_row([row.key, &row.value, &row.default, row.unit, &allowed(row), &meaning(row)]);
    }
    listing::keep_words(&mut table);
    table
}

/// Returns the table with two columns, for a narrow terminal on which six columns do not fit.
fn narrow(rows: &[HintRow]) -> comfy_table::Table {
    let mut table = listing::table(["hint", "meaning"]);
    for row in rows {
        let default = if row.value == row.default { String::new() } else { format!("\ndefault {}", row.default) };
        let hint = format!("{}\n= {}{default}", row.key, valued(row));
        table.add_row([hint, format!("{} Allowed: {}", meaning(row), allowed(row))]);
    }
    listing::keep_words(&mut table);
    table
}

/// Returns the value of a hint as text: a number with its unit.
fn valued(row: &HintRow) -> String {
    match row.value.starts_with(|c: char| c.is_ascii_digit()) && !row.unit.is_empty() {
        true => format!("{} {}", row.value, row.unit),
        false => row.value.clone(),
    }
}

fn meaning(row: &HintRow) -> String {
    row.meaning.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the allowed values as text, with blanks around each |, so that a list of words can be wrapped.
fn allowed(row: &HintRow) -> String {
    row.allowed.replace('|', " | ")
}

/// Returns the text about one hint, line by line.
fn one(row: &HintRow) -> String {
    format!(
        "{key}={}\n  default  {}\n  allowed  {}\n  meaning  {}\n  set it   {}",
        valued(row),
        row.default,
        row.allowed,
        meaning(row),
        row.when,
        key = row.key
    )
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
    if options.name.is_some() {
        return rows.iter().try_for_each(|row| say(one(row)));
    }
    let wide = listing::table(["hint", "value", "default", "unit", "allowed", "meaning"]);
    let table = if wide.width().is_none_or(|width| width >= WIDE) { in_columns(wide, &rows) } else { narrow(&rows) };
    let order = "Set by Cray's MPICH_MPIIO_HINTS, --hint KEY=VALUE, TRIB_HINTS='key=value;...', a file named by \
    TRIB_HINTS_FILE, hints for other MPI libraries, or the site (docs/reference/hints.md); the first that sets a hint wins.";
    say(format!("{table}\n{order}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_columns_are_enough() {
        let mut table = narrow(&Hints::default().table());
        table.set_width(80);
        let shown = table.to_string();
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(shown.contains("cb_buffer_size") && shown.contains("= 30 seconds"), "{shown}");
    }
}
