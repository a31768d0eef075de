//! Writes tables into documents. Each table stands between two comments that name it.

use std::path::Path;

use trib::Failure;

/// Table, and the comments before and behind it.
pub struct Table {
    /// Comment before the table.
    pub begin: &'static str,
    /// Comment behind the table.
    pub end: &'static str,
    /// Text of the table.
    pub text: String,
}

impl Table {
    /// Creates a table from a sentence, and rows of cells below a head. `alignment` has the marks of the columns:
    /// `---`, `--:`.
    pub fn of<const COLUMNS: usize>(
        (begin, end): (&'static str, &'static str),
        sentence: &str,
        [head, alignment]: [&[&str; COLUMNS]; 2],
        rows: impl Iterator<Item = [String; COLUMNS]>,
    ) -> Self {
        let mut text = format!("{sentence}\n\n");
        let mut line = |cells: &[&str]| text += &format!("| {} |\n", cells.join(" | "));
        line(head);
        line(alignment);
        rows.for_each(|cells| line(&cells.each_ref().map(String::as_str)));
        Self { begin, end, text }
    }
}

/// Checks, before anything long runs, that a document has a place for one of the tables.
///
/// # Errors
/// The document has no place, or cannot be read.
pub fn check(path: &Path, tables: &[Table]) -> Result<(), Failure> {
    filled(path, tables).map(drop)
}

/// Writes the tables for which a document has a place into the document.
///
/// # Errors
/// The errors of [`check`], and errors of the operating system.
pub fn write(path: &Path, tables: &[Table]) -> Result<(), Failure> {
    let text = filled(path, tables)?;
    std::fs::write(path, text).map_err(|cause| failure(path, &cause))
}

fn filled(path: &Path, tables: &[Table]) -> Result<String, Failure> {
    let mut result = trib::text::read(path).map_err(|cause| failure(path, &cause))?;
    let mut places = 0;
    for table in tables {
        if let Some((from, to)) = place(&result, table) {
            result = format!("{}\n{}{}", &result[..from], table.text, &result[to..]);
            places += 1;
        }
    }
    match places {
        0 => {
            let begins = tables.iter().map(|table| table.begin).collect::<Vec<_>>().join(" or ");
            let end = tables.first().map_or("", |table| table.end);
            Err(failure(path, &format!("no place for a table; allowed: {begins}, and {end}")))
        }
        _ => Ok(result),
    }
}

/// Returns the range of a table's text in a document: after its first comment, and before its second.
fn place(text: &str, table: &Table) -> Option<(usize, usize)> {
    let from = text.find(table.begin)? + table.begin.len();
    Some((from, from + text[from..].find(table.end)?))
}

fn failure(path: &Path, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("markdown: {}: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_comments_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        let tables = ["<!-- one -->", "<!-- two -->", "<!-- three -->"].map(|begin| Table {
            begin,
            end: "<!-- end -->",
            text: format!("of {}\n", &begin[5..8]),
        });
        std::fs::write(&path, "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two --><!-- end -->\nc\n").unwrap();
        let due = "a\n<!-- one -->\nof one\n<!-- end -->\nb\n<!-- two -->\nof two\n<!-- end -->\nc\n";
        write(&path, &tables).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), due);
    }
}
