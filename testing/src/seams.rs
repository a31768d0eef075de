//! Checks that calls which a world of its own replaces stand in one module each: see [`hold_seams`].

use std::path::{Path, PathBuf};

use crate::layers::{code, sources};

/// A file or folder, and the text of calls that stand there only.
pub type Seam = (&'static str, &'static [&'static str]);

/// Checks that the text of each seam stands in its own place only, of all source files below `root`/`folder`, and that
/// every `static` is a constant or declared by a macro of this name in `macros`. `constants` are the beginnings of the types of
/// constants.
///
/// # Panics
/// Panics with all places that break this, and if a seam's own file has none of its text.
pub fn hold_seams(root: &Path, folder: &str, seams: &[Seam], macros: &[&str], constants: &[&str]) {
    let mut files = Vec::new();
    sources(&root.join(folder), &mut files);
    files.sort();
    let texts: Vec<(PathBuf, String)> = files.into_iter().map(|file| (file.clone(), code(&file))).collect();
    let mut wrong = Vec::new();
    for (file, text) in &texts {
        let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
        for (home, calls) in seams.iter().filter(|(home, _)| !name.starts_with(home)) {
            wrong.extend(lines_with(text, calls).into_iter().map(|line| format!("{name}: `{line}` belongs in {home}")));
        }
        if !seams.iter().any(|(home, _)| name.starts_with(home)) {
            let statics = loose_statics(text, macros, constants);
            wrong.extend(
                statics.into_iter().map(|line| format!("{name}: `{line}` is state outside {}", macros.join(", "))),
            );
        }
    }
    for (home, calls) in seams {
        let own = |file: &Path| file.strip_prefix(root).unwrap_or(file).to_string_lossy().starts_with(home);
        let unused = |call: &&&str| !texts.iter().any(|(file, text)| own(file) && text.contains(**call));
        wrong.extend(calls.iter().filter(unused).map(|call| format!("{home} has no `{call}`: take it off the list")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the lines that contain one of `calls`.
fn lines_with<'a>(text: &'a str, calls: &[&str]) -> Vec<&'a str> {
    text.lines().filter(|line| calls.iter().any(|call| line.contains(call))).map(str::trim).collect()
}

/// Returns the lines that declare a `static`, except constants and those in a block of one of `macros`.
fn loose_statics<'a>(text: &'a str, macros: &[&str], constants: &[&str]) -> Vec<&'a str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut within, mut loose) = (None, Vec::new());
    for line in text.lines() {
        let words = line.trim_start();
        if macros.iter().any(|name| words.starts_with(&format!("{name}! {{"))) {
            within = Some(indent(line));
        } else if words == "}" && within == Some(indent(line)) {
            within = None;
        }
        let is_visibility =
            |before: &str| matches!(before, "" | "pub ") || before.starts_with("pub(") && before.ends_with(") ");
        let declared = words.split_once("static ").filter(|(before, _)| is_visibility(before));
        let kind = declared.and_then(|(_, rest)| rest.split_once(": ")).map(|(_, kind)| kind);
        if within.is_none() && kind.is_some_and(|kind| !constants.iter().any(|constant| kind.starts_with(constant))) {
            loose.push(words);
        }
    }
    loose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_found_outside_the_macros() {
        let text = "per_process! {\n    static A: u8 = 1;\n}\nstatic B: u8 = 2;\npub static C: Kernel = Kernel {};\nfn f(a: &'static str) {\n    \
                    per_process! {\n        static D: u8 = 1;\n    }\n    static E: u8 = 3;\n}\n";
        assert_eq!(loose_statics(text, &["per_process"], &["Kernel"]), ["static B: u8 = 2;", "static E: u8 = 3;"]);
        assert_eq!(loose_statics(text, &[], &["u8", "Kernel"]), [""; 0]);
    }

    #[test]
    fn calls_are_found() {
        assert_eq!(lines_with("a\n  b::c()\nd", &["b::", "e"]), ["b::c()"]);
    }
}
