//! Reads the lines of the results: one JSON row each, as `lab/batch/body.sh` writes them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use trib::Failure;

/// Time of a write in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seconds {
    /// Times by phase, if Tributary wrote.
    Phases {
        /// Seconds of the exchange of metadata.
        metadata: f64,
        /// Seconds of the exchange of data.
        data: f64,
        /// Seconds of the whole write.
        total: f64,
    },
    /// Seconds of the whole write, if another library wrote.
    Whole(f64),
}

impl Seconds {
    /// Returns the seconds of the whole write.
    pub fn total(&self) -> f64 {
        match *self {
            Self::Phases { total, .. } | Self::Whole(total) => total,
        }
    }

    /// Returns the seconds of metadata, data and other, and of a time that is not divided into phases.
    pub fn parts(&self) -> [f64; 4] {
        match *self {
            Self::Phases { metadata, data, total } => [metadata, data, (total - metadata - data).max(0.0), 0.0],
            Self::Whole(total) => [0.0, 0.0, 0.0, total],
        }
    }

    /// Returns the seconds of metadata and data together, if they are known.
    pub fn communication(&self) -> Option<f64> {
        match *self {
            Self::Phases { metadata, data, .. } => Some(metadata + data),
            Self::Whole(_) => None,
        }
    }
}

/// Result of one run.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// Number of nodes.
    pub nodes: u64,
    /// Number of ranks.
    pub ranks: u64,
    /// Name of the pattern.
    pub code: String,
    /// Name of the kernels; `mpi` for the MPI library's own I/O, `preload` for the same program with the preload
    /// library.
    pub column: String,
    /// Throttle; none for the kernel's own.
    pub throttle: Option<u64>,
    /// Time of the run.
    pub seconds: Seconds,
    /// SHA-256 of the file, if it is known.
    pub digest: Option<String>,
}

/// Results of a machine.
#[derive(Debug)]
pub struct Results {
    /// Name of the machine.
    pub machine: String,
    /// Rows in the order of the files.
    pub rows: Vec<RunRow>,
    /// Notes on rows that were left out, with the reason, one line each.
    pub notes: Vec<String>,
}

/// Line of a result file. Unknown keys are ignored.
#[derive(Deserialize)]
struct FileLine {
    row: String,
    machine: String,
    nodes: u64,
    ranks: u64,
    code: String,
    column: String,
    // Otherwise a missing key would be accepted as null.
    #[serde(deserialize_with = "Option::deserialize")]
    throttle: Option<u64>,
    result: Replayed,
}

/// Output of a row's command: `trib replay`, or the program on plain MPI-IO.
#[derive(Deserialize)]
#[serde(try_from = "Printed")]
struct Replayed {
    seconds: Seconds,
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct Printed {
    seconds: Option<Phases>,
    max: Option<Most>,
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct Phases {
    metadata: f64,
    data: f64,
    total: f64,
}

/// Maximum over all ranks of a phase's seconds, for every repetition.
#[derive(Deserialize)]
struct Most {
    wall: Vec<f64>,
}

impl TryFrom<Printed> for Replayed {
    type Error = &'static str;

    fn try_from(Printed { seconds, max, sha256 }: Printed) -> Result<Self, Self::Error> {
        let seconds = match (seconds, max) {
            (Some(Phases { metadata, data, total }), _) => Seconds::Phases { metadata, data, total },
            (None, Some(most)) => Seconds::Whole(*most.wall.first().ok_or("field `wall` is empty")?),
            (None, None) => return Err("missing field `seconds` (or `max`)"),
        };
        Ok(Self { seconds, sha256 })
    }
}

/// Returns all rows of the files `*.jsonl` in a directory.
///
/// # Errors
/// No such directory, no rows in it, a line that is not a row, a duplicate row, rows of two machines.
pub fn read(directory: &Path) -> Result<Results, Failure> {
    let mut reading = Reading::default();
    for file in files(directory)? {
        let bytes = std::fs::read(&file).map_err(|cause| Failure::new(format!("{}: {cause}", file.display())))?;
        reading.file(&file, &String::from_utf8_lossy(&bytes))?;
    }
    let Some((machine, _)) = reading.machine else {
        return Err(Failure::new(format!(
            "{}: no results; the job scripts write MACHINE-NODES.jsonl",
            directory.display()
        )));
    };
    let mut notes = reading.notes;
    notes.extend(different_files(&reading.rows));
    Ok(Results { machine, rows: reading.rows, notes })
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |cause| Failure::new(format!("{}: {cause}", directory.display()));
    let entries = std::fs::read_dir(directory).map_err(fail)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(fail)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    Ok(files)
}

#[derive(Default)]
struct Reading {
    rows: Vec<RunRow>,
    notes: Vec<String>,
    /// Name of the machine, and the line where it was read first.
    machine: Option<(String, String)>,
    seen: HashMap<String, String>,
}

impl Reading {
    fn file(&mut self, file: &Path, text: &str) -> Result<(), Failure> {
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let place = format!("{}:{}", file.display(), at + 1);
            if line.ends_with('\n') {
                self.line(place, line)?;
            } else {
                self.notes
                    .push(format!("{place}: an incomplete line is left out; its job is still running, or was killed"));
            }
        }
        Ok(())
    }

    fn line(&mut self, place: String, text: &str) -> Result<(), Failure> {
        let value: Value =
            serde_json::from_str(text).map_err(|cause| Failure::new(format!("{place}: not JSON: {cause}")))?;
        let line = FileLine::deserialize(value).map_err(|cause| Failure::new(format!("{place}: {cause}")))?;
        match &self.machine {
            Some((machine, first)) if *machine != line.machine => {
                let two = format!("machine {} at {place}, {machine} at {first}", line.machine);
                return Err(Failure::new(format!("{two}; figures are for one machine: use one directory per machine")));
            }
            Some(_) => {}
            None => self.machine = Some((line.machine.clone(), place.clone())),
        }
        if let Some(first) = self.seen.get(&line.row) {
            return Err(Failure::new(format!("{place}: row \"{}\" is a duplicate of {first}; remove one", line.row)));
        }
        self.seen.insert(line.row, place);
        let FileLine { nodes, ranks, code, column, throttle, result, .. } = line;
        let Replayed { seconds, sha256: digest } = result;
        self.rows.push(RunRow { nodes, ranks, code, column, throttle, seconds, digest });
        Ok(())
    }
}

/// Returns notes on rows whose files differ, although a pattern writes the same bytes on the same ranks with every
/// kernel.
fn different_files(rows: &[RunRow]) -> Vec<String> {
    let mut first: HashMap<(&str, u64), &RunRow> = HashMap::new();
    let mut notes = Vec::new();
    for row in rows.iter().filter(|row| row.digest.is_some()) {
        let other = first.entry((&row.code, row.ranks)).or_insert(row);
        if other.digest != row.digest {
            let (code, ranks) = (&row.code, row.ranks);
            notes.push(format!("NOT THE SAME FILE: {code} on {ranks} ranks by {} and by {}", other.column, row.column));
        }
    }
    notes.dedup();
    notes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compare::damage::damaged;

    const GOOD: &str = r#"{"row":"m 2 btio balanced 32 1","machine":"m","nodes":2,"ranks":4,"code":"btio","column":"balanced","throttle":32,"run":1,"result":{"seconds":{"metadata":1.0,"data":2.0,"total":4.5},"sha256":"a"}}"#;

    fn read_files(files: &[(&str, String)]) -> Result<Results, Failure> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        read(directory.path())
    }

