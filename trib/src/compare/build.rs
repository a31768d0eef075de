//! Compiles C programs. The results are cached under a hash of all their inputs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use sha2::{Digest, Sha256};

/// Name and text of a C source file.
pub type SourceFile = (&'static str, &'static str);

/// Source of the library that sums the time inside MPI's file functions.
const INSIDE: &[SourceFile] = &[("inside.c", include_str!("inside.c"))];

/// Source of the library that makes files slow.
const SLOW_FILE: &[SourceFile] = &[("slow_file.c", include_str!("slow_file.c"))];

/// Returns the path of the library that sums the time inside MPI's file functions: the installed one, or one that is
/// compiled now.
///
/// # Errors
/// The library does not compile, or no cache folder can be written.
pub fn inside() -> Result<PathBuf, Failure> {
    installed_or_built("inside.so", INSIDE)
}

/// Returns the path of the library that makes files slow, as [`inside`] does.
///
/// # Errors
/// The errors of [`inside`].
pub fn slow_file() -> Result<PathBuf, Failure> {
    installed_or_built("slow_file.so", SLOW_FILE)
}

/// Returns the path of a library that needs no MPI, so any compiler will do.
fn installed_or_built(name: &str, sources: &[SourceFile]) -> Result<PathBuf, Failure> {
    if let Some(installed) = std::env::current_exe().ok().and_then(|program| installed(&program, name)) {
        return Ok(installed);
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    build(&compiler, name, sources, &["-O2", "-g", "-shared", "-fPIC"])
}

/// Returns the path of a library in the installation of the program at `program`, if it is installed.
fn installed(program: &Path, name: &str) -> Option<PathBuf> {
    let library = program.parent()?.parent()?.join("lib/tributary").join(name);
    library.is_file().then_some(library)
}

/// Compiles the sources to a file called `name`, unless the cache has it.
///
/// # Errors
/// The sources do not compile, or no cache folder can be written.
pub fn build(compiler: &str, name: &str, sources: &[SourceFile], options: &[&str]) -> Result<PathBuf, Failure> {
    let folder = cache()?.join(&hash(compiler, sources, options)[..16]);
    let made = folder.join(name);
    if made.is_file() {
        return Ok(made);
    }
    let fail = |cause: std::io::Error| Failure::new(format!("{}: {cause}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    // The file has a temporary name until it is complete, because two commands may build it at the same time.
    let fresh = tempfile::tempdir_in(&folder).map_err(fail)?;
    for (name, text) in sources {
        std::fs::write(fresh.path().join(name), text).map_err(fail)?;
    }
    let sources = sources.iter().map(|(name, _)| name).filter(|name| name.ends_with(".c"));
    let mut command = Command::new(compiler);
    command.current_dir(fresh.path()).args(options).args(["-o", name]).args(sources).args(["-ldl"]);
    let output = command.output().map_err(|cause| {
        Failure::new(format!(
            "{compiler}: {cause}; {name} is compiled here; allowed: CC or --mpicc that names a C compiler"
        ))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.contains("error")).unwrap_or("no reason is given").to_string();
        return Err(Failure::new(format!("{compiler}: {name} does not compile: {line}")));
    }
    std::fs::rename(fresh.path().join(name), &made).map_err(fail)?;
    Ok(made)
}

/// Returns a hash of the sources, the options and the command that the compiler wrapper runs.
fn hash(compiler: &str, sources: &[SourceFile], options: &[&str]) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &[u8]| {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    };
    add(compiler.as_bytes());
    for question in ["-show", "--version"] {
        if let Ok(output) = Command::new(compiler).arg(question).output() {
            add(&output.stdout);
        }
    }
    for (name, text) in sources {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    for option in options {
        add(option.as_bytes());
    }
    hexadecimal(digest)
}

/// Returns a digest as hexadecimal text.
pub fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the cache folder: beside this program, if it is in a target directory, else below the user's cache.
fn cache() -> Result<PathBuf, Failure> {
    let beside = std::env::current_exe().ok().and_then(|program| program.parent().map(|at| at.join("compare")));
    let variable = |name, below: &str| std::env::var_os(name).map(|at| PathBuf::from(at).join(below));
    let cache = variable("XDG_CACHE_HOME", "tributary/compare").or(variable("HOME", ".cache/tributary/compare"));
    let candidates: Vec<PathBuf> = beside.into_iter().chain(cache).collect();
    candidates.iter().find(|folder| is_writable(folder)).cloned().ok_or_else(|| {
        Failure::new(
            "cache: no folder beside this program or below the home directory; allowed: one that can be written",
        )
    })
}

fn is_writable(folder: &Path) -> bool {
    std::fs::create_dir_all(folder).is_ok() && tempfile::tempfile_in(folder).is_ok()
}

#[cfg(test)]
mod tests {
    use super::installed;

    #[test]
    fn an_installation_needs_no_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let (program, library) = (folder.path().join("bin/trib"), folder.path().join("lib/tributary/inside.so"));
        assert_eq!(installed(&program, "inside.so"), None);
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        std::fs::write(&library, "").unwrap();
        assert_eq!(installed(&program, "inside.so"), Some(library));
    }
}
