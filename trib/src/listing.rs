//! Tables that list things: as wide as the terminal, or as a page where there is none.

use comfy_table::{ContentArrangement, Table, presets};

/// Columns where no terminal says how many there are.
const PIPED: u16 = 120;

/// An empty table with these columns.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(PIPED);
    }
    table.set_header(header);
    table
}
