//! Hints of other libraries, for the fuzz targets (`fuzz/`).

use super::foreign::{cray, romio};
use crate::error::Result;

/// Returns the lines of ROMIO's file of hints.
pub fn romio(text: &str) -> Vec<(usize, Result<(String, String)>)> {
    romio::parse(text, "file")
}

/// Returns the hints that Cray's variable has for a file of this name.
///
/// # Errors
/// The first specification that is none.
pub fn cray(text: &str, name: &str) -> Result<Vec<(String, String)>> {
    let all = cray::parse(text)?;
    Ok(all.into_iter().find(|specification| specification.is_for(name)).map_or(Vec::new(), |it| it.hints))
}
