//! Gives the fuzz targets (`fuzz/`) access to the parsers of other libraries' hints.

use super::foreign::{cray, romio};
use crate::error::Result;

/// Parses a text as ROMIO's file of hints. Returns the hints with their line numbers.
pub fn romio(text: &str) -> Vec<(usize, Result<(String, String)>)> {
    romio::parse(text, "file")
}

/// Returns the hints that the text of Cray's variable has for a file of this name.
///
/// # Errors
/// The first part of the text that is no specification.
pub fn cray(text: &str, name: &str) -> Result<Vec<(String, String)>> {
    let all = cray::parse(text)?;
    Ok(all.into_iter().find(|specification| specification.is_for(name)).map_or(Vec::new(), |it| it.hints))
}
