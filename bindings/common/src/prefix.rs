//! The list of prefixes of file names that name a file system, as ROMIO knows them: `lustre:/scratch/data.nc`.

use tributary::error::About;
use tributary::{Error, Result};

/// The kind of storage that a prefix stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixKind {
    /// The prefix stands for files of the operating system.
    Files,
    /// Storage that only a library reaches: object storage, a server of its own, a test.
    Other,
}

use PrefixKind::{Files, Other};

/// Each prefix without its colon, with its kind of storage. ROMIO of MPICH 4 knows the first eleven, older versions
/// the others.
const PREFIXES: [(&str, PrefixKind); 24] = [
    ("ufs", Files),
    ("nfs", Files),
    ("xfs", Files),
    ("gpfs", Files),
    ("panfs", Files),
    ("lustre", Files),
    ("pvfs2", Other),
    ("daos", Other),
    ("testfs", Other),
    ("ime", Other),
    ("quobyte", Other),
    ("bg", Files),
    ("bgl", Files),
    ("bglockless", Files),
    ("hfs", Files),
    ("ntfs", Files),
    ("pfs", Files),
    ("piofs", Files),
    ("sfs", Files),
    ("ftp", Other),
    ("gridftp", Other),
    ("gsiftp", Other),
    ("pvfs", Other),
    ("zoidfs", Other),
];

/// A file name that begins with a known prefix, in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixed<'a> {
    /// The prefix, without its colon.
    pub prefix: &'static str,
    /// Kind of storage that the prefix stands for.
    pub storage: PrefixKind,
    /// The name after the colon.
    pub rest: &'a [u8],
}

/// Splits a name into prefix and rest; None if it begins with no known prefix. Ignores case: ROMIO of MPICH 4 takes `Ufs:`, older
/// versions take `UFS:`.
pub fn prefixed(name: &[u8]) -> Option<Prefixed<'_>> {
    let colon = name.iter().position(|&byte| byte == b':')?;
    let (before, rest) = (&name[..colon], &name[colon + 1..]);
    let known = PREFIXES.iter().find(|(prefix, _)| before.eq_ignore_ascii_case(prefix.as_bytes()));
    known.map(|&(prefix, storage)| Prefixed { prefix, storage, rest })
}

/// Returns a file's name without its prefix. `argument` names the file's name in an error.
///
/// # Errors
/// The prefix stands for storage that is not a file.
pub fn without_prefix<'a>(name: &'a [u8], argument: &str) -> Result<&'a [u8]> {
    match prefixed(name) {
        Some(Prefixed { prefix, storage: Other, .. }) => {
            let files = PREFIXES.iter().filter(|(_, storage)| *storage == Files);
            let files = files.map(|(prefix, _)| format!("{prefix}:")).collect::<Vec<_>>().join(", ");
            let allowed = format!("the name of a file, with no prefix or one of {files}");
            Err(Error::argument(argument, format!("the prefix {prefix}:"), allowed).about(About::Path))
        }
        Some(all) => Ok(all.rest),
        None => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let of = |name: &'static str| prefixed(name.as_bytes()).map(|all| (all.prefix, all.storage, all.rest));
        assert_eq!(of("lustre:/data/f.nc"), Some(("lustre", Files, &b"/data/f.nc"[..])));
        assert_eq!(of("pvfs2:f"), Some(("pvfs2", Other, &b"f"[..])));
        assert_eq!(of("pvfs:f"), Some(("pvfs", Other, &b"f"[..])));
        assert_eq!(of("daos://pool/f"), Some(("daos", Other, &b"//pool/f"[..])));
        assert_eq!(of("UFS:a:b"), Some(("ufs", Files, &b"a:b"[..])));
        assert_eq!(of("Quobyte:f"), Some(("quobyte", Other, &b"f"[..])));
        for name in ["history_15:00.nc", "/ufs:f", "ufs", "lustre", "ufsdata:f", "a:b", ""] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn only_files_are_opened() {
        assert_eq!(without_prefix(b"ufs:/f", "path").unwrap(), b"/f");
        assert_eq!(without_prefix(b"a:b", "path").unwrap(), b"a:b");
        let said = without_prefix(b"daos://pool/f", "path").unwrap_err().to_string();
        let due = "path: the prefix daos:; allowed: the name of a file, with no prefix or one of ufs:, nfs:, ";
        assert!(said.starts_with(due) && !said.contains("ime"), "{said}");
    }
}
