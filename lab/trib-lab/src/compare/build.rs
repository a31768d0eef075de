//! Compiles the C program with the access patterns, and identifies builds of our library.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use trib::compare::build::{build, hexadecimal};

use super::mpi::Mpi;
use super::sources::PROGRAM;
use trib::Failure;

/// Returns the program with the access patterns.
///
/// # Errors
/// It does not compile, or no cache folder can be written.
pub fn program(mpi: &Mpi) -> Result<PathBuf, Failure> {
    build(&mpi.mpicc, "program", PROGRAM, &["-O2", "-g"])
}

/// Returns an identification of a library's build: its version, if known, and the beginning of its file's SHA-256.
///
/// # Errors
/// The file cannot be read.
pub fn revision(library: &Path, version: Option<&str>) -> Result<String, Failure> {
    let fail = |cause: std::io::Error| Failure::new(format!("library: {}: {cause}", library.display()));
    let mut digest = Sha256::new();
    digest.update(std::fs::read(library).map_err(fail)?);
    let sum = hexadecimal(digest);
    Ok(format!("{} (SHA-256 {})", version.unwrap_or("of no version"), &sum[..12]))
}

#[cfg(test)]
mod tests {
    use super::revision;

    #[test]
    fn builds_of_one_version_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("library.so");
        std::fs::write(&library, "abc").unwrap();
        // The sum of FIPS 180-2's first example.
        assert_eq!(revision(&library, Some("0.1.0")).unwrap(), "0.1.0 (SHA-256 ba7816bf8f01)");
        assert_eq!(revision(&library, None).unwrap(), "of no version (SHA-256 ba7816bf8f01)");
        assert!(revision(folder.path(), None).unwrap_err().to_string().starts_with("library: "));
    }
}
