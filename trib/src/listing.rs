//! Makes tables and lists as wide as the terminal; without a terminal, tables are as wide as a page.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle, presets};

/// Width in characters if standard output is no terminal.
const PIPED: u16 = 120;

/// Style of tables: no rules between rows.
const DENSE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());

/// Minimum width to which text is folded.
const NARROWEST: usize = 40;

/// Returns the width of the output in columns: the variable COLUMNS, or else the terminal's width; None for a pipe or a file.
pub fn width() -> Option<usize> {
    width_of(&Table::new())
}

/// Returns the width of standard error, as [`width`] does.
pub fn width_of_errors() -> Option<usize> {
    width_of(Table::new().use_stderr())
}

fn width_of(table: &Table) -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    named.or_else(|| table.width().map(usize::from)).filter(|&width| width > 0).map(|width| width.max(NARROWEST))
}

/// Returns lines that begin with `name` and have `text` in a column of their own, from `column` on, folded at `width` if there is
/// one.
pub fn entry(name: &str, text: &str, column: usize, width: Option<usize>) -> String {
    let mut lines = vec![format!("{name:<column$}")];
    if lines[0].chars().count() > column {
        match width {
            Some(_) => lines.push(" ".repeat(column)),
            None => lines[0].push_str("  "),
        }
    }
    let mut is_begun = false;
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if is_begun && width.is_some_and(|width| last + 1 + word.chars().count() > width) {
            lines.push(" ".repeat(column));
            is_begun = false;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if is_begun { " " } else { "" });
            line.push_str(word);
        }
        is_begun = true;
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns an empty table with these columns.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = of(header);
    table.set_width(width().and_then(|width| width.try_into().ok()).unwrap_or(PIPED));
    table
}

/// Returns an empty table that is always as wide as a page, because an mpiexec may pretend a terminal of any width.
pub fn page<const N: usize>(header: [&str; N]) -> Table {
    let mut table = of(header);
    table.set_width(PIPED);
    table
}

fn of<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(DENSE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}
