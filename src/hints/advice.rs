//! The file of TRIB_ADVICE: hints by the name of the file, as `trib advise --advice` writes them.
//!
//! A line is `pattern:key=value:key=value`, as in Cray's MPICH_MPIIO_HINTS; `#` begins a comment. A file takes the hints of
//! the first line whose pattern is all of its name. They are below everything that people or programs ask for themselves. A
//! program never fails because of advice: what cannot be used is among the hints that are not used, with the reason.

use std::path::Path;

use super::file_hints::{FileHints, Given, Source, Unused};
use super::foreign::cray::Specification;
use super::{lines, read_text};

/// The variable.
pub const VARIABLE: &str = "TRIB_ADVICE";

/// Advice for files by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice {
    lines: Vec<(Specification, Source)>,
    /// What cannot be used, whatever the file.
    damaged: Vec<Unused>,
}

impl Advice {
    /// Reads a file.
    pub fn read(path: &Path) -> Self {
        let mut advice = Self::default();
        let file = format!("{VARIABLE}={}", path.display());
        let text = match read_text(VARIABLE, path) {
            Ok(text) => text,
            Err(error) => {
                advice.damaged.push(Given::new(VARIABLE, &path.display().to_string(), file).because(error.to_string()));
                return advice;
            }
        };
        for (number, line) in lines(&text) {
            let source = Source::from(format!("{file}, line {number}"));
            match Specification::parse(line) {
                Ok(specification) => advice.lines.push((specification, source)),
                Err(_) => {
                    let why = "damaged; allowed: pattern:key=value:key=value";
                    advice.damaged.push(Given::new(VARIABLE, line, source).because(why));
                }
            }
        }
        advice
    }

    /// Takes the advice for the file `name`, below all that is file_hints for already.
    pub fn take(&self, file_hints: &mut FileHints, name: &str) {
        self.damaged.iter().for_each(|damaged| file_hints.leave_out(damaged.clone()));
        file_hints.take_first_below(&self.lines, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(text: &str) -> (Advice, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("advice");
        std::fs::write(&path, text).unwrap();
        (Advice::read(&path), directory)
    }

    #[test]
    fn the_first_line_that_fits_is_taken_below_the_rest() {
        let (advice, _directory) =
            advice("# from trib advise\n*F_h0.nc:cb_nodes=8:trib_kernel_data=pairwise\n*:cb_nodes=2\n");
        let mut file_hints = FileHints::default();
        file_hints.program("cb_nodes", "5", "MPI_Info").unwrap();
        advice.take(&mut file_hints, "/scratch/F_h0.nc");
        assert_eq!(
            (file_hints.hints().cb_nodes, file_hints.hints().kernel_data.to_string().as_str()),
            (Some(5), "pairwise")
        );
        assert_eq!(file_hints.unused().len(), 1);
        assert_eq!(
            (file_hints.unused()[0].key.as_str(), file_hints.unused()[0].why.as_str()),
            ("cb_nodes", "overruled by MPI_Info")
        );
        let mut other = FileHints::default();
        advice.take(&mut other, "G.nc");
        assert_eq!(other.hints().cb_nodes, Some(2));
    }

    #[test]
    fn what_cannot_be_used_is_told_and_is_no_error() {
        let (advice, directory) = advice("*:trib_nothing=1:cb_nodes=none:cb_buffer_size=1M\nno hints at all\n");
        let mut file_hints = FileHints::default();
        advice.take(&mut file_hints, "f");
        assert_eq!(file_hints.hints().cb_buffer_size, Some(1 << 20));
        let told: Vec<_> =
            file_hints.unused().iter().map(|unused| (unused.key.as_str(), unused.why.as_str())).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].1.starts_with("damaged"), "{told:?}");
        assert!(told[1].0 == "trib_nothing" && told[2].0 == "cb_nodes", "{told:?}");
        let mut nowhere = FileHints::default();
        Advice::read(&directory.path().join("nowhere")).take(&mut nowhere, "f");
        assert!(nowhere.unused()[0].why.contains("nowhere"), "{nowhere:?}");
    }
}
