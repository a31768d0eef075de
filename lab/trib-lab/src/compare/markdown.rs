//! Writes tables into documents, between two marker comments that name the table.

use std::fmt::Write;
use std::path::Path;

use super::groups::groups;
use super::row::{Measured, READ, Row};
use super::show::{mean, number, ratio};
use super::targets::verdict;
use crate::document::{self, Table};
use trib::Failure;
use trib::compare::variant::{ABOUT_VULCAN, VULCAN};
use trib::numbers;

/// Marker comments before the full and the short table, and the marker behind each.
const FULL: &str = "<!-- trib-lab compare: full table -->";
const SHORT: &str = "<!-- trib-lab compare: short table -->";
const END: &str = "<!-- trib-lab compare: end -->";

/// Checks, before anything is measured, that a file has a place for a table.
///
/// # Errors
/// The file has no place, or cannot be read.
pub fn check(path: &Path) -> Result<(), Failure> {
    document::check(path, &tables(&[]))
}

/// Writes the tables of the rows into the file.
///
/// # Errors
/// The errors of [`check`], and errors of the operating system.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    document::write(path, &tables(rows))
}

fn tables(rows: &[Row]) -> [Table; 2] {
    [(FULL, full(rows)), (SHORT, short(rows))].map(|(begin, text)| Table { begin, end: END, text })
}

/// Returns the full tables of all rows.
fn full(rows: &[Row]) -> String {
    let mut text = String::new();
    for (title, rows) in groups(rows) {
        let pairs = rows.iter().map(|row| row.key.pairs).min().unwrap_or_default();
        let load = rows.iter().map(|row| row.load).fold(0.0, f64::max);
        let machine = &rows[0].machine;
        let _ = writeln!(
            text,
            "\n### {title}\n\n{machine}; {pairs} pairs or more; load {load:.1} or less.{}\n",
            origins(&rows)
        );
        if rows.iter().any(|row| row.peers.contains_key(VULCAN)) {
            let _ = writeln!(text, "{ABOUT_VULCAN}\n");
        }
        text += &table_of_times(&rows);
        text += "\n";
        text += &table_of_costs(&rows);
        text += "\n";
        text += &targets(&rows);
    }
    text + "\n"
}

/// Returns a text with the library that was measured, as far as the rows know it, and the maps.
fn origins(rows: &[&Row]) -> String {
    let mut libraries: Vec<&str> = rows.iter().filter_map(|row| row.library.as_deref()).collect();
    libraries.dedup();
    let mut maps: Vec<String> = rows.iter().filter_map(|row| map_of(row)).collect();
    maps.dedup();
    let said = [("Tributary", libraries.join("; ")), ("Maps:", maps.join(", "))];
    said.iter().filter(|(_, what)| !what.is_empty()).map(|(name, what)| format!(" {name} {what}.")).collect()
}

/// Returns the decomposition map of a row of E3SM-IO.
fn map_of(row: &Row) -> Option<String> {
    let pattern = row.key.pattern.strip_suffix(READ).unwrap_or(&row.key.pattern);
    let usual = match pattern {
        "e3sm-f" | "e3sm-f-over" => "the small one that is built in",
        "e3sm-g" | "e3sm-i" => "generated",
        _ => return None,
    };
    Some(format!("{pattern} {}", row.key.map.as_deref().unwrap_or(usual)))
}

/// Returns a text with the number of rows that meet their targets, and the rows that miss them, farthest first.
fn targets(rows: &[&Row]) -> String {
    let verdict = verdict(rows);
    let mut text = format!("**Targets**: {}.\n", verdict.sentence());
    if !verdict.missed.is_empty() {
        text += "\n| missed | what | value | target | at the floor |\n|---|---|--:|--:|--:|\n";
        for (pattern, missed) in &verdict.missed {
            let _ = writeln!(text, "| {pattern} | {} | {} |", missed.what, missed.numbers().join(" | "));
        }
    }
    text
}

fn table_of_times(rows: &[&Row]) -> String {
    let mut others: Vec<&String> = rows.iter().flat_map(|row| row.peers.keys()).collect();
    others.sort();
    others.dedup();
    others.retain(|name| !["default", "best"].contains(&name.as_str()));
    let mut text = "| pattern | bytes | calls | default | best | its hints | ours | default / ours | best / ours | CPU best / ours |"
        .to_string();
    text.extend(others.iter().map(|name| format!(" {name} / ours |")));
    text += " of the floor | equal |\n|---|--:|--:|--:|--:|---|--:|--:|--:|--:|";
    text += &"--:|".repeat(others.len());
    text += "--:|---|\n";
    for row in rows {
        let peer = |name: &str| row.peers.get(name);
        let time = |name| peer(name).map_or("-".to_string(), |peer| numbers::time(peer.measured.wall_seconds));
        let wall = |name: &str| ratio(peer(name).and_then(|peer| peer.wall_ratios));
        let _ = write!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.key.pattern,
            numbers::grouped(row.bytes),
            row.calls,
            time("default"),
            time("best"),
            peer("best").map_or("-", |peer| &peer.setting),
            numbers::time(row.ours.wall_seconds),
            wall("default"),
            wall("best"),
            ratio(peer("best").and_then(|peer| peer.cpu_ratios)),
        );
        text.extend(others.iter().map(|name| format!(" {} |", wall(name))));
        let floor = row.floor_multiple.map_or("-".to_string(), number);
        let _ = writeln!(text, " {floor} | {} |", if row.bytes_equal { "yes" } else { "**no**" });
    }
    text
}

