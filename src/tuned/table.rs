//! The tuned table: the fastest algorithm of each operation for some numbers of ranks and sizes. The text is JSON, with one
//! entry on a line:
//!
//! ```json
//! {
//!   "version": 1,
//!   "fabric": "threads",
//!   "entries": [
//!     {"operation":"broadcast","ranks":16,"bytes":1024,"groups":4,"inner":"flat","outer":"flat","segment":1024,"seconds":1.3e-5,"error":0.02,"repetitions":12}
//!   ]
//! }
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::candidate::Candidate;
use crate::collectives::Operation;
use crate::error::{Error, Result};

/// The version of the text that this library reads and writes.
pub const VERSION: i64 = 1;

/// The fastest algorithm for one operation, number of ranks and size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The operation.
    pub operation: Operation,
    /// Number of ranks.
    pub ranks: usize,
    /// Bytes of the message; for gather and scatter, of every rank's block.
    pub bytes: u64,
    /// Number of groups; with 1, the inner algorithm runs alone.
    pub groups: usize,
    /// The algorithm inside the groups.
    pub inner: String,
    /// The algorithm among their leaders.
    pub outer: String,
    /// Bytes of a segment, for algorithms that cut messages.
    pub segment: u64,
    /// The mean time in seconds.
    pub seconds: f64,
    /// Half the width of the confidence interval of the mean, as a fraction of the mean.
    pub error: f64,
    /// Number of measurements.
    pub repetitions: u32,
}

impl Entry {
    /// The algorithm that the entry names.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn candidate(&self) -> Result<Candidate> {
        if self.ranks == 0 {
            return Err(Error::argument("ranks", 0, "1 or more"));
        }
        if !(1..=self.ranks).contains(&self.groups) {
            return Err(Error::argument("groups", self.groups, format!("1 to {}, the ranks", self.ranks)));
        }
        if self.segment == 0 || !self.segment.is_multiple_of(8) {
            return Err(Error::argument("segment", self.segment, "a multiple of 8 above 0"));
        }
        if !(self.seconds >= 0.0 && self.seconds.is_finite()) {
            return Err(Error::argument("seconds", self.seconds, "0 or more"));
        }
        Candidate::new(self.operation, self.groups, &self.inner, &self.outer)
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The version of the text: [`VERSION`].
    pub version: i64,
    /// The fabric on which the table was measured.
    pub fabric: String,
    /// One entry for each operation, number of ranks and size that was measured.
    pub entries: Vec<Entry>,
}

impl Table {
    /// A table of this version.
    pub fn new(fabric: &str, entries: Vec<Entry>) -> Self {
        Self { version: VERSION, fabric: fabric.to_string(), entries }
    }

    /// Parses the text of a table. Errors call the table `name`.
    ///
    /// # Errors
    /// Text that is no table of this version, a truncated line, an unknown algorithm: [`Error::Argument`] with the line or the
    /// entry.
    pub fn parse(name: &str, text: &[u8]) -> Result<Self> {
        let what = format!("tuned table {name}");
        let allowed = format!(
            "a table of version {VERSION} in JSON, as `trib tune collectives --output FILE` measures and writes it"
        );
        let text = std::str::from_utf8(text).map_err(|cause| Error::argument(&what, cause, &allowed))?;
        if is_toml(text) {
            return Err(Error::argument(what, "text in TOML, as earlier versions wrote it", allowed));
        }
        let wrong = |cause: serde_json::Error| {
            let message = cause.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            Error::argument(format!("{what}, line {}", cause.line()), message, &allowed)
        };
        let any: Value = serde_json::from_str(text).map_err(wrong)?;
        match any.get("version") {
            Some(version) if *version == VERSION => {}
            Some(other) => return Err(Error::argument(what, format!("version {other}"), allowed)),
            None => return Err(Error::argument(what, "no version", allowed)),
        }
        let table: Self = serde_json::from_str(text).map_err(wrong)?;
        for (number, entry) in table.entries.iter().enumerate() {
            entry.candidate().map_err(|error| match error {
                Error::Argument { what: which, value, allowed, .. } => {
                    Error::argument(format!("{what}, entry {}, {which}", number + 1), value, allowed)
                }
                other => other,
            })?;
        }
        Ok(table)
    }

