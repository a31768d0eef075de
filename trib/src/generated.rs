//! Files that are generated from registries. Tests compare the checked-in files with the generated text, and write them
//! when `./generate` or `lab/generate` runs the tests.

use std::path::{Path, PathBuf};

/// Returns the path of a file of the project, by its name from the root.
pub fn at_root(name: &str) -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("CITATION.cff").exists()).expect("the root of the project").join(name)
}

fn generates() -> bool {
    std::env::var_os("TRIB_REGENERATE").is_some()
}

/// Asserts that the checked-in file is `expected`, or (with TRIB_REGENERATE) writes it. `source` names what the file is
/// generated from.
pub fn assert_current(name: &str, expected: &str, source: &str) {
    let path = at_root(name);
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept != expected && generates() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, expected).unwrap();
    }
    assert!(kept == expected, "{name} does not match {source}; TRIB_REGENERATE=1 writes it");
}

/// Asserts that a directory has these files and no others, or (with TRIB_REGENERATE) removes the others.
pub fn assert_no_others(directory: &str, mut expected: Vec<String>, source: &str) {
    let there = || {
        let files = std::fs::read_dir(at_root(directory)).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    if generates() {
        for other in there().iter().filter(|name| !expected.contains(name)) {
            std::fs::remove_file(at_root(directory).join(other)).unwrap();
        }
    }
    expected.sort();
    assert_eq!(there(), expected, "{directory} does not match {source}; TRIB_REGENERATE=1 writes and removes files");
}

/// Asserts that the page `name` has a row for each command that the program's help lists.
pub fn assert_commands(program: &clap::Command, name: &str) {
    let page = std::fs::read_to_string(at_root(name)).unwrap();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let row = format!("| `{} {}", program.get_name(), command.get_name());
        assert!(page.contains(&row), "{name} has no row that begins with {row}");
    }
}
