//! Checks that links and names in the repository lead somewhere: links to a file and to a heading that it has, names
//! of pages in the source, and names of source files in pages.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Names of folders that do not belong to the source tree, or have no text.
const LEFT_OUT: [&str; 3] = ["target", ".git", "proptest-regressions"];
/// Folders of sources that pages name.
const FOLDERS: [&str; 14] = [
    "src/",
    "tests/",
    "abi/",
    "base/",
    "drivers/",
    "bindings/",
    "benches/",
    "benchmarks/",
    "netcdf/",
    "lab/",
    "testing/",
    "trib/",
    "docs/",
    "examples/",
];
/// Characters in names that stand for several files, or are made up.
const NO_FILES: [char; 5] = ['<', '*', '{', '$', '…'];

/// Adds all files below `folder` to `found`.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if LEFT_OUT.iter().any(|left_out| name == *left_out || name.starts_with("target-")) {
            continue;
        }
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// Returns the text without fenced code blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut outside = |line: &&str| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    };
    text.lines().filter(|line| outside(line)).collect::<Vec<_>>().join("\n")
}

/// Returns the anchors that a page's headings make: small letters, digits, `-` and `_`; a `-` for each space. If
/// headings are equal, the second has a `-1` behind it, and so on.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |letter: &char| letter.is_alphanumeric() || "-_ ".contains(*letter);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let anchor = |words: &str| {
        let name = words.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        let before = seen.entry(name.clone()).or_default();
        *before += 1;
        if *before == 1 { name } else { format!("{name}-{}", *before - 1) }
    };
    headings.map(anchor).collect()
}

/// Returns the targets of the page's links and pictures, without targets on other sites.
fn targets(prose: &str) -> Vec<String> {
    let prose = prose.replace("]\n(", "](");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_string()).filter(|target| !target.contains("://")).collect()
}

/// Returns the names of pages and pictures in `docs/` that a text mentions, with an anchor if there is one.
fn mentions(text: &str) -> Vec<String> {
    let of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_./#".contains(letter);
    let mention = |(at, _): (usize, &str)| {
        // Not the end of another path, as in `../docs/` of a link.
        let is_start = !text[..at].ends_with(|before: char| of_name(before));
        let end = text[at..].find(|letter| !of_name(letter)).map_or(text.len(), |len| at + len);
        let name = text[at..end].trim_end_matches(['.', '#', '/']);
        let is_file = [".md", ".svg"].iter().any(|ending| name.split('#').next().unwrap().ends_with(ending));
        (is_start && is_file).then(|| name.to_string())
    };
    text.match_indices("docs/").filter_map(mention).collect()
}

/// Returns the files and folders of the source tree that a page names between backquotes.
fn sources(prose: &str) -> Vec<String> {
    let quoted = prose.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let names = quoted.flat_map(str::split_whitespace).map(|name| name.trim_end_matches([',', ';', ':']));
    names
        .filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)) && !name.contains(NO_FILES))
        .map(|name| name.split('#').next().unwrap().to_string())
        .collect()
}

/// Returns a line for each link or name in a tree that leads nowhere, and the number of links and names checked.
fn broken(root: &Path) -> (Vec<String>, usize) {
    let (mut all, mut broken, mut looked_at) = (Vec::new(), Vec::new(), 0);
    files(root, &mut all);
    all.sort();
    for file in all {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let mut look = |folder: &Path, target: &str| {
            looked_at += 1;
            let (name, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if name.is_empty() { file.clone() } else { folder.join(name) };
            let has_anchor = || is_page(&to) && anchors(&std::fs::read_to_string(&to).unwrap()).contains(anchor);
            if !to.exists() || !anchor.is_empty() && !has_anchor() {
                broken.push(format!("{}: {target}", file.strip_prefix(root).unwrap().display()));
            }
        };
        if is_page(&file) {
            let prose = prose(&text);
            targets(&prose).iter().for_each(|target| look(file.parent().unwrap(), target));
            // From the root, or, in the page of a crate, from there.
            let own = file.parent().unwrap();
            sources(&prose).iter().for_each(|name| look(if own.join(name).exists() { own } else { root }, name));
        }
        let own = file.parent().unwrap();
        let is_own = |name: &str| own.join(name.split('#').next().unwrap_or_default()).exists();
        mentions(&text).iter().for_each(|name| look(if is_own(name) { own } else { root }, name));
    }
    (broken, looked_at)
}

#[test]
fn links_and_names_lead_somewhere() {
    let (broken, looked_at) = broken(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(broken.is_empty(), "{} of {looked_at} lead nowhere:\n{}", broken.len(), broken.join("\n"));
    assert!(looked_at > 500, "only {looked_at} links and names were found");
}

/// Checks a tree that has one of every kind of wrong link, beside right ones.
#[test]
fn what_leads_nowhere_is_found() {
    let directory = tempfile::tempdir().unwrap();
    // `DOCS`, or this file would be said to name these pages itself.
    let put = |name: &str, text: &str| {
        let file = directory.path().join(name.replace("DOCS", "docs"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.replace("DOCS", "docs")).unwrap();
    };
    put("DOCS/page.md", "# One, two\n\n## Twice\n\n## Twice\n\n```sh\n# no heading, [no link](nowhere)\n```\n");
    put(
        "README.md",
        "[right](DOCS/page.md#one-two) [right](DOCS/page.md#twice-1) [out](https://example.org/x.md) `src/x.rs` `src/<name>.rs`\n\
         [no page](DOCS/gone.md) [no heading](DOCS/page.md#three) [own](#nothing) ![no picture](DOCS/gone.svg) `src/gone.rs`\n",
    );
    put("src/x.rs", "//! `DOCS/page.md#one-two` is there; DOCS/lost.md and DOCS/page.md#none are not.\n");
    put("target/left_out.md", "[not looked at](nowhere)");
    let (broken, _) = broken(directory.path());
    let broken: BTreeSet<_> = broken.iter().map(|line| line.replace("docs", "DOCS")).collect();
    let expected = [
        "README.md: #nothing",
        "README.md: DOCS/gone.md",
        "README.md: DOCS/gone.svg",
        "README.md: DOCS/page.md#three",
        "README.md: src/gone.rs",
        "src/x.rs: DOCS/lost.md",
        "src/x.rs: DOCS/page.md#none",
    ];
    assert_eq!(broken, expected.map(String::from).into());
}
