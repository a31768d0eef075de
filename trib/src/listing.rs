//! Tables that list things: as wide as the terminal, or as a page where there is none.

use comfy_table::{ContentArrangement, Table, presets};

use crate::report::grouped;

/// Columns where no terminal says how many there are.
const PIPED: u16 = 120;

/// An empty table with these columns.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = of(header);
    if !table.is_tty() {
        table.set_width(PIPED);
    }
    table
}

/// The same as wide as a page, whatever the terminal: the one that an mpiexec pretends is as wide as it likes.
#[cfg(feature = "mpi")]
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

/// So many of a thing: `1 node`, `2 nodes`.
pub fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(count)) }
}
