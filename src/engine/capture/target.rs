//! Directory and size limit of captures, from the environment variables `TRIB_CAPTURE` and `TRIB_CAPTURE_LIMIT`.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tributary_base::fingerprint;

use crate::hints;

const DIRECTORY: &str = "TRIB_CAPTURE";
const LIMIT: &str = "TRIB_CAPTURE_LIMIT";
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
    /// Message about a bad value of `TRIB_CAPTURE_LIMIT`, which rank 0 prints.
    pub complaint: Option<String>,
}

impl CaptureTarget {
    /// Returns the target that the environment of this process names; `None` if calls are not captured. Reads the
    /// variables once.
    pub fn of_process() -> Option<&'static Self> {
        static READ: OnceLock<Option<CaptureTarget>> = OnceLock::new();
        READ.get_or_init(|| Self::from_variables(crate::variable(DIRECTORY), crate::variable(LIMIT))).as_ref()
    }

    fn from_variables(directory: Option<OsString>, limit: Option<OsString>) -> Option<Self> {
        let directory = PathBuf::from(directory.filter(|it| !it.is_empty())?);
        let Some(text) = limit.filter(|it| !it.is_empty()) else {
            return Some(Self { directory, limit: DEFAULT_LIMIT, complaint: None });
        };
        let text = text.to_string_lossy();
        let parsed = hints::size(&text);
        let complaint =
            parsed.is_none().then(|| format!("{LIMIT} is {text}; allowed: {}; 1 GiB is used", hints::SIZES));
        Some(Self { directory, limit: parsed.unwrap_or(DEFAULT_LIMIT), complaint })
    }

    /// Returns a number that differs, with near certainty, if two targets differ; 0 for no target. Ranks compare it at
    /// the open.
    pub fn fingerprint(target: Option<&Self>) -> u64 {
        let Some(target) = target else { return 0 };
        let Self { directory, limit, complaint } = target;
        let complaint = complaint.as_deref().unwrap_or_default().as_bytes();
        fingerprint([directory.as_os_str().as_bytes(), &limit.to_le_bytes(), complaint]).max(1)
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

    #[test]
    fn the_environment_names_directory_and_limit() {
        let of =
            |directory: &str, limit: &str| CaptureTarget::from_variables(Some(directory.into()), Some(limit.into()));
        assert_eq!(CaptureTarget::from_variables(None, Some("3".into())), None);
        assert_eq!(of("", "3"), None);
        let all = of("there", "2M").unwrap();
        assert_eq!((all.directory, all.limit, all.complaint), (PathBuf::from("there"), 2 << 20, None));
        assert_eq!(of("there", "").unwrap().limit, DEFAULT_LIMIT);
        for bad in ["0", "-1", "many"] {
            let target = of("there", bad).unwrap();
            assert_eq!(target.limit, DEFAULT_LIMIT);
            assert!(target.complaint.unwrap().contains(bad));
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let directory = tempfile::tempdir().unwrap();
        let target = CaptureTarget { directory: directory.path().join("a/b"), limit: 1, complaint: None };
        let made: Vec<PathBuf> = (0..3).map(|_| target.create(Path::new("/x/out.nc")).unwrap()).collect();
        made.iter().for_each(|unfinished| target.publish(unfinished, Path::new("/x/out.nc")).unwrap());
        let names = std::fs::read_dir(&target.directory).unwrap().map(|entry| entry.unwrap().file_name());
        let names: std::collections::BTreeSet<_> = names.collect();
        assert_eq!(names, ["out.nc.tribcap", "out.nc.2.tribcap", "out.nc.3.tribcap"].map(OsString::from).into());
    }

    #[test]
    fn different_targets_have_different_fingerprints() {
        let target = |limit| CaptureTarget { directory: "d".into(), limit, complaint: None };
        assert_eq!(CaptureTarget::fingerprint(None), 0);
        assert_ne!(CaptureTarget::fingerprint(Some(&target(1))), CaptureTarget::fingerprint(Some(&target(2))));
    }
}
