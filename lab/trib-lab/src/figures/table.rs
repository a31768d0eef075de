//! Writes medians as a table.

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::rows::{Results, Seconds};
use super::summary::Median;

/// Titles of the columns.
pub const HEAD: [&str; 10] =
    ["pattern", "nodes", "ranks", "kernel", "throttle", "runs", "metadata s", "data s", "total s", "from - to"];

/// Returns the cells of a median's row in the table.
pub fn cells(median: &Median) -> [String; 10] {
    let (metadata, data) = match median.seconds {
        Seconds::Phases { metadata, data, .. } => (seconds(metadata), seconds(data)),
        Seconds::Whole(_) => ("-".to_string(), "-".to_string()),
    };
    [
        median.code.clone(),
        median.nodes.to_string(),
        median.ranks.to_string(),
        median.column.clone(),
        median.throttle.map_or_else(|| "-".to_string(), |throttle| throttle.to_string()),
        median.runs.to_string(),
        metadata,
        data,
        seconds(median.seconds.total()),
        format!("{} - {}", seconds(median.range.0), seconds(median.range.1)),
    ]
}

fn seconds(value: f64) -> String {
    format!("{value:.4}")
}

/// Returns the table and the notes, for a terminal.
pub fn text(results: &Results, medians: &[Median]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(HEAD);
    for median in medians {
        table.add_row(cells(median).map(Cell::new));
    }
    for column in [1, 2, 4, 5, 6, 7, 8, 9] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let notes: String = results.notes.iter().map(|note| format!("\n{note}")).collect();
    format!("{}: medians of {} rows\n{table}{notes}", results.machine, results.rows.len())
}
