//! Writes findings as a table.

use comfy_table::{Attribute, Cell, Color, ColumnConstraint, Table, Width};
use trib::listing;
use tributary_lab::papers::{Paper, Values, Verdict};

use super::findings::{Finding, Found};

/// Returns a table of all claims with the recorded findings.
pub fn of_claims(papers: &[Paper]) -> String {
    let mut table = listing::table(["claim", "where", "what the paper says", "bound", "recorded"]);
    widen(&mut table, 2);
    for paper in papers {
        table.add_row([headline(paper)]);
        for claim in &paper.claims {
            let words = [&claim.id, &claim.place, &claim.says].map(Cell::new);
            let bound = Cell::new(format!("{}, {}", claim.expect, claim.unit));
            table.add_row(words.into_iter().chain([bound, verdict(claim.verdict, true)]));
        }
    }
    table.to_string()
}

/// Returns a table of the findings, one row per claim, and their summary.
pub fn of_findings(found: &[Found<'_>]) -> String {
    let mut table = listing::table(["claim", "what the paper says", "found", "bound", "verdict"]);
    widen(&mut table, 1);
    for found in found.iter().filter(|found| !found.findings.is_empty()) {
        table.add_row([headline(found.paper)]);
        found.findings.iter().for_each(|finding| row(&mut table, finding));
    }
    format!("{table}\n{}", summary(found))
}

/// Makes the column of sentences wider.
fn widen(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Percentage(38)));
    }
}

fn row(table: &mut Table, finding: &Finding<'_>) {
    let claim = finding.claim;
    let mut says = format!("{}: {}", claim.place, claim.says);
    // The reason belongs to the recorded finding.
    for (word, text) in [("Simulated", &claim.note), ("Why not", &claim.reason)] {
        if let Some(text) = text {
            says += &format!("\n{word}: {text}");
        }
    }
    table.add_row([
        Cell::new(&claim.id),
        Cell::new(says),
        Cell::new(values(&finding.values, &claim.unit)),
        Cell::new(claim.expect.to_string()),
        verdict(finding.verdict, finding.verdict == claim.verdict),
    ]);
}

/// Returns the summary of the findings in one line.
pub fn summary(found: &[Found<'_>]) -> String {
    let all: Vec<_> = found.iter().flat_map(|found| &found.findings).collect();
    let reproduced = all.iter().filter(|finding| finding.verdict == Verdict::Reproduced).count();
    let changed = all.iter().filter(|finding| finding.verdict != finding.claim.verdict).count();
    format!(
        "{}: {reproduced} reproduced, {} not; {} from the recorded one.",
        trib::numbers::counted(all.len() as u64, "claim"),
        all.len() - reproduced,
        if changed == 0 { "no verdict differs".to_string() } else { format!("{changed} differ") },
    )
}

/// Returns named numbers with their unit as text, one per line.
pub fn values(values: &Values, unit: &str) -> String {
    let unit = if unit == "1" { "" } else { unit };
    let number = |value: f64| format!("{} {unit}", short(value)).trim_end().to_string();
    match values.as_slice() {
        [(_, value)] => number(*value),
        several => {
            several.iter().map(|(name, value)| format!("{name}: {}", number(*value))).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Returns a number with four significant digits.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let digits = value.abs().log10().floor() as i32;
    match digits {
        -4..=5 => {
            let text = format!("{value:.*}", (3 - digits).max(0) as usize);
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
        }
        _ => format!("{value:.3e}"),
    }
}

fn headline(paper: &Paper) -> Cell {
    Cell::new(format!("{} ({} {})", paper.id, paper.venue, paper.year)).add_attribute(Attribute::Bold)
}

fn verdict(verdict: Verdict, as_before: bool) -> Cell {
    let color = if verdict == Verdict::Reproduced { Color::Green } else { Color::Red };
    let text = if as_before { verdict.to_string() } else { format!("{verdict} (changed)") };
    Cell::new(text).fg(color)
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.398942, "0.3989"),
            (408.1184, "408.1"),
            (20_480.0, "20480"),
            (1.93e-6, "1.930e-6"),
            (12_345_678.0, "1.235e7"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(super::short(value), text);
        }
    }
}
