//! The tuned table: for some rank counts and sizes, the fastest algorithm of each operation. Text, in TOML.
//!
//! One line an entry, between `entries = [` and `]`, so that a file that was cut off is seen to be:
//!
//! ```toml
//! version = 1
//! fabric = "threads"
//! entries = [
//!   { operation = "broadcast", ranks = 16, bytes = 1024, groups = 4, inner = "flat", outer = "flat", segment = 1024, seconds = 1.3e-5, error = 0.02, repetitions = 12 },
//! ]
//! ```

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::candidate::Candidate;
use crate::collectives::Operation;
use crate::error::{Error, Result};

/// The version of the text that this library reads and writes.
pub const VERSION: i64 = 1;

/// What was the fastest for one operation, rank count and size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What was measured.
    pub operation: Operation,
    /// On how many ranks.
    pub ranks: usize,
    /// Bytes of the message; of a gather or scatter, of every rank's block.
    pub bytes: u64,
    /// In how many groups; 1: the inner algorithm as it is.
    pub groups: usize,
    /// The algorithm inside the groups.
    pub inner: String,
    /// The algorithm among their leaders.
    pub outer: String,
    /// Bytes of a segment, for algorithms that cut messages.
    pub segment: u64,
    /// The mean time.
    pub seconds: f64,
    /// Half the width of its confidence interval, as a part of it.
    pub error: f64,
    /// How often it was measured.
    pub repetitions: u32,
}

impl Entry {
    /// The algorithm.
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
    /// [`VERSION`].
    pub version: i64,
    /// What carried the messages.
    pub fabric: String,
    /// The fastest, for all operations, rank counts and sizes that were measured.
    pub entries: Vec<Entry>,
}

impl Table {
    /// A table of this version.
    pub fn new(fabric: &str, entries: Vec<Entry>) -> Self {
        Self { version: VERSION, fabric: fabric.to_string(), entries }
    }

    /// Reads the text of the table called `name` in errors.
    ///
    /// # Errors
    /// Text that is no table of this version, a line that is torn, an algorithm that is not there: [`Error::Argument`], with
    /// the line or the entry.
    pub fn parse(name: &str, text: &[u8]) -> Result<Self> {
        let what = format!("tuned table {name}");
        let allowed = format!("a table of version {VERSION}, as `trib tune collectives` writes it");
        let no_text = |cause| Error::argument(&what, cause, &allowed);
        let text = std::str::from_utf8(text).map_err(no_text)?;
        let wrong = |cause: toml::de::Error| {
            let line = cause.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
            let message = cause.message().lines().next().unwrap_or_default().to_string();
            Error::argument(format!("{what}, line {line}"), message, &allowed)
        };
        let any: toml::Table = text.parse().map_err(wrong)?;
        match any.get("version") {
            Some(toml::Value::Integer(VERSION)) => {}
            Some(other) => return Err(Error::argument(what, format!("version {other}"), allowed)),
            None => return Err(Error::argument(what, "no version", allowed)),
        }
        let table: Self = toml::from_str(text).map_err(wrong)?;
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

    /// The text, which [`Table::parse`] reads.
    pub fn text(&self) -> String {
        let mut text = format!(
            "# The fastest collectives, measured by `trib tune collectives`; hint trib_tuned_table uses them.\n\
             # bytes: of the message, or of every rank's block; groups = 1: the inner algorithm as it is.\n\
             version = {}\nfabric = {:?}\nentries = [\n",
            self.version, self.fabric
        );
        for entry in &self.entries {
            let Entry { operation, ranks, bytes, groups, inner, outer, segment, seconds, error, repetitions } = entry;
            let [operation, inner, outer] = [&operation.to_string(), inner, outer].map(|word| format!("{word:?}"));
            let _ = writeln!(
                text,
                "  {{ operation = {operation:11}, ranks = {ranks:5}, bytes = {bytes:9}, groups = {groups:5}, \
                 inner = {inner:39}, outer = {outer:39}, segment = {segment:8}, seconds = {seconds:9.3e}, \
                 error = {error:6.4}, repetitions = {repetitions:4} }},"
            );
        }
        text + "]\n"
    }
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

    /// A file that was cut off anywhere is no table; most often the error says where.
    #[test]
    fn what_is_torn_anywhere_is_refused() {
        let text = table().text();
        for end in 0..text.trim_end().len() {
            let error = Table::parse("t", &text.as_bytes()[..end]).unwrap_err().to_string();
            assert!(error.starts_with("tuned table t") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = table().text();
        let changed = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            Table::parse("t", changed.as_bytes()).unwrap_err().to_string()
        };
        assert!(
            changed("version = 1", "version = 2")
                .starts_with("tuned table t: version 2; allowed: a table of version 1")
        );
        assert!(changed("version = 1\n", "").starts_with("tuned table t: no version"));
        let unknown = changed("inner = \"linear_synchronized\"", "inner = \"liner\"");
        assert!(unknown.starts_with("tuned table t, entry 2, inner: liner; allowed: linear|"), "{unknown}");
        assert!(changed("groups =     4", "groups = 17").contains("entry 2, groups: 17; allowed: 1 to 16, the ranks"));
        assert!(changed("segment =     1024", "segment = 9").contains("entry 1, segment: 9"));
        assert!(changed("seconds", "minutes").starts_with("tuned table t, line 6: "));
        let torn = changed(", outer", "\n outer");
        assert!(torn.starts_with("tuned table t, line 7: "), "{torn}");
        assert!(Table::parse("t", b"\xff").unwrap_err().to_string().starts_with("tuned table t: invalid utf-8"));
    }
}
