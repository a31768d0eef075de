//! `lab/docs/papers.md`: the claims and the recorded findings. Only a test uses it: it compares the checked-in file with it, or
//! writes it.

use std::fmt::Write;

use tributary_lab::papers::{Claim, Paper, Verdict, papers};

use crate::generated;

const HEAD: &str = "\
<!-- Generated from lab/papers/; regenerate with: ./generate -->

# The papers, reproduced

What the five papers behind Tributary claim, and whether `trib-lab reproduce` finds it. A claim is measured where it can be, and else
simulated on a model of the paper's machine ([simulator](simulator.md)). It is *reproduced* if the numbers keep the bound that the
paper's words give. A claim that is not reproduced stays here, with the reason. No bound was loosened and no parameter tuned for a
claim.

    cargo build --release --manifest-path lab/Cargo.toml                       # the program: lab/target/release/trib-lab
    trib-lab reproduce main --claim figure-5e --html 5e.html  # one picture, figure 5 (e) of the main paper, in seconds
    trib-lab reproduce main --claim figure-5 --html 5.html    # all of figure 5: 5 minutes of processor time, 5 GB of memory
    trib-lab reproduce --quick                                # the claims marked quick, in under a minute; a test runs them
    trib-lab reproduce --html papers.html --figures pictures  # everything: some 17 minutes of processor time, 6 GB of memory
    trib-lab reproduce main --claim figure-5e --json          # some claims, with the numbers

All processors are used. The command fails if it finds another verdict than the one below.
";

fn page(papers: &[Paper]) -> String {
    let mut page = HEAD.to_string();
    page.push_str("\n| paper | claims | reproduced | not |\n|---|--:|--:|--:|\n");
    for paper in papers {
        let not = paper.claims.iter().filter(|claim| claim.verdict == Verdict::NotReproduced).count();
        let Paper { id, title, venue, year, claims, .. } = paper;
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "| [{id}](#{id}): {title} ({venue} {year}) | {} | {} | {not} |",
            claims.len(),
            claims.len() - not
        );
    }
    papers.iter().for_each(|paper| section(&mut page, paper));
    page
}

fn section(page: &mut String, paper: &Paper) {
    let Paper { id, title, authors, venue, year, .. } = paper;
    let _ = writeln!(page, "\n## {id}\n\n{authors}: *{title}*. {venue} {year}.\n");
    page.push_str("| claim | where | what the paper says | bound | found | quick |\n|---|---|---|---|---|---|\n");
    for claim in &paper.claims {
        let quick = if claim.quick { "yes" } else { "" };
        let Claim { id, place, says, expect, verdict, unit, .. } = claim;
        let unit = if unit == "1" { String::new() } else { format!(" ({unit})") };
        let _ = writeln!(page, "| `{id}` | {place} | {says} | {expect}{unit} | {verdict} | {quick} |");
    }
    list(page, "Not reproduced, and why:", paper, |claim| claim.reason.as_deref());
    list(page, "What is simulated:", paper, |claim| claim.note.as_deref());
}

/// Texts of claims; claims that share a text share a line.
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
fn the_document_is_current() {
    generated::assert_current("lab/docs/papers.md", &page(&papers().unwrap()), "lab/papers");
}
