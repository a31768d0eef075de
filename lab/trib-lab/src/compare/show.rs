//! Prints rows as a table on the terminal.

use super::groups::groups;
use super::row::{Measured, Row};
use super::targets::verdict;
use trib::compare::statistics::{Ratio, geometric_mean};
use trib::compare::variant::{ABOUT_VULCAN, VULCAN};
use trib::{listing, numbers};

/// Returns a table for each directory, with a summary and the targets that rows miss.
pub fn table(rows: &[Row]) -> String {
    let mut directories: Vec<&str> = rows.iter().map(|row| row.key.directory.as_str()).collect();
    directories.dedup();
    let mut text = String::new();
    for directory in directories {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.key.directory == directory).collect();
        let slow = rows[0].key.slow_file.as_ref().map_or(String::new(), |slow| format!(", {slow}"));
        text += &format!("{}, {directory} ({}{slow}), {}\n", rows[0].key.mpi, rows[0].file_system, rows[0].machine);
        text += &format!("{}\n", of_directory(&rows));
    }
    let means = ["default", "best"].map(|name| {
        let mean = mean(rows, name).map_or("-".to_string(), |mean| format!("{mean:.2}"));
        format!("{name}/ours {mean}")
    });
    let beside = mean(rows, VULCAN).map(|mean| format!(", {VULCAN}/ours {mean:.2}")).unwrap_or_default();
    text += &format!("geometric mean: {}{beside}; above 1 ours is faster\n", means.join(", "));
    if !beside.is_empty() {
        text += &format!("{ABOUT_VULCAN}\n");
    }
    text.extend(groups(rows).iter().map(|(title, rows)| targets(title, rows)));
    text.trim_end().to_string()
}

/// Returns a text with the number of rows of a group that meet their targets, and the missed targets.
fn targets(title: &str, rows: &[&Row]) -> String {
    let verdict = verdict(rows);
    let mut text = format!("targets, {title}: {}\n", verdict.sentence());
    if !verdict.missed.is_empty() {
        let mut table = listing::table(["missed", "what", "value", "target", "at the floor"]);
        for (pattern, missed) in &verdict.missed {
            let [value, target, at_floor] = missed.numbers();
            table.add_row([pattern.clone(), missed.what.clone(), value, target, at_floor]);
        }
        text += &format!("{table}\n");
    }
    text
}

/// Titles of the columns of every table.
const HEAD: [&str; 11] = [
    "pattern",
    "ranks",
    "default",
    "best",
    "ours",
    "default/ours",
    "best/ours",
    "CPU",
    "floor",
    "call p50, p99",
    "equal",
];

fn of_directory(rows: &[&Row]) -> comfy_table::Table {
    let mut table = listing::table(HEAD);
    // Only where links or files have a rate.
    let has_floors = rows.iter().any(|row| row.file_floor_seconds.or(row.network_floor_seconds).is_some());
    if has_floors {
        table.set_header(HEAD.into_iter().chain(["file floor", "network floor"]));
    }
    for row in rows {
        let [default, best] = ["default", "best"].map(|name| row.peers.get(name));
        let time = |seconds: Option<f64>| seconds.map_or("-".to_string(), numbers::time);
        let mut cells = vec![
            row.key.pattern.clone(),
            row.key.ranks.to_string(),
            time(default.map(|peer| peer.measured.wall_seconds)),
            time(best.map(|peer| peer.measured.wall_seconds)),
            time(Some(row.ours.wall_seconds)),
            ratio(default.and_then(|peer| peer.wall_ratios)),
            ratio(best.and_then(|peer| peer.wall_ratios)),
            best.and_then(|peer| peer.cpu_ratio).map_or("-".to_string(), number),
            row.floor_multiple.map_or("-".to_string(), number),
            calls_of(row),
            if row.bytes_equal { "yes" } else { "NO" }.to_string(),
        ];
        if has_floors {
            cells.extend([row.file_floor_seconds, row.network_floor_seconds].map(time));
        }
        table.add_row(cells);
    }
    table
}

/// Returns a text with the time of a call, median and 99th percentile: ours and, in brackets, the MPI library's own.
fn calls_of(row: &Row) -> String {
    let of = |all: &Measured| {
        Some(format!("{}, {}", numbers::time(all.call_p50_seconds?), numbers::time(all.call_p99_seconds?)))
    };
    let default = row.peers.get("default").and_then(|peer| of(&peer.measured));
    match (of(&row.ours), default) {
        (Some(ours), Some(default)) => format!("{ours} ({default})"),
        (Some(ours), None) => ours,
        _ => "-".to_string(),
    }
}

/// Returns the geometric mean of a peer's ratios.
pub fn mean<'a>(rows: impl IntoIterator<Item = &'a Row>, peer: &str) -> Option<f64> {
    let ratios: Vec<f64> = rows.into_iter().filter_map(|row| row.peers.get(peer)?.wall_ratio).collect();
    geometric_mean(&ratios)
}

/// Returns a text with the median of a ratio, and its minimum and maximum.
pub fn ratio(ratio: Option<Ratio>) -> String {
    ratio.map_or("-".to_string(), |Ratio { median, min, max }| {
        format!("{} ({}-{})", number(median), number(min), number(max))
    })
}

/// Returns a text with the significant digits of a ratio.
pub fn number(value: f64) -> String {
    match value {
        _ if value < 0.1 => format!("{value:.3}"),
        _ if value < 10.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_two_or_three_digits() {
        assert_eq!([0.01234, 1.234, 123.4].map(number), ["0.012", "1.23", "123"]);
    }
}
