//! Makes tables as wide as the terminal; without a terminal as wide as a page.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Width in characters if standard output is no terminal.
const PIPED: u16 = 120;

/// Returns an empty table with these columns.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = of(header);
    if !table.is_tty() {
        table.set_width(PIPED);
    }
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
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}

/// Makes every column at least as wide as its longest word.
pub fn keep_words(table: &mut Table) {
    let longest = |column: &comfy_table::Column| {
        let words = |cell: Option<&comfy_table::Cell>| {
            let text = cell.map(comfy_table::Cell::content).unwrap_or_default();
            text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
        };
        table.column_cells_with_header_iter(column.index).map(words).max().unwrap_or(0)
    };
    let widths: Vec<usize> = table.column_iter().map(longest).collect();
    for (column, longest) in table.column_iter_mut().zip(widths) {
        // The width includes the blanks on both sides.
        let width = u16::try_from(longest + 2).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
}
