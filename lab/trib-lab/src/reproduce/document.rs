//! Makes the tables in `lab/docs/papers/`, one a paper: the claims and the recorded findings. Only tests use this
//! module: they compare the checked-in files with the result, or write them.

use std::fmt::Write;

use tributary_lab::papers::{Claim, Paper, Verdict, papers};

use crate::generated;

/// First line of a table.
const GENERATED: &str = "# Generated from lab/papers/; regenerate with: lab/generate";

/// Returns the number of claims of a paper that are reproduced.
fn reproduced(paper: &Paper) -> usize {
    paper.claims.iter().filter(|claim| claim.verdict == Verdict::Reproduced).count()
}

/// Returns the table of a paper's claims, with tabs between columns.
fn table(paper: &Paper) -> String {
    let Paper { title, authors, venue, year, claims, .. } = paper;
    let mut table = format!("{GENERATED}\n# {authors}: {title}. {venue} {year}.\n");
    let count = format!("# {} of {} claims are reproduced", reproduced(paper), claims.len());
    // Writing to a string does not fail.
    let _ = writeln!(table, "{count}\nclaim\tplace\tthe paper says\tbound\tfound\tquick\twhy not\twhat is simulated");
    for claim in claims {
        let Claim { id, place, says, expect, verdict, unit, .. } = claim;
        let unit = if unit == "1" { String::new() } else { format!(" ({unit})") };
        let quick = if claim.quick { "yes" } else { "" };
        let [reason, note] = [&claim.reason, &claim.note].map(|text| text.as_deref().unwrap_or_default());
        let cells = [id.as_str(), place, says, &format!("{expect}{unit}"), &verdict.to_string(), quick, reason, note];
        let _ = writeln!(table, "{}", cells.map(|cell| cell.replace(['\t', '\n'], " ")).join("\t"));
    }
    table
}

/// Returns the row of a paper in the table of `lab/docs/papers.md`.
fn row(paper: &Paper) -> String {
    let Paper { id, title, venue, year, claims, .. } = paper;
    let reproduced = reproduced(paper);
    let not = claims.len() - reproduced;
    format!("| [{id}](papers/{id}.tsv): {title} ({venue} {year}) | {} | {reproduced} | {not} |\n", claims.len())
}

#[test]
fn the_tables_are_current() {
    for paper in papers().unwrap() {
        generated::assert_current(&format!("lab/docs/papers/{}.tsv", paper.id), &table(&paper), "lab/papers");
    }
}

/// Checks that the page that is written by hand has the current numbers of claims.
#[test]
fn the_papers_have_their_rows() {
    let page = std::fs::read_to_string(generated::at_root("lab/docs/papers.md")).unwrap();
    for row in papers().unwrap().iter().map(row) {
        assert!(page.contains(&row), "lab/docs/papers.md has no row\n{row}");
    }
}
