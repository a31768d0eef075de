//! The output of the C program, or of another library, for one part: a line of JSON, with a list over the repetitions for
//! each number.

use std::collections::BTreeMap;

use serde::Deserialize;

use trib::Failure;
use trib::compare::statistics::median;

/// A write, a read, or the floor of one.
#[derive(Debug, Clone, Deserialize)]
pub struct MeasuredPart {
    /// Its name.
    pub part: String,
    /// The number of the set of hints.
    #[serde(default)]
    pub set: usize,
    /// Calls of a repetition.
    #[serde(default)]
    pub calls: u64,
    /// Bytes of all ranks in a repetition.
    #[serde(default)]
    pub bytes: u64,
    /// Whether a read returned the right bytes.
    #[serde(default)]
    pub verified: Option<bool>,
    /// The MPI library, if it was asked for.
    #[serde(default)]
    pub library: Option<String>,
    /// Ranks.
    #[serde(default)]
    pub ranks: u64,
    /// Hosts, by the names that the MPI library gives them.
    #[serde(default)]
    pub hosts: u64,
    #[serde(default)]
    max: BTreeMap<String, Vec<f64>>,
    #[serde(default)]
    sum: BTreeMap<String, Vec<f64>>,
}

impl MeasuredPart {
    /// All parts, among other lines of output.
    pub fn all(text: &str) -> Vec<Self> {
        text.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
    }

    /// The part of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find<'a>(parts: &'a [Self], name: &str, who: &str) -> Result<&'a Self, Failure> {
        let found = parts.iter().find(|part| part.part == name && (part.verified != Some(false)));
        found.ok_or_else(|| match parts.iter().any(|part| part.part == name) {
            true => Failure::new(format!("{who}: {name}: other bytes than were written; allowed: the same")),
            false => Failure::new(format!("{who}: {name}: no line of JSON was printed; allowed: one for each part")),
        })
    }

    /// The maximum over ranks, in the median repetition; 0 if it was not printed.
    pub fn max(&self, name: &str) -> f64 {
        self.max.get(name).and_then(|all| median(all)).unwrap_or(0.0)
    }

    /// The maximum over ranks, where it is told.
    pub fn told_max(&self, name: &str) -> Option<f64> {
        self.max.get(name).and_then(|all| median(all))
    }

    /// The minimum over repetitions of the maximum over ranks.
    pub fn least(&self, name: &str) -> f64 {
        self.max.get(name).into_iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }

    /// The sum over ranks, in the median repetition; 0 if it was not printed.
    pub fn sum(&self, name: &str) -> f64 {
        self.told_sum(name).unwrap_or(0.0)
    }

    /// The sum over ranks, where it is told.
    pub fn told_sum(&self, name: &str) -> Option<f64> {
        self.sum.get(name).and_then(|all| median(all))
    }

    /// Whether it has any repetition.
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