    fn fails(files: &[(&str, String)], words: &[&str]) {
        let line = read_files(files).unwrap_err().to_string();
        assert!(!line.contains('\n') && words.iter().all(|word| line.contains(word)), "{line}");
    }

    const GOOD_LINE: &str = r#"{"row":"m 2 btio balanced 32 1","machine":"m","nodes":2,"ranks":4,"code":"btio","column":"balanced","throttle":32,"run":1,"result":{"seconds":{"metadata":1.0,"data":2.0,"total":4.5},"sha256":"a"}}
"#;

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(text in damaged(GOOD_LINE)) {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join("m-2.jsonl"), text).unwrap();
            match read(directory.path()) {
                Ok(results) => super::super::all(&results).map(|_| ()).unwrap_or_default(),
                Err(failure) => prop_assert!(!failure.to_string().contains('\n'), "{}", failure),
            }
        }
    }

    #[test]
    fn rows_with_phases_and_without() {
        let whole = GOOD.replace("balanced", "mpi").replace("32", "null");
        let whole =
            whole.replace(r#""seconds":{"metadata":1.0,"data":2.0,"total":4.5}"#, r#""max":{"wall":[7.5],"cpu":[9]}"#);
        let results = read_files(&[("m-2.jsonl", format!("{GOOD}\n{whole}\n"))]).unwrap();
        assert_eq!(results.machine, "m");
        assert_eq!(results.notes, Vec::<String>::new());
        assert_eq!(results.rows[0].seconds.parts(), [1.0, 2.0, 1.5, 0.0]);
        assert_eq!(results.rows[0].seconds.communication(), Some(3.0));
        assert_eq!((results.rows[1].seconds, results.rows[1].throttle), (Seconds::Whole(7.5), None));
    }

    #[test]
    fn bad_lines_are_refused_by_file_and_line() {
        let good = format!("{GOOD}\n");
        fails(&[], &["no results"]);
        fails(&[("m-2.jsonl", String::new())], &["no results"]);
        fails(&[("m-2.jsonl", format!("{good}MPI says hello\n"))], &["m-2.jsonl:2: not JSON"]);
        for key in ["row", "machine", "nodes", "ranks", "code", "column", "throttle", "result", "seconds", "total"] {
            let without = good.replace(&format!("\"{key}\""), "\"other\"");
            fails(&[("m-2.jsonl", without)], &["m-2.jsonl:1", &format!("missing field `{key}`")]);
        }
        fails(&[("m-2.jsonl", format!("{good}{good}"))], &["m-2.jsonl:2", "a duplicate of", "m-2.jsonl:1"]);
        let other = good.replace("\"machine\":\"m\"", "\"machine\":\"n\"");
        fails(&[("m-2.jsonl", good), ("n-2.jsonl", other)], &["machine n at", "n-2.jsonl:1, m at", "m-2.jsonl:1"]);
        let missing = read(Path::new("nowhere")).unwrap_err().to_string();
        assert!(missing.contains("nowhere: No such file"), "{missing}");
    }

    #[test]
    fn an_incomplete_line_is_left_out_with_a_note() {
        let results = read_files(&[("m-2.jsonl", format!("{GOOD}\n{}", &GOOD[..50]))]).unwrap();
        assert_eq!(results.rows.len(), 1);
        assert!(results.notes[0].contains("m-2.jsonl:2: an incomplete line"), "{:?}", results.notes);
    }

    #[test]
    fn a_different_file_is_noted() {
        let other = GOOD.replace("balanced", "pairwise").replace(r#""a""#, r#""b""#);
        let results = read_files(&[("m-2.jsonl", format!("{GOOD}\n{other}\n"))]).unwrap();
        assert_eq!(results.notes, ["NOT THE SAME FILE: btio on 4 ranks by balanced and by pairwise"]);
    }
}
