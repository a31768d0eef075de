//! Reads what was measured on a machine from a file (hint `trib_machine`): the costs of messages, which `trib-lab tune machine`
//! measures, and of calls on files, which `trib doctor --measure` measures. The text is JSON:
//!
//! ```json
//! {
//!   "version": 1,
//!   "fabric": "mpi",
//!   "ranks": 16,
//!   "nodes": 4,
//!   "between": "ranks of different nodes",
//!   "figures": {
//!     "eager_seconds": 1.5e-6,
//!     "eager_byte_seconds": 1e-10,
//!     "eager_limit_bytes": 8192.0,
//!     "rendezvous_seconds": 2.5e-6,
//!     "round_trip_seconds": 4e-6,
//!     "rank_byte_seconds": 8e-11,
//!     "node_byte_seconds": 5e-11,
//!     "copy_byte_seconds": 1e-10,
//!     "visit_seconds": 2e-8,
//!     "walk_seconds": 1e-8,
//!     "merge_seconds": 1e-8
//!   },
//!   "built_in": ["eager_limit_bytes"],
//!   "files": { "call_seconds": 5e-3, "byte_seconds": 1e-8 }
//! }
//! ```
//!
//! The library reads the version, the figures and the costs of files. Either of the two may be absent. The rest describes, for
//! people, how the figures were measured, and which were not measured.

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use tributary_base::wire;

use crate::error::{Error, FileOperation, Result};
use crate::exchange::cost::Costs;
use crate::memo::Memo;
use crate::world::process::per_process;

/// The version of the text that this library reads and writes.
pub const VERSION: u64 = 1;
/// Maximum size of a machine file, in bytes.
const LONGEST: u64 = 64 << 10;
/// Maximum number of seconds of a call on a file, and of a byte.
const MOST_SECONDS: f64 = 1000.0;

/// A figure in the machine file: one cost of messages or memory.
pub struct Figure {
    /// Name of the figure, with its unit.
    pub name: &'static str,
    /// Meaning of the figure.
    pub meaning: &'static str,
    /// Function that returns the figure's field in the costs.
    pub of: fn(&mut Costs) -> &mut f64,
}

macro_rules! figures {
    ($($name:literal $field:ident $meaning:literal;)+) => {
        /// All figures of a machine file.
        pub const FIGURES: &[Figure] =
            &[$(Figure { name: $name, meaning: $meaning, of: |costs| &mut costs.$field },)+];
    };
}

figures! {
    "eager_seconds" eager "posting and processing a small message on its receiver";
    "eager_byte_seconds" eager_byte "a byte of a small message on its receiver";
    "eager_limit_bytes" eager_limit "the largest message that is sent before its receiver asks for it";
    "rendezvous_seconds" rendezvous "posting and processing a larger message";
    "round_trip_seconds" round_trip "from a message to its answer";
    "rank_byte_seconds" rank_byte "a byte of a large message from one rank to another";
    "node_byte_seconds" node_byte "a byte through the port of a node, all of its ranks at once";
    "copy_byte_seconds" copy_byte "copying a byte in memory";
    "visit_seconds" visit "finding the place of an extent in a window";
    "walk_seconds" walk "inspecting an entry of the list of early messages";
    "merge_seconds" merge "passing an extent through a level of a merge";
}

/// What calls on the files of a file system take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileCosts {
    /// Seconds of a call, without its bytes.
    pub call_seconds: f64,
    /// Seconds of each byte that a host moves.
    pub byte_seconds: f64,
}

wire::fields!(struct FileCosts { call_seconds, byte_seconds });

impl FileCosts {
    /// Returns the text of a machine file that has these costs only.
    pub fn text(&self) -> String {
        let Self { call_seconds, byte_seconds } = self;
        format!(
            "{{\"version\": {VERSION}, \"files\": {{\"call_seconds\": {call_seconds:e}, \"byte_seconds\": {byte_seconds:e}}}}}"
        )
    }
}

/// What a machine file says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Known {
    /// Costs of messages.
    pub messages: Option<Costs>,
    /// Costs of calls on files: the library uses them in place of what it would measure.
    pub files: Option<FileCosts>,
}

wire::fields!(struct Known { messages, files });

