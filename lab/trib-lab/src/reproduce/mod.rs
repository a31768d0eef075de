//! `trib-lab reproduce`: checks the claims of five papers by measurement or simulation.
//!
//! | module | holds |
//! |---|---|
//! | `findings` | the measurement of claims, on all processors |
//! | `table`, `json` | findings as tables and as JSON |
//! | `page` | findings and figures as HTML |
//! | `plot` | a figure as SVG |
//! | `document` | the tables in `lab/docs/papers/` |

#[cfg(test)]
mod document;
mod findings;
mod json;
mod page;
pub mod plot;
mod table;

use std::path::Path;

use trib::{Failure, say};
use tributary_lab::papers::{self, Paper};

use crate::cli::reproduce::ReproduceOptions;
use findings::Found;

/// Measures the chosen claims, prints the findings, and fails if a verdict differs from the recorded one.
pub fn run(options: &ReproduceOptions) -> Result<(), Failure> {
    let papers = chosen(options)?;
    if options.list {
        return say(table::of_claims(&papers));
    }
    let outputs = options.html.iter().map(|file| file.parent().unwrap_or(Path::new(".")));
    for directory in outputs.filter(|directory| !directory.as_os_str().is_empty()) {
        if !directory.is_dir() {
            return Err(Failure::new(format!("html: {}: no such directory", directory.display())));
        }
    }
    if let Some(directory) = &options.figures {
        std::fs::create_dir_all(directory)
            .map_err(|cause| Failure::new(format!("figures: {}: {cause}", directory.display())))?;
    }
    let found = findings::measure(&papers, options)?;
    // The table is printed first, so that nothing is lost if a file cannot be written.
    if options.json {
        say(serde_json::to_string_pretty(&json::array(&found))?)?;
    } else {
        say(table::of_findings(&found))?;
    }
    if let Some(directory) = &options.figures {
        for (paper, figure) in
            found.iter().flat_map(|found| found.figures.iter().map(move |figure| (found.paper, figure)))
        {
            write(&directory.join(format!("{}-{}.svg", paper.id, figure.figure.id)), &plot::svg(figure)?)?;
        }
    }
    if let Some(file) = &options.html {
        write(file, &page::html(&found)?)?;
    }
    finish(&found)
}

/// Returns the papers with the chosen claims and figures.
fn chosen(options: &ReproduceOptions) -> Result<Vec<Paper>, Failure> {
    let mut papers = papers::papers()?;
    if let Some(unknown) = options.papers.iter().find(|id| papers.iter().all(|paper| paper.id != **id)) {
        let known: Vec<&str> = papers.iter().map(|paper| paper.id.as_str()).collect();
        return Err(Failure::new(format!("paper: {unknown}; allowed: {}", known.join("|"))));
    }
    papers.retain(|paper| options.papers.is_empty() || options.papers.contains(&paper.id));
    for paper in &mut papers {
        paper.claims.retain(|claim| {
            (!options.quick || claim.quick) && options.claim.as_ref().is_none_or(|text| claim.id.contains(text))
        });
        paper
            .figures
            .retain(|figure| !options.quick && options.claim.as_ref().is_none_or(|text| figure.id.contains(text)));
    }
    let draws = options.html.is_some() || options.figures.is_some();
    if papers.iter().all(|paper| paper.claims.is_empty() && (!draws || paper.figures.is_empty())) {
        let what = options.claim.as_ref().map_or("--quick".to_string(), |text| format!("--claim {text}"));
        return Err(Failure::new(format!(
            "{what}: no claim of these papers matches; allowed: part of a name that `trib-lab reproduce --list` shows, or, with --html or --figures, of a figure"
        )));
    }
    Ok(papers)
}

/// Writes a file. The error, if any, names the file.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))
}

fn finish(found: &[Found<'_>]) -> Result<(), Failure> {
    let changed: Vec<String> = found
        .iter()
        .flat_map(|found| found.findings.iter().map(move |finding| (found.paper, finding)))
        .filter(|(_, finding)| finding.verdict != finding.claim.verdict)
        .map(|(paper, finding)| format!("{} {} is {}", paper.id, finding.claim.id, finding.verdict))
        .collect();
    match changed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("verdicts differ from the recorded ones: {}", changed.join("; ")))),
    }
}
