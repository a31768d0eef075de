//! Checks the names of dimensions, variables and attributes by NetCDF's rules.

use tributary::{Error, Result};
use unicode_normalization::UnicodeNormalization;

/// Maximum length of a name, in bytes (NC_MAX_NAME).
pub(crate) const LONGEST: usize = 256;
const ALLOWED: &str = "1 to 256 bytes; first a letter, a digit, _ or a non-ASCII character; no /, no control characters, \
                       no space at the end";

/// Returns the name in normal form C, as NetCDF stores it.
///
/// # Errors
/// NetCDF does not allow the name.
pub(crate) fn checked(what: &str, name: &str) -> Result<String> {
    let normal: String = name.nfc().collect();
    let first = normal.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii());
    let rest = normal.chars().all(|c| c != '/' && !c.is_ascii_control());
    if !first || !rest || normal.ends_with(' ') || normal.len() > LONGEST {
        return Err(Error::argument(format!("name of {what}"), format!("{name:?}"), ALLOWED));
    }
    Ok(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_netcdf() {
        for good in ["a", "_x", "9th", "lat lon", "temp@850.hPa", "größe", "a".repeat(256).as_str()] {
            assert_eq!(checked("dimension", good).unwrap(), good);
        }
        for bad in ["", " a", "a ", "a/b", "-a", "a\nb", "a\u{7f}", "a".repeat(257).as_str()] {
            assert!(checked("dimension", bad).is_err(), "{bad:?}");
        }
        assert_eq!(checked("variable", "u\u{308}").unwrap(), "\u{fc}");
    }
}