/// A machine whose costs were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Name of the fabric on which the ranks exchanged messages.
    pub fabric: String,
    /// Number of ranks that measured the machine.
    pub ranks: usize,
    /// Number of nodes of these ranks.
    pub nodes: usize,
    /// Description of the pairs of ranks between which the messages went.
    pub between: String,
    /// Measured costs.
    pub costs: Costs,
    /// Names of the figures that were not measured and have built-in values.
    pub built_in: Vec<&'static str>,
}

impl Machine {
    /// Returns the text of the machine file.
    pub fn text(&self) -> String {
        let mut costs = self.costs;
        let figure = |figure: &Figure| format!("    \"{}\": {:e}", figure.name, (figure.of)(&mut costs));
        let figures: Vec<String> = FIGURES.iter().map(figure).collect();
        let [fabric, between] = [&self.fabric, &self.between].map(|text| Value::from(text.as_str()));
        format!(
            "{{\n  \"version\": {VERSION},\n  \"fabric\": {fabric},\n  \"ranks\": {},\n  \"nodes\": {},\n  \
             \"between\": {between},\n  \"figures\": {{\n{}\n  }},\n  \"built_in\": {}\n}}\n",
            self.ranks,
            self.nodes,
            figures.join(",\n"),
            Value::from(self.built_in.as_slice()),
        )
    }
}

/// Reads the costs from the text of a machine file. Errors call the file `name`.
///
/// # Errors
/// The text is not of this version, has no costs, or a figure is missing or not allowed: [`Error::Argument`] that names the figure.
pub fn parse(name: &str, text: &[u8]) -> Result<Known> {
    let what = format!("machine file {name}");
    let allowed = format!(
        "a file of version {VERSION} in JSON, as `trib-lab tune machine --output FILE` or `trib doctor --measure` makes it"
    );
    let any: Value = serde_json::from_slice(text).map_err(|cause| {
        let message = cause.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Error::argument(format!("{what}, line {}", cause.line()), message, &allowed)
    })?;
    match any.get("version") {
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(other) => return Err(Error::argument(what, format!("version {other}"), allowed)),
        None => return Err(Error::argument(what, "no version", allowed)),
    }
    let number = |of: &Value, key: &str| {
        let value = of.get(key);
        let number = value.and_then(Value::as_f64).filter(|number| (0.0..f64::INFINITY).contains(number));
        number.ok_or_else(|| {
            let value = value.map_or("missing".to_string(), Value::to_string);
            Error::argument(format!("{what}, figure {key}"), value, "a finite number, 0 or more")
        })
    };
    let messages = |figures| {
        let mut costs = Costs::CLUSTER;
        for figure in FIGURES {
            *(figure.of)(&mut costs) = number(figures, figure.name)?;
        }
        Ok(costs)
    };
    let files = |of| {
        let seconds = |key| {
            let seconds = number(of, key)?;
            let allowed = || Error::argument(format!("{what}, figure {key}"), seconds, "above 0, up to 1000");
            if seconds > 0.0 && seconds <= MOST_SECONDS { Ok(seconds) } else { Err(allowed()) }
        };
        Ok(FileCosts { call_seconds: seconds("call_seconds")?, byte_seconds: seconds("byte_seconds")? })
    };
    let known = Known {
        messages: any.get("figures").map(messages).transpose()?,
        files: any.get("files").map(files).transpose()?,
    };
    if known == Known::default() {
        return Err(Error::argument(what, "neither figures nor files", allowed));
    }
    Ok(known)
}

/// Returns what the machine file at `path` says; nothing for an empty path, and for a file that cannot be used, after a line on
/// standard error. Local: rank 0 sends the costs to the others. A process reads a file once, and once more after 16 others.
pub fn known(path: &str) -> Known {
    per_process! {
        static READ: Memo<String, Known> = Memo::new(16);
    }
    if path.is_empty() {
        return Known::default();
    }
    READ.get(&path.to_string(), || {
        load(path).unwrap_or_else(|error| {
            crate::say(format_args!(
                "the hint trib_machine is not used: {error}; the library uses built-in and measured costs"
            ));
            Known::default()
        })
    })
}

