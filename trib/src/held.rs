//! Files in `docs/` that are made from registries: tests hold the checked-in ones to it, and `./generate` has them written.

use std::path::{Path, PathBuf};

/// The path of a file in `docs/`.
pub fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

fn generates() -> bool {
    std::env::var_os("TRIB_REGENERATE").is_some()
}

/// Holds the checked-in file to `expected`, or writes it if it differs. `source` is what it is made from.
pub fn hold(name: &str, expected: &str, source: &str) {
    let path = docs(name);
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept != expected && generates() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(&path, expected).unwrap();
    }
    assert!(kept == expected, "docs/{name} is not what {source} says; ./generate writes it");
}

/// Holds a directory to having these files and no others, or removes the others.
pub fn hold_no_others(directory: &str, mut expected: Vec<String>, source: &str) {
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
    assert_eq!(there(), expected, "docs/{directory} is not what {source} says; ./generate writes and removes files");
}
