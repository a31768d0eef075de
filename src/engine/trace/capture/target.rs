//! Directory and size limit of captures, from the environment variable `TRIB_CAPTURE`.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use tributary_base::fingerprint;

use crate::error::{Error, Result};
use crate::hints;
use crate::world::process::per_process;

/// Name of the environment variable that asks for captures.
const VARIABLE: &str = "TRIB_CAPTURE";
/// The values of the variable that are allowed, for errors.
const ALLOWED: &str = "DIR or DIR;limit=SIZE, where DIR is a directory without ; in its name";
/// Maximum number of bytes of a capture, if the environment sets no limit.
const DEFAULT_LIMIT: u64 = 1 << 30;
/// File name extension of captures.
pub const EXTENSION: &str = "tribcap";
/// File name extension of a capture that is still being written.
const UNFINISHED: &str = "tribcap.unfinished";

/// Directory and size limit of captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureTarget {
    /// Directory of the captures; created if it does not exist.
    pub directory: PathBuf,
    /// Maximum number of bytes of one capture, of all ranks together.
    pub limit: u64,
}

impl CaptureTarget {
    /// Returns the target that the environment of this process names; `None` if calls are not captured, or if the value is
    /// not allowed ([`CaptureTarget::complain`]). Reads the variable once.
    pub fn of_process() -> Option<&'static Self> {
        Self::read().as_ref()?.as_ref().ok()
    }

    /// Prints a line on rank 0, once in a process, if the value of the variable is not allowed.
    pub fn complain(rank: usize) {
        per_process! {
            static SAID: Once = Once::new();
        }
        if let (0, Some(Err(error))) = (rank, Self::read()) {
            SAID.call_once(|| crate::say(format_args!("no capture: {error}")));
        }
    }

    fn read() -> &'static Option<Result<Self>> {
        per_process! {
            static READ: OnceLock<Option<Result<CaptureTarget>>> = OnceLock::new();
        }
        READ.get_or_init(|| {
            crate::variable(VARIABLE).filter(|value| !value.is_empty()).map(|value| Self::parse(&value))
        })
    }

    /// Parses a value of `TRIB_CAPTURE`: `DIR`, or `DIR;limit=SIZE`.
    ///
    /// # Errors
    /// An empty directory, another key than `limit`, or a size that is not allowed.
    pub fn parse(value: &OsStr) -> Result<Self> {
        let bad = |allowed: &str| Error::argument(VARIABLE, value.display(), allowed);
        let mut parts = value.as_bytes().split(|&byte| byte == b';');
        let directory = parts.next().filter(|directory| !directory.is_empty()).ok_or_else(|| bad(ALLOWED))?;
        let mut target = Self { directory: OsStr::from_bytes(directory).into(), limit: DEFAULT_LIMIT };
        for part in parts.map(String::from_utf8_lossy).filter(|part| !part.trim().is_empty()) {
            let size = part.trim().strip_prefix("limit=").ok_or_else(|| bad(ALLOWED))?;
            target.limit = hints::size(size).ok_or_else(|| bad(&format!("a limit of {}", hints::SIZES)))?;
        }
        Ok(target)
    }

    /// Returns the value of `TRIB_CAPTURE` that names this target.
    pub fn value(&self) -> OsString {
        let mut value = self.directory.clone().into_os_string();
        if self.limit != DEFAULT_LIMIT {
            value.push(format!(";limit={}", self.limit));
        }
        value
    }

    /// Returns a hash of the target; 0 for no target. At the open, the ranks compare their hashes to see if their targets are
    /// equal.
    pub fn fingerprint(target: Option<&Self>) -> u64 {
        let Some(Self { directory, limit }) = target else { return 0 };
        fingerprint([directory.as_os_str().as_bytes(), &limit.to_le_bytes()]).max(1)
    }

    /// Creates a new, empty file for the capture of `file` while it is written. Local.
    ///
    /// # Errors
    /// The directory, or the file, cannot be made.
    pub fn create(&self, file: &Path) -> io::Result<PathBuf> {
        new_file(&self.directory, file, UNFINISHED).map(|(path, _)| path)
    }

    /// Gives the capture of `file` its final name: the name of `file`, with a number if that name is taken. Local.
    ///
    /// # Errors
    /// The file cannot be made or renamed.
    pub fn publish(&self, unfinished: &Path, file: &Path) -> io::Result<()> {
        let (path, _) = new_file(&self.directory, file, EXTENSION)?;
        std::fs::rename(unfinished, path)
    }
}

