//! Finds libraries that the dynamic linker cannot preload: it then runs the program without them, and prints a line that is
//! easily missed.

use std::process::Command;

use crate::launcher::preload;

/// Text of the dynamic linker before the name of a library that it ignores.
const BEFORE: &str = "ERROR: ld.so: object '";
/// Why it ignores a library that it may read and not run.
const UNMAPPED: &str = "failed to map segment from shared object";

/// Returns a problem for each library of LD_PRELOAD, and for `library`, that cannot be preloaded. Starts this program with
/// these libraries, and reads the dynamic linker's messages.
pub fn problems(library: Option<&str>) -> Vec<String> {
    let inherited = std::env::var(preload::NAME).unwrap_or_default();
    let list = library.map_or(inherited.clone(), |library| preload::behind(&inherited, library));
    let Ok(this) = std::env::current_exe() else { return Vec::new() };
    if list.is_empty() {
        return Vec::new();
    }
    let Ok(output) = Command::new(this).arg("--version").env(preload::NAME, &list).output() else { return Vec::new() };
    let said = String::from_utf8_lossy(&output.stderr);
    let mut found: Vec<String> = said.lines().filter_map(|line| refused(line, library)).collect();
    if found.is_empty() && !output.status.success() {
        found.push(format!(
            "library: a program with LD_PRELOAD={list} ends with {}; allowed: libraries that can be loaded",
            output.status
        ));
    }
    found
}

/// Returns the problem that a line of the dynamic linker reports; None if the line reports none.
fn refused(line: &str, library: Option<&str>) -> Option<String> {
    let (name, rest) = line.strip_prefix(BEFORE)?.split_once('\'')?;
    let (_, why) = rest.split_once('(')?;
    let (why, _) = why.rsplit_once(')')?;
    let (what, allowed) = match library == Some(name) {
        // As on a file system that is mounted noexec.
        true if why == UNMAPPED => {
            ("library".to_string(), "a place from which programs may run: no noexec, no rule of SELinux")
        }
        true => ("library".to_string(), "a libtributary_mpiio.so that this user can read, as it was built"),
        false => (format!("variable {}", preload::NAME), "libraries that can be loaded"),
    };
    Some(format!("{what}: {name} cannot be loaded: {why}; allowed: {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_dynamic_linker() {
        let line =
            "ERROR: ld.so: object '/t/junk.so' from LD_PRELOAD cannot be preloaded (invalid ELF header): ignored.";
        let due = "/t/junk.so cannot be loaded: invalid ELF header; allowed: ";
        assert!(refused(line, Some("/t/junk.so")).unwrap().starts_with(&format!("library: {due}a libtributary")));
        assert!(refused(line, Some("/t/l.so")).unwrap().starts_with(&format!("variable LD_PRELOAD: {due}")));
        let line = "ERROR: ld.so: object '/n/l.so' from LD_PRELOAD cannot be preloaded (failed to map segment from shared object): ignored.";
        assert!(
            refused(line, Some("/n/l.so")).unwrap().contains("allowed: a place from which programs may run: no noexec")
        );
        assert_eq!(refused("trib 0.1.0", None), None);
    }
}
