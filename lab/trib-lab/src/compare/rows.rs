//! Keeps rows in a file of JSON lines, so that measurements are not repeated after an interruption.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::row::{Key, Row};
use super::targets;
use trib::Failure;

/// Existing rows, and the file for new ones.
#[derive(Default)]
pub struct Rows {
    rows: Vec<Row>,
    file: Option<File>,
}

impl Rows {
    /// Reads the rows of the file, if one is named.
    ///
    /// # Errors
    /// The file cannot be read or written, or has other lines. An incomplete last line is ignored.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let fail = |cause: &dyn std::fmt::Display| Failure::new(format!("resume: {}: {cause}", path.display()));
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(|e| fail(&e))?;
        let text = trib::text::read(path).map_err(|e| fail(&e))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut rows = Vec::new();
        for (number, line) in text[..whole].lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row = serde_json::from_str(line);
            rows.push(
                row.map_err(|cause| fail(&format!("line {}: {cause}; allowed: rows of trib-lab compare", number + 1)))?,
            );
        }
        if whole < text.len() {
            file.set_len(whole as u64).and_then(|()| file.flush()).map_err(|e| fail(&e))?;
        }
        Ok(Self { rows, file: Some(file) })
    }

    /// Returns the row of a key.
    pub fn find(&self, key: &Key) -> Option<&Row> {
        self.rows.iter().find(|row| row.key == *key)
    }

    /// Adds a row and writes it at once.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn push(&mut self, row: Row) -> Result<(), Failure> {
        if let Some(file) = &mut self.file {
            let line = targets::line(&row)? + "\n";
            file.write_all(line.as_bytes()).map_err(|cause| Failure::new(format!("resume: {cause}")))?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Returns all rows.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::damage::damaged;
    use crate::compare::row::tests::OLD;

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(text in damaged(OLD)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("rows");
            std::fs::write(&path, OLD).unwrap();
            prop_assert_eq!(Rows::open(Some(&path)).unwrap().all().len(), 1);
            std::fs::write(&path, text).unwrap();
            match Rows::open(Some(&path)) {
                Ok(rows) => drop(crate::compare::show::table(rows.all())),
                Err(failure) => prop_assert!(!failure.to_string().trim_end().contains('\n'), "{}", failure),
            }
        }
    }

    #[test]
    fn a_line_that_was_cut_off_goes_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        std::fs::write(&path, "\n{\"patt").unwrap();
        assert!(Rows::open(Some(&path)).unwrap().all().is_empty());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "\n");
        std::fs::write(&path, "{\"pattern\": 3}\n").unwrap();
        let said = Rows::open(Some(&path)).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(said.contains("rows: line 1: ") && said.contains("allowed"), "{said}");
        let said = Rows::open(Some(&folder.path().join("no/rows"))).err().map(|failure| failure.to_string());
        assert!(said.is_some_and(|said| said.contains("No such file")));
    }
}