/// Creates a new, empty file for `file` in a directory, which is created if needed. Its name is the name of `file` and
/// the extension, with a number before the extension if that name is taken. Local.
///
/// # Errors
/// The directory, or the file, cannot be made.
fn new_file(directory: &Path, file: &Path, extension: &str) -> io::Result<(PathBuf, File)> {
    DirBuilder::new().recursive(true).create(directory)?;
    let name = file.file_name().unwrap_or_else(|| "file".as_ref());
    for number in 1u64.. {
        let mut full = name.to_os_string();
        full.push(match number {
            1 => format!(".{extension}"),
            _ => format!(".{number}.{extension}"),
        });
        let path = directory.join(full);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(made) => return Ok((path, made)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
    }
    Err(io::Error::other("every name is taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> Result<CaptureTarget> {
        CaptureTarget::parse(OsStr::new(value))
    }

    #[test]
    fn the_variable_names_directory_and_limit() {
        for (value, directory, limit) in [
            ("there", "there", DEFAULT_LIMIT),
            ("/a b/there;limit=2M", "/a b/there", 2 << 20),
            ("there; limit=3 ;", "there", 3),
            ("limit=2M", "limit=2M", DEFAULT_LIMIT),
        ] {
            let target = parse(value).unwrap();
            assert_eq!((target.directory.as_path(), target.limit), (Path::new(directory), limit), "{value}");
            assert_eq!(CaptureTarget::parse(&target.value()), Ok(target));
        }
    }

    #[test]
    fn a_bad_value_is_an_error_that_says_what_is_allowed() {
        for (value, allowed) in [
            (";limit=2M", "DIR or DIR;limit=SIZE"),
            ("there;size=2M", "DIR or DIR;limit=SIZE"),
            ("there;limit", "DIR or DIR;limit=SIZE"),
            ("there;limit=0", "a limit of 1 to 2^62 bytes"),
            ("there;limit=-1", "a limit of 1 to 2^62 bytes"),
            ("there;limit=", "a limit of 1 to 2^62 bytes"),
            ("there;limit=many", "a limit of 1 to 2^62 bytes"),
        ] {
            let text = parse(value).unwrap_err().to_string();
            assert!(text.starts_with(&format!("TRIB_CAPTURE: {value}; allowed: {allowed}")), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let directory = tempfile::tempdir().unwrap();
        let target = CaptureTarget { directory: directory.path().join("a/b"), limit: 1 };
        let made: Vec<PathBuf> = (0..3).map(|_| target.create(Path::new("/x/out.nc")).unwrap()).collect();
        made.iter().for_each(|unfinished| target.publish(unfinished, Path::new("/x/out.nc")).unwrap());
        let names = std::fs::read_dir(&target.directory).unwrap().map(|entry| entry.unwrap().file_name());
        let names: std::collections::BTreeSet<_> = names.collect();
        assert_eq!(names, ["out.nc.tribcap", "out.nc.2.tribcap", "out.nc.3.tribcap"].map(OsString::from).into());
    }

    #[test]
    fn different_targets_have_different_fingerprints() {
        let target = |limit| CaptureTarget { directory: "d".into(), limit };
        assert_eq!(CaptureTarget::fingerprint(None), 0);
        assert_ne!(CaptureTarget::fingerprint(Some(&target(1))), CaptureTarget::fingerprint(Some(&target(2))));
    }
}
