//! Parses Cray's variable MPICH_MPIIO_HINTS, which has hints by the names of files.
//!
//! The form is `pattern:key=value:key=value,pattern:...`. A file gets the hints of the first pattern that matches the
//! whole name passed to MPI_File_open. These hints override the program's. Source: HPE Cray MPI, intro_mpi(3),
//! MPICH_MPIIO_HINTS.

use super::glob;
use crate::error::{Error, Result};

/// Name of the environment variable.
pub const VARIABLE: &str = "MPICH_MPIIO_HINTS";

/// Key whose value may contain colons: `cb_config_list=*:8`.
const WITH_COLONS: &str = "cb_config_list";

/// A pattern of file names, and the hints of the files that match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specification {
    /// Pattern of the files, as in a shell.
    pub pattern: String,
    /// Keys and values, in their order.
    pub hints: Vec<(String, String)>,
}

impl Specification {
    /// Returns true if the pattern matches the file name `name`.
    pub fn is_for(&self, name: &str) -> bool {
        glob::matches(&self.pattern, name)
    }

    /// Parses one specification: `pattern:key=value:...`.
    ///
    /// # Errors
    /// The text is no specification.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split(':').map(str::trim);
        let pattern = parts.next().unwrap_or_default().to_string();
        let mut hints: Vec<(String, String)> = Vec::new();
        for part in parts {
            match (part.split_once('='), hints.last_mut()) {
                (Some((key, value)), _) if !key.trim().is_empty() => {
                    hints.push((key.trim().to_string(), value.trim().to_string()));
                }
                (None, Some((key, value))) if key == WITH_COLONS => {
                    value.push(':');
                    value.push_str(part);
                }
                _ => return Err(damaged(text, part)),
            }
        }
        if pattern.is_empty() || hints.is_empty() { Err(damaged(text, text)) } else { Ok(Self { pattern, hints }) }
    }
}

fn damaged(specification: &str, part: &str) -> Error {
    let part = if part == specification { String::new() } else { format!("`{part}` in ") };
    Error::argument(VARIABLE, format!("{part}`{specification}`"), "pattern:key=value:key=value, separated by commas")
}

/// Parses all specifications of a text, which commas separate.
///
/// # Errors
/// The first part that is no specification.
pub fn parse(text: &str) -> Result<Vec<Specification>> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Specification::parse).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn specifications() {
        let text =
            "wrfout*:cb_nodes=8:striping_factor=6,\n*.nc:cb_config_list=*:8:cb_nodes=4 , *:romio_cb_write=enable,";
        let all = parse(text).unwrap();
        let hints = |name: &str| all.iter().find(|s| s.is_for(name)).map(|s| s.hints.clone()).unwrap();
        let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
        assert_eq!(hints("wrfout.nc"), [pair("cb_nodes", "8"), pair("striping_factor", "6")], "the first that matches");
        assert_eq!(hints("a.nc"), [pair("cb_config_list", "*:8"), pair("cb_nodes", "4")]);
        assert_eq!(hints("/tmp/b"), [pair("romio_cb_write", "enable")]);
        assert_eq!(parse(""), Ok(vec![]));
    }

    /// The variable may have several lines, but an error message has one.
    #[test]
    fn an_error_is_one_line() {
        let said = parse("a.nc:cb_nodes=4,\nb\tc").unwrap_err().to_string();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(r"`b\tc`"), "{said}");
        let said = parse("x\ny").unwrap_err().to_string();
        assert!(said.contains(r"`x\ny`"), "{said}");
    }

    #[test]
    fn damage_is_named() {
        for (text, says) in [
            ("*", "MPICH_MPIIO_HINTS: `*`; allowed: pattern:key=value"),
            ("cb_nodes=4", "`cb_nodes=4`"),
            ("*:romio_cb_write", "`romio_cb_write` in `*:romio_cb_write`"),
            ("*:a=b:c", "`c` in `*:a=b:c`"),
            (":a=b", "`:a=b`"),
            ("*:=b", "`=b` in"),
            ("*.nc:a=b,x", "`x`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"([*:=,a-c\[\]\n]|cb_config_list=|\PC){0,40}", name in r"\PC{0,10}") {
            for specification in parse(&text).unwrap_or_default() {
                specification.is_for(&name);
            }
        }
    }
}
