//! Checks file names as GIO accepts them, with or without a file-system prefix.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tributary::error::About;
use tributary::{Error, Result};
use tributary_bindings::prefix::without_prefix;

/// Returns the absolute path of a file name from C.
///
/// # Errors
/// The name is null or empty, or has the prefix of something that is not a file.
///
/// # Safety
/// `name` is null or a text that ends with 0.
pub unsafe fn path_of(name: *const c_char) -> Result<PathBuf> {
    if name.is_null() {
        return Err(no_name("NULL"));
    }
    // SAFETY: not null, so it ends with 0.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let plain = without_prefix(name, "file name")?;
    if plain.is_empty() {
        return Err(no_name("an empty name"));
    }
    let plain = Path::new(OsStr::from_bytes(plain));
    Ok(std::path::absolute(plain).unwrap_or_else(|_| plain.to_path_buf()))
}

fn no_name(given: &str) -> Error {
    Error::argument("file name", given, "the name of a file").about(About::Path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &CStr) -> Result<PathBuf> {
        // SAFETY: a text that ends with 0.
        unsafe { path_of(name.as_ptr()) }
    }

    #[test]
    fn a_type_is_no_part_of_the_name() {
        assert_eq!(path(c"lustre:/data/f.nc").unwrap(), Path::new("/data/f.nc"));
        assert_eq!(path(c"/data/ufs:f").unwrap(), Path::new("/data/ufs:f"));
        assert_eq!(path(c"/ufsdata:f").unwrap(), Path::new("/ufsdata:f"));
        assert_eq!(path(c"Lustre:/data/f.nc").unwrap(), Path::new("/data/f.nc"));
        assert_eq!(path(c"/data/f_15:00").unwrap(), Path::new("/data/f_15:00"));
        assert!(path(c"f_15:00.nc").unwrap().ends_with("f_15:00.nc"));
        assert!(path(c"f").unwrap().is_absolute());
        assert!(path(c"").is_err() && path(c"ufs:").is_err());
        let said = path(c"daos://pool/f").unwrap_err().to_string();
        assert!(
            said.starts_with("file name: the prefix daos:; allowed: the name of a file, with no prefix or one of ufs:"),
            "{said}"
        );
    }
}
