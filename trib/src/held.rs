//! Files in `docs/` that are made from registries: tests hold the checked-in ones to it, and write them when asked.

use std::path::{Path, PathBuf};

/// The path of a file in `docs/`.
pub fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

/// Holds the checked-in file to `expected`, or writes it. `source` is what it is made from, `test` what writes it.
pub fn hold(name: &str, expected: &str, source: &str, test: &str) {
    let path = docs(name);
    if std::env::var_os("TRIB_REGENERATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let how = format!("TRIB_REGENERATE=1 cargo test -p trib {test}");
    assert!(kept == expected, "docs/{name} is not what {source} says; regenerate with: {how}");
}
