//! Makes the pages in `lab/docs/papers/`, one a paper: the claims and the recorded findings. Only tests use this
//! module: they compare the checked-in files with the result, or write them.

use std::fmt::Write;

use tributary_lab::papers::{Claim, Paper, Verdict, papers};

use crate::generated;

/// First line of a page.
const GENERATED: &str = "<!-- Generated from lab/papers/; regenerate with: lab/generate -->";

/// Returns the number of claims of a paper that are reproduced.
fn reproduced(paper: &Paper) -> usize {
    paper.claims.iter().filter(|claim| claim.verdict == Verdict::Reproduced).count()
}

/// Returns the page of a paper: a table of its claims, the reasons of claims that are not reproduced, and how claims
/// are simulated.
fn page(paper: &Paper) -> String {
    let Paper { id, title, authors, venue, year, claims, .. } = paper;
    let mut page = format!("{GENERATED}\n\n# {id}: the claims\n\n{authors}: *{title}*. {venue} {year}.\n\n");
    // Writing to a string does not fail.
    let _ = writeln!(
        page,
        "{} of {} claims are reproduced. [The papers, reproduced](../papers.md) says what the result means.\n",
        reproduced(paper),
        claims.len()
    );
    page.push_str("| claim | where | what the paper says | bound | found | quick |\n|---|---|---|---|---|---|\n");
    for claim in claims {
        let quick = if claim.quick { "yes" } else { "" };
        let Claim { id, place, says, expect, verdict, unit, .. } = claim;
        let unit = if unit == "1" { String::new() } else { format!(" ({unit})") };
        let _ = writeln!(page, "| `{id}` | {place} | {says} | {expect}{unit} | {verdict} | {quick} |");
    }
    list(&mut page, "Not reproduced, and why:", paper, |claim| claim.reason.as_deref());
    list(&mut page, "What is simulated:", paper, |claim| claim.note.as_deref());
    page
}

/// Returns the row of a paper in the table of `lab/docs/papers.md`.
fn row(paper: &Paper) -> String {
    let Paper { id, title, venue, year, claims, .. } = paper;
    let reproduced = reproduced(paper);
    let not = claims.len() - reproduced;
    format!("| [{id}](papers/{id}.md): {title} ({venue} {year}) | {} | {reproduced} | {not} |\n", claims.len())
}

/// Adds a list of a text of each claim; claims that share a text share a line.
fn list<'a>(page: &mut String, head: &str, paper: &'a Paper, text: impl Fn(&'a Claim) -> Option<&'a str>) {
    let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (claim, text) in paper.claims.iter().filter_map(|claim| Some((claim, text(claim)?))) {
        match texts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, ids)) => ids.push(&claim.id),
            None => texts.push((text, vec![&claim.id])),
        }
    }
    if !texts.is_empty() {
        let _ = writeln!(page, "\n{head}\n");
    }
    for (text, ids) in texts {
        let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
        let _ = writeln!(page, "- {}: {text}", ids.join(", "));
    }
}

#[test]
fn the_pages_are_current() {
    for paper in papers().unwrap() {
        generated::assert_current(&format!("lab/docs/papers/{}.md", paper.id), &page(&paper), "lab/papers");
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
