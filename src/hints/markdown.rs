//! The hints as a page of documentation.

use std::fmt::Write;

use super::{Hints, OURS, Row};

const HEAD: &str = "\
<!-- Generated from src/hints/rows.rs; regenerate with: TRIB_REGENERATE=1 cargo test --lib hints::markdown -->

# Hints

A hint is a `key=value`. Several are separated by `;` or newlines; `#` starts a comment that ends with the line; the last
of equal keys wins. What wins between sources, from the highest:

1. arguments of the call (the crate, options of the command line);
2. the environment variable `TRIB_HINTS` (the hints themselves);
3. the file that the environment variable `TRIB_HINTS_FILE` names;
4. the defaults below.

Keys that are not listed here are ignored, as MPI asks, except that an unknown key which begins with `trib_` is an error. A
value that is not allowed is an error for every listed key. Words may be written in capitals too. `trib hints` prints this
table with the values in force.
";

/// The page `docs/hints.md`. A test holds the checked-in file to it.
pub fn markdown() -> String {
    let table = Hints::default().table();
    let (ours, others): (Vec<_>, Vec<_>) = table.iter().partition(|row| row.key.starts_with(OURS));
    let mut page = HEAD.to_string();
    section(&mut page, "Hints of ROMIO and PnetCDF", &others);
    section(&mut page, "Hints of Tributary", &ours);
    page
}

fn section(page: &mut String, title: &str, rows: &[&Row]) {
    let cell = |text: &str| text.replace('|', "\\|");
    page.push_str(&format!("\n## {title}\n\n| key | default | allowed | unit | meaning |\n|---|---|---|---|---|\n"));
    for row in rows {
        let Row { key, default, unit, allowed, meaning, .. } = row;
        let default = if default.is_empty() { "none".to_string() } else { format!("`{default}`") };
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "| `{key}` | {default} | {} | {unit} | {} |",
            cell(&allowed.replace('*', "\\*")),
            cell(meaning)
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/hints.md");
        let page = super::markdown();
        if std::env::var_os("TRIB_REGENERATE").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            kept == page,
            "docs/hints.md is not what src/hints/rows.rs says; its first line tells how to regenerate it"
        );
    }
}
