//! Reads text files that a user names.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// Maximum size of a text in bytes. A device may have no end.
const LONGEST: u64 = 256 << 20;

/// Reads a text file.
///
/// # Errors
/// Errors of the operating system; bytes that are no text; a text that is too long.
pub fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let length = File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    match length as u64 > LONGEST {
        true => Err(Error::other(format!("more than {LONGEST} bytes"))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_end_is_refused() {
        assert_eq!(read(Path::new("/dev/zero")).unwrap_err().to_string(), "more than 268435456 bytes");
    }
}
