//! Translates the access mode of GIO, which has the flags of open(2).

use std::ffi::c_int;
use std::path::Path;

use tributary::error::FileOperation;
use tributary::{Error, Mode, Result};

/// The access for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessMode {
    /// Mode in which the engine opens the file.
    pub mode: Mode,
    /// True if the file may be read.
    pub read: bool,
    /// True if the file may be written.
    pub write: bool,
    create: bool,
    exclusive: bool,
}

/// Flags that are accepted and have no effect.
const HARMLESS: c_int = libc::O_CLOEXEC | libc::O_LARGEFILE;

impl AccessMode {
    /// Returns the access that the flags ask for.
    ///
    /// # Errors
    /// The combination of flags is not supported.
    pub fn from_amode(amode: c_int) -> Result<Self> {
        let (write, read) = match amode & libc::O_ACCMODE {
            libc::O_RDONLY => (false, true),
            libc::O_WRONLY => (true, false),
            libc::O_RDWR => (true, true),
            _ => return Err(refused(amode)),
        };
        let rest = amode & !(libc::O_ACCMODE | libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | HARMLESS);
        let truncate = amode & libc::O_TRUNC != 0;
        if rest != 0 || (truncate && !write) {
            return Err(refused(amode));
        }
        let mode = match (write, truncate) {
            (false, _) => Mode::Read,
            (true, true) => Mode::Create,
            (true, false) => Mode::Update,
        };
        let (create, exclusive) = (amode & libc::O_CREAT != 0, amode & libc::O_EXCL != 0);
        Ok(Self { mode, read, write, create, exclusive })
    }

    /// Returns the engine's mode for a second open of an open file.
    pub fn second_mode(self) -> Mode {
        if self.write { Mode::Update } else { Mode::Read }
    }

    /// Checks or creates the file as O_CREAT and O_EXCL say, which the engine does not do. Must be called on one
    /// rank.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn prepare(self, path: &Path) -> Result<()> {
        let failed = |cause| Err(Error::io(0, FileOperation::Open, path, None, &cause));
        match std::fs::metadata(path) {
            Ok(_) if self.create && self.exclusive => failed(std::io::Error::from_raw_os_error(libc::EEXIST)),
            Ok(found) if found.is_dir() => failed(std::io::Error::from_raw_os_error(libc::EISDIR)),
            Ok(_) => Ok(()),
            Err(cause) if !self.create || cause.raw_os_error() != Some(libc::ENOENT) => failed(cause),
            Err(_) if self.write => Ok(()),
            Err(_) => match std::fs::OpenOptions::new().append(true).create(true).open(path) {
                Ok(_) => Ok(()),
                Err(cause) => failed(cause),
            },
        }
    }
}

fn refused(amode: c_int) -> Error {
    let allowed = "O_RDONLY, O_WRONLY or O_RDWR, with O_CREAT, O_EXCL, O_TRUNC (not to read only), O_CLOEXEC";
    Error::argument("access mode", format!("{amode:#o}"), allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    #[test]
    fn flags_are_modes() {
        assert_eq!(AccessMode::from_amode(libc::O_RDONLY).unwrap().mode, Mode::Read);
        assert_eq!(AccessMode::from_amode(libc::O_RDWR).unwrap().mode, Mode::Update);
        assert_eq!(AccessMode::from_amode(libc::O_RDWR | libc::O_CREAT).unwrap().mode, Mode::Update);
        assert_eq!(AccessMode::from_amode(libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC).unwrap().mode, Mode::Create);
        for bad in [libc::O_RDWR | libc::O_APPEND, 3, libc::O_RDONLY | libc::O_TRUNC] {
            assert!(AccessMode::from_amode(bad).is_err(), "{bad:#o}");
        }
    }

    #[test]
    fn flags_say_whether_the_file_must_exist() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let prepare = |amode, path: &Path| {
            AccessMode::from_amode(amode).and_then(|access| access.prepare(path)).map_err(|error| code::of(&error))
        };
        assert_eq!(prepare(libc::O_RDWR, &path), Err(code::ENOENT));
        assert_eq!(prepare(libc::O_RDWR, directory.path()), Err(code::EBAD_FILE));
        assert_eq!(prepare(libc::O_RDWR | libc::O_CREAT, &path), Ok(()));
        assert_eq!(prepare(libc::O_RDONLY | libc::O_CREAT, &path), Ok(()));
        assert!(path.exists());
        assert_eq!(prepare(libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, &path), Err(code::EEXIST));
        assert_eq!(prepare(libc::O_RDWR | libc::O_CREAT, &path.join("below")), Err(code::EBAD_FILE));
    }
}
