//! Parses the output of the C program, or of another library, for one part: a line of JSON, with a list over the
//! repetitions for each number.

use std::collections::BTreeMap;

use serde::Deserialize;

use trib::Failure;
use trib::compare::statistics::median;

/// Results of one part of a run: a write, a read, or the floor of one.
#[derive(Debug, Clone, Deserialize)]
pub struct MeasuredPart {
    /// Name of the part: `write`, `read`, or the floor of one of them.
    pub part: String,
    /// Number of the set of hints.
    #[serde(default)]
    pub set: usize,
    /// Number of calls of a repetition.
    #[serde(default)]
    pub calls: u64,
    /// Number of bytes of all ranks in a repetition.
    #[serde(default)]
    pub bytes: u64,
    /// True if a read returned the right bytes.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Name of the MPI library, if the program was asked for it.
    #[serde(default)]
    pub library: Option<String>,
    /// Number of ranks.
    #[serde(default)]
    pub ranks: u64,
    /// Number of hosts, by the host names that the MPI library returns.
    #[serde(default)]
    pub hosts: u64,
    #[serde(default)]
    max: BTreeMap<String, Vec<f64>>,
    #[serde(default)]
    sum: BTreeMap<String, Vec<f64>>,
}

impl MeasuredPart {
    /// Returns all parts that `text` contains among other lines of output.
    pub fn all(text: &str) -> Vec<Self> {
        text.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
    }

    /// Returns the part of this name.
    ///
    /// # Errors
    /// There is no such part.
    pub fn find<'a>(parts: &'a [Self], name: &str, who: &str) -> Result<&'a Self, Failure> {
        let found = parts.iter().find(|part| part.part == name && (part.verified != Some(false)));
        found.ok_or_else(|| match parts.iter().any(|part| part.part == name) {
            true => Failure::new(format!("{who}: {name}: other bytes than were written; allowed: the same")),
            false => Failure::new(format!("{who}: {name}: no line of JSON was printed; allowed: one for each part")),
        })
    }

    /// Returns the maximum over ranks of the number `name`, in the median repetition; 0 if it was not printed.
    pub fn max(&self, name: &str) -> f64 {
        self.max.get(name).and_then(|all| median(all)).unwrap_or(0.0)
    }

    /// Returns the maximum over ranks of the number `name`, if it was printed.
    pub fn told_max(&self, name: &str) -> Option<f64> {
        self.max.get(name).and_then(|all| median(all))
    }

    /// Returns the minimum over repetitions of the maximum over ranks of the number `name`.
    pub fn least(&self, name: &str) -> f64 {
        self.max.get(name).into_iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the sum over ranks of the number `name`, in the median repetition; 0 if it was not printed.
    pub fn sum(&self, name: &str) -> f64 {
        self.told_sum(name).unwrap_or(0.0)
    }

    /// Returns the sum over ranks of the number `name`, if it was printed.
    pub fn told_sum(&self, name: &str) -> Option<f64> {
        self.sum.get(name).and_then(|all| median(all))
    }

    /// Returns true if the part has any repetition.
    pub fn is_measured(&self) -> bool {
        self.max.get("wall").is_some_and(|all| !all.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_between_other_lines() {
        let text = "warning: {\n{\"part\": \"write\", \"calls\": 2, \"max\": {\"wall\": [3, 1, 2]}, \"sum\": {\"cpu\": [4]}}\n\
                    {\"part\": \"read\", \"verified\": false}\n";
        let parts = MeasuredPart::all(text);
        let write = MeasuredPart::find(&parts, "write", "x").unwrap();
        assert_eq!((write.calls, write.max("wall"), write.sum("cpu"), write.max("cpu")), (2, 2.0, 4.0, 0.0));
        assert_eq!((write.told_sum("cpu"), write.told_sum("pss")), (Some(4.0), None));
        assert!(write.is_measured());
        let said = |name| MeasuredPart::find(&parts, name, "gio").unwrap_err().to_string();
        assert!(said("read").starts_with("gio: read: other bytes"));
        assert!(said("floor-write").starts_with("gio: floor-write: no line of JSON"));
    }
}