fn load(path: &str) -> Result<Known> {
    let fail = |operation: FileOperation| move |cause| Error::io(0, operation, Path::new(path), None, &cause);
    // Reading a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(fail(FileOperation::Open))?.is_file() {
        return Err(Error::argument("machine file", path, "an ordinary file"));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(fail(FileOperation::Open))?;
    file.take(LONGEST + 1).read_to_end(&mut text).map_err(fail(FileOperation::Read))?;
    match text.len() as u64 > LONGEST {
        true => Err(Error::argument("machine file", path, format!("{LONGEST} bytes or fewer"))),
        false => parse(path, &text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let costs = Costs { eager: 1.25e-6, eager_limit: 131_072.0, walk: 0.0, ..Costs::CLUSTER };
        let between = "ranks of different nodes".to_string();
        Machine { fabric: "mpi".into(), ranks: 16, nodes: 4, between, costs, built_in: vec!["rendezvous_seconds"] }
    }

    #[test]
    fn text_is_read_back() {
        let text = machine().text();
        let known = parse("m", text.as_bytes()).unwrap();
        assert_eq!(known, Known { messages: Some(machine().costs), files: None }, "{text}");
        let files = FileCosts { call_seconds: 4.97e-3, byte_seconds: 1e-8 };
        let text_of_files = files.text();
        let known = parse("m", text_of_files.as_bytes()).unwrap();
        assert_eq!(known, Known { messages: None, files: Some(files) }, "{text_of_files}");
        let any: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&any["nodes"], &any["built_in"]), (&Value::from(4), &Value::from(vec!["rendezvous_seconds"])));
    }

    #[test]
    fn truncated_text_is_refused() {
        let text = machine().text();
        for end in 0..text.trim_end().len() {
            let error = parse("m", &text.as_bytes()[..end]).unwrap_err().to_string();
            assert!(error.starts_with("machine file m, line ") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn errors_name_the_figure_and_what_is_allowed() {
        let text = machine().text();
        let number = "a finite number, 0 or more";
        let version =
            "a file of version 1 in JSON, as `trib-lab tune machine --output FILE` or `trib doctor --measure` makes it";
        let cases = [
            ("\"version\": 1", "\"version\": 2", ": version 2", version),
            ("\"version\": 1", "\"version\": \"1\"", ": version \"1\"", version),
            ("  \"version\": 1,\n", "", ": no version", version),
            ("    \"walk_seconds\": 0e0,\n", "", ", figure walk_seconds: missing", number),
            ("\"walk_seconds\": 0e0", "\"walk_seconds\": -1e-9", ", figure walk_seconds: -1e-9", number),
            ("\"walk_seconds\": 0e0", "\"walk_seconds\": null", ", figure walk_seconds: null", number),
            ("\"walk_seconds\": 0e0", "\"walk_seconds\": \"fast\"", ", figure walk_seconds: \"fast\"", number),
            ("\"walk_seconds\": 0e0", "\"walk_seconds\": 1e999", ", line 17: number out of range", version),
            ("\"walk_seconds\": 0e0", "\"walk_seconds\": NaN", ", line 17: expected value", version),
            ("\"figures\"", "\"figure\"", ": neither figures nor files", version),
            ("\"figures\": {", "\"figures\": 1, \"more\": {", ", figure eager_seconds: missing", number),
            (
                "\"figures\"",
                "\"files\": {\"call_seconds\": 0}, \"figures\"",
                ", figure call_seconds: 0",
                "above 0, up to 1000",
            ),
            ("\"figures\"", "\"files\": {\"call_seconds\": 1}, \"figures\"", ", figure byte_seconds: missing", number),
        ];
        for (from, to, wrong, allowed) in cases {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let said = parse("m", changed.as_bytes()).unwrap_err().to_string();
            assert_eq!(said, format!("machine file m{wrong}; allowed: {allowed}"));
        }
        for bytes in [&b"\xff\xfe"[..], b"", b"[]", b"version = 1"] {
            assert!(parse("m", bytes).unwrap_err().to_string().starts_with("machine file m"));
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_has_no_figures() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        std::fs::write(path("good"), machine().text()).unwrap();
        std::fs::write(path("long"), vec![b' '; LONGEST as usize + 1]).unwrap();
        assert_eq!((known(""), known(&path("good")).messages), (Known::default(), Some(machine().costs)));
        for (bad, why) in [("none", "No such file"), ("", "an ordinary file"), ("long", "65536 bytes or fewer")] {
            assert!(load(&path(bad)).unwrap_err().to_string().contains(why), "{bad}");
            assert_eq!(known(&path(bad)), Known::default());
        }
    }
}
