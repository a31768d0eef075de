//! Checks the tables in `docs/` that are made from the registries of hints and kernels, each below a comment;
//! `./generate` writes them anew. The same is done for files of tutorials that pages show.

use std::path::Path;

use tributary::Hints;
use tributary::exchange::{KERNELS, SLIDING_LIMIT, two_layer};
use tributary::schedule::SendMode;

const END: &str = "\n<!-- End of what is generated -->\n";

/// Compares the table below a comment of a page with `expected`, or writes it (`./generate`).
fn hold(name: &str, from: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- Generated from {from}; regenerate with: ./generate -->\n\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{name} has no {begin}"));
    let (kept, after) = rest.split_once(END).unwrap_or_else(|| panic!("{name} has no {END}"));
    if kept != expected && std::env::var_os("TRIB_REGENERATE").is_some() {
        return std::fs::write(&path, format!("{before}{begin}{expected}{END}{after}")).unwrap();
    }
    assert!(kept == expected, "{name} is not what {from} says; ./generate writes it");
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Returns a table of the hints whose keys begin with `trib_`, or of the others.
fn hints(ours: bool) -> String {
    let mut text =
        "| key | default | allowed | unit | meaning | set it when |\n|---|---|---|---|---|---|\n".to_string();
    for row in Hints::default().table().iter().filter(|row| row.key.starts_with("trib_") == ours) {
        let default = if row.default.is_empty() { "none".to_string() } else { format!("`{}`", row.default) };
        let [allowed, meaning, when] = [&row.allowed.replace('*', "\\*"), row.meaning, row.when].map(cell);
        text += &format!("| `{}` | {default} | {allowed} | {} | {meaning} | {when} |\n", row.key, row.unit);
    }
    text
}

/// Returns a table of the kernels and `two_layer`.
fn kernels() -> String {
    let mut text =
        "| name | what it does | sends | limit by default | when to use it |\n|---|---|---|---|---|\n".to_string();
    let mut row = |name, about, sends, limit: &str, when| {
        text += &format!("| `{name}` | {} | {sends} | {limit} | {} |\n", cell(about), cell(when));
    };
    for kernel in KERNELS {
        let sends = match kernel.mode {
            SendMode::Standard => "Isend",
            SendMode::Synchronous => "Issend",
        };
        let limit = match kernel.default_limit {
            None => "none".to_string(),
            Some(limit) if kernel.coupled => format!("{limit}, by construction"),
            Some(limit) => format!("{SLIDING_LIMIT}; {limit} in batches"),
        };
        row(kernel.name, kernel.about, sends, &limit, kernel.when);
    }
    let limit = "the outer kernel's, inside the node too";
    row(two_layer::NAME, two_layer::ABOUT, "the outer kernel's", limit, two_layer::WHEN);
    text
}

/// Checks all tables in one test, because they are in one file.
#[test]
fn the_tables_of_hints_are_current() {
    let page = "docs/reference/hints.md";
    hold(page, "src/hints/rows.rs: other libraries'", &hints(false));
    hold(page, "src/hints/rows.rs: ours", &hints(true));
    hold(page, "src/exchange", &kernels());
}

#[test]
fn the_table_of_kernels_is_current() {
    hold("docs/how-it-works/kernels.md", "src/exchange", &kernels());
}

/// Returns a table of the MPI libraries under which `.ci/mpis` has run programs, a line of JSON for each.
fn mpis() -> String {
    const CHECKS: [&str; 5] = ["preloaded", "linked", "component", "c_api", "trib"];
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/benchmarks/results/mpis.jsonl");
    let mut text = "| MPI library | from | preloaded | linked | component | C API | `trib` | generated |\n\
                    |---|---|---|---|---|---|---|--:|\n"
        .to_string();
    for line in std::fs::read_to_string(results).unwrap().lines() {
        let found: serde_json::Value = serde_json::from_str(line).unwrap();
        let ran = CHECKS.map(|check| if found[check] == true { "yes" } else { "" }).join(" | ");
        let failed: Vec<String> = found["failed"].as_array().unwrap().iter().map(ToString::to_string).collect();
        let generated = match (found["generated"].as_u64(), failed.len() as u64) {
            (None, _) => String::new(),
            (Some(programs), 0) => programs.to_string(),
            (Some(programs), count) => format!("{} of {programs}, not {}", programs - count, failed.join(", ")),
        };
        text += &format!("| {} | {} | {ran} | {generated} |\n", text_of(&found["mpi"]), text_of(&found["from"]));
    }
    text
}

fn text_of(value: &serde_json::Value) -> &str {
    value.as_str().expect("a text")
}

#[test]
fn the_table_of_mpi_libraries_is_current() {
    hold("docs/reference/mpis.md", "benchmarks/results/mpis.jsonl", &mpis());
}

/// A page shows a file in the code block below a comment that names it.
#[test]
fn pages_show_tutorials_as_they_are_built() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("docs/tutorial");
    let mut shown = 0;
    for page in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut parts = text.split("<!-- The file ");
        let mut current = parts.next().unwrap().to_string();
        for part in parts {
            let (name, rest) = part.split_once("; regenerate with: ./generate -->\n\n```").expect("a code block");
            let (language, rest) = rest.split_once('\n').unwrap();
            let (_, rest) = rest.split_once("```").unwrap();
            let file = std::fs::read_to_string(root.join(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"));
            current +=
                &format!("<!-- The file {name}; regenerate with: ./generate -->\n\n```{language}\n{file}```{rest}");
            shown += 1;
        }
        if current != text && std::env::var_os("TRIB_REGENERATE").is_some() {
            std::fs::write(&page, &current).unwrap();
        }
        let is_current = std::fs::read_to_string(&page).unwrap() == current;
        assert!(is_current, "{} shows a file as it is not; ./generate writes it", page.display());
    }
    assert!(shown > 0, "no page shows a file");
}
