//! Links between the pages of the repository lead to existing files and headings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All pages.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [".", "docs", "benchmarks/batch", "trib", "netcdf", "bindings"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The text without what stands in code blocks.
fn prose(page: &Path) -> String {
    let text = std::fs::read_to_string(page).unwrap();
    text.split("```").step_by(2).collect()
}

/// The anchors that a page's headings make: small letters, digits, `-` and `_`; a `-` for each space.
fn anchors(page: &Path) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |letter: char| letter.is_alphanumeric() || "-_ ".contains(letter);
    headings
        .map(|words| words.to_lowercase().chars().filter(|&c| kept(c)).collect::<String>().replace(' ', "-"))
        .collect()
}

/// The targets of the page's links, without those to other sites.
fn targets(page: &Path) -> Vec<String> {
    let prose = prose(page).replace("]\n(", "](");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_string()).filter(|target| !target.contains("://")).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut links, mut broken) = (0, Vec::new());
    for page in pages() {
        for target in targets(&page) {
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_found = file.exists() && (anchor.is_empty() || anchors(&file).contains(anchor));
            if !is_found {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{} of {links} links lead nowhere:\n{}", broken.len(), broken.join("\n"));
    assert!(links > 100, "only {links} links were found");
}