/// Returns the table of other costs: ours and, in brackets, those of the library with the best hints.
fn table_of_costs(rows: &[&Row]) -> String {
    let mut text =
        "| pattern | call, median, us | call, 99th percentile, us | context switches | system calls | page faults | memory of an aggregator, MB | of the job, peaks, MB | \
                    of the job, shared once, MB | messages | on the wire | metadata a request |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
            .to_string();
    for row in rows {
        let both = |of: &dyn Fn(&Measured) -> Option<f64>, digits: usize| {
            let text = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.digits$}"));
            let best = row.peers.get("best").and_then(|peer| of(&peer.measured));
            format!("{} ({})", text(of(&row.ours)), text(best))
        };
        let count = |value: Option<u64>| value.map_or("-".to_string(), numbers::grouped);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.key.pattern,
            both(&|all| Some(all.call_p50_seconds? * 1e6), 1),
            both(&|all| Some(all.call_p99_seconds? * 1e6), 1),
            both(&|all| Some(all.context_switches), 0),
            both(&|all| all.system_calls, 0),
            both(&|all| Some(all.page_faults), 0),
            both(&|all| Some(all.aggregator_peak_bytes / 1e6), 1),
            both(&|all| Some(all.job_peak_bytes / 1e6), 0),
            both(&|all| Some(all.job_pss_bytes? / 1e6), 0),
            count(row.traffic.messages),
            count(row.traffic.wire_bytes),
            row.traffic.metadata_bytes_per_request.map_or("-".to_string(), |bytes| format!("{bytes:.2}")),
        );
    }
    text
}

/// Returns the table of ratios only: one line for each pattern and its read, one column for each MPI library and number
/// of ranks.
fn short(rows: &[Row]) -> String {
    let groups = groups(rows);
    let mut patterns: Vec<&str> = Vec::new();
    for row in rows {
        let pattern = row.key.pattern.strip_suffix(READ).unwrap_or(&row.key.pattern);
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let mut text = "\n| peer's time / ours: default, best hints; of its read |".to_string();
    text.extend(groups.iter().map(|(title, _)| format!(" {title} |")));
    text += &format!("\n|---|{}\n", "--:|".repeat(groups.len()));
    for pattern in patterns {
        let _ = write!(text, "| {pattern} |");
        for (_, rows) in &groups {
            let both = [pattern.to_string(), format!("{pattern}{READ}")].map(|pattern| {
                let row = rows.iter().find(|row| row.key.pattern == pattern);
                let of = |name: &str| row?.peers.get(name)?.wall_ratio;
                Some(format!("{}, {}", number(of("default")?), number(of("best")?)))
            });
            let both: Vec<String> = both.into_iter().flatten().collect();
            let _ = write!(text, " {} |", if both.is_empty() { "-".to_string() } else { both.join("; ") });
        }
        text += "\n";
    }
    text += "| geometric mean |";
    for (_, rows) in &groups {
        let [default, best] = ["default", "best"].map(|name| mean(rows.iter().copied(), name).unwrap_or_default());
        let _ = write!(text, " {default:.2}, {best:.2} |");
    }
    text += "\n| rows that meet all of their targets |";
    for (_, rows) in &groups {
        let (met, all) = verdict(rows).met;
        let _ = write!(text, " {met} of {all} |");
    }
    text + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::row;
    use super::*;

    #[test]
    fn a_table_tells_library_maps_and_what_is_missed() {
        let mut rows = ["e3sm-f", "e3sm-f-read", "e3sm-g", "append"].map(row);
        assert!(!full(&rows).contains("Tributary"));
        for row in &mut rows {
            row.library = Some("0.1.0 (SHA-256 12ab)".to_string());
        }
        rows[2].key.map = Some("map_g.h5".to_string());
        rows[3].peers.get_mut("best").unwrap().wall_ratio = Some(0.5);
        rows[3].floor_multiple = Some(1.2);
        let text = full(&rows);
        for due in [
            " Tributary 0.1.0 (SHA-256 12ab). Maps: e3sm-f the small one that is built in, e3sm-g map_g.h5.\n",
            "**Targets**: 3 of 4 rows meet all of their targets.\n\n| missed |",
            "\n| geometric mean | best / ours | 0.500 | 1.500 | - |\n| append | best / ours | 0.500 | 1.000 | 0.60 |\n",
        ] {
            assert!(text.contains(due), "{due}: {text}");
        }
        assert!(short(&rows).contains("\n| rows that meet all of their targets | 3 of 4 |\n"), "{}", short(&rows));
    }

    #[test]
    fn what_ompio_does_on_few_ranks_is_said_where_it_was_measured() {
        let mut measured = row("append");
        assert!(!full(std::slice::from_ref(&measured)).contains("individual"));
        measured.peers.insert(VULCAN.to_string(), measured.peers["default"].clone());
        let text = full(std::slice::from_ref(&measured));
        assert!(text.contains(ABOUT_VULCAN) && text.contains(" vulcan / ours |"), "{text}");
    }

    #[test]
    fn a_file_without_a_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        std::fs::write(&path, SHORT).unwrap();
        assert!(check(&path).unwrap_err().to_string().contains("no place for a table; allowed: "));
        std::fs::write(&path, format!("{SHORT} {END}")).unwrap();
        assert!(check(&path).is_ok());
    }
}