    /// The text of the table, for [`Table::parse`].
    pub fn text(&self) -> String {
        let line = |entry| format!("    {}", serde_json::to_string(entry).unwrap_or_default());
        let entries: Vec<String> = self.entries.iter().map(line).collect();
        let (version, fabric) = (self.version, Value::from(self.fabric.as_str()));
        let entries = entries.join(",\n");
        format!("{{\n  \"version\": {version},\n  \"fabric\": {fabric},\n  \"entries\": [\n{entries}\n  ]\n}}\n")
    }
}

/// Whether the text begins like a table in TOML, which earlier versions wrote: comments, then the version.
fn is_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let key = lines.next().and_then(|line| line.split_once('='));
    key.is_some_and(|(key, _)| ["version", "fabric", "entries"].contains(&key.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let entry = |operation, bytes, groups, inner: &str, seconds| Entry {
            operation,
            ranks: 16,
            bytes,
            groups,
            inner: inner.to_string(),
            outer: inner.to_string(),
            segment: 1024,
            seconds,
            error: 0.025,
            repetitions: 12,
        };
        Table::new(
            "threads",
            vec![
                entry(Operation::Broadcast, 8, 1, "scatter_recursive_doubling_allgather", 1.25e-5),
                entry(Operation::Gather, 1 << 20, 4, "linear_synchronized", 0.5),
            ],
        )
    }

    #[test]
    fn text_is_read_back() {
        let text = table().text();
        assert_eq!(Table::parse("t", text.as_bytes()).unwrap(), table(), "{text}");
        let empty = Table::new("mpi", Vec::new());
        assert_eq!(Table::parse("t", empty.text().as_bytes()).unwrap(), empty);
    }

    #[test]
    fn truncated_text_is_refused() {
        let text = table().text();
        for end in 0..text.trim_end().len() {
            let error = Table::parse("t", &text.as_bytes()[..end]).unwrap_err().to_string();
            assert!(error.starts_with("tuned table t") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let text = table().text();
        let changed = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            Table::parse("t", changed.as_bytes()).unwrap_err().to_string()
        };
        let version = changed("\"version\": 1", "\"version\": 2");
        assert!(version.starts_with("tuned table t: version 2; allowed: a table of version 1"), "{version}");
        assert!(changed("  \"version\": 1,\n", "").starts_with("tuned table t: no version"));
        let unknown = changed("\"inner\":\"linear_synchronized\"", "\"inner\":\"liner\"");
        assert!(unknown.starts_with("tuned table t, entry 2, inner: liner; allowed: linear|"), "{unknown}");
        assert!(changed("\"groups\":4", "\"groups\":17").contains("entry 2, groups: 17; allowed: 1 to 16, the ranks"));
        assert!(changed("\"segment\":1024", "\"segment\":9").contains("entry 1, segment: 9"));
        let field = changed("\"seconds\"", "\"minutes\"");
        assert!(field.starts_with("tuned table t, line 5: unknown field `minutes`"), "{field}");
        let torn = changed(",\"outer\"", "\n\"outer\"");
        assert!(torn.starts_with("tuned table t, line 6: "), "{torn}");
        assert!(Table::parse("t", b"\xff").unwrap_err().to_string().starts_with("tuned table t: invalid utf-8"));
        assert!(Table::parse("t", b"[]").unwrap_err().to_string().starts_with("tuned table t: no version"));
    }

    /// Earlier versions of `trib tune` wrote TOML. The error says how to get a new table.
    #[test]
    fn a_table_in_toml_is_refused_with_advice() {
        let old = "# The fastest collectives, measured by `trib tune collectives`.\nversion = 1\nfabric = \"threads\"\nentries = [\n]\n";
        for text in [old, "version=1", "entries = []"] {
            let said = Table::parse("t", text.as_bytes()).unwrap_err().to_string();
            assert!(said.starts_with("tuned table t: text in TOML, as earlier versions wrote it; allowed: "), "{said}");
            assert!(
                said.contains("in JSON, as `trib tune collectives --output FILE` measures and writes it"),
                "{said}"
            );
        }
    }
}
