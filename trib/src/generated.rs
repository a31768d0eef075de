//! Files in `docs/` that are generated from registries: tests compare the checked-in files with what would be generated,
//! and write them when `./generate` runs the tests.

use std::path::{Path, PathBuf};

/// The path of a file in `docs/`.
pub fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

fn generates() -> bool {
    std::env::var_os("TRIB_REGENERATE").is_some()
}

/// Asserts that the checked-in file is `expected`, or (`./generate`) writes it. `source` names what it is generated from.
pub fn assert_current(name: &str, expected: &str, source: &str) {
    let path = docs(name);
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept != expected && generates() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, expected).unwrap();
    }
    assert!(kept == expected, "docs/{name} does not match {source}; ./generate writes it");
}

/// Asserts that a directory has these files and no others, or (`./generate`) removes the others.
pub fn assert_no_others(directory: &str, mut expected: Vec<String>, source: &str) {
    let there = || {
        let files = std::fs::read_dir(docs(directory)).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    if generates() {
        for other in there().iter().filter(|name| !expected.contains(name)) {
            std::fs::remove_file(docs(directory).join(other)).unwrap();
        }
    }
    expected.sort();
    assert_eq!(there(), expected, "docs/{directory} does not match {source}; ./generate writes and removes files");
}

/// Asserts that the page of the command line has a row for each command of a program that its help lists.
pub fn assert_commands(program: &clap::Command) {
    let page = std::fs::read_to_string(docs("reference/command-line.md")).unwrap();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let row = format!("| `{} {}", program.get_name(), command.get_name());
        assert!(page.contains(&row), "docs/reference/command-line.md has no row that begins with {row}");
    }
}
