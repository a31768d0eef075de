//! What the program in C, or a peer, prints of a part: a line of JSON, each number a list over the repetitions.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::statistics::median;
use crate::Failure;

/// Write, read, or a floor of them.
#[derive(Debug, Clone, Deserialize)]
pub struct Part {
    /// Which.
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
    /// Whether a read found what it should.
    #[serde(default)]
    pub verified: Option<bool>,
    /// The MPI library, where that was asked.
    #[serde(default)]
    pub library: Option<String>,
    /// Ranks.
    #[serde(default)]
    pub ranks: u64,
    #[serde(default)]
    max: BTreeMap<String, Vec<f64>>,
    #[serde(default)]
    sum: BTreeMap<String, Vec<f64>>,
}

impl Part {
    /// All parts among lines of other things.
    pub fn all(text: &str) -> Vec<Self> {
        text.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
    }

    /// The one of this name.
    ///
    /// # Errors
    /// It is not there.
    pub fn find<'a>(parts: &'a [Self], name: &str, who: &str) -> Result<&'a Self, Failure> {
        let found = parts.iter().find(|part| part.part == name && (part.verified != Some(false)));
        found.ok_or_else(|| match parts.iter().any(|part| part.part == name) {
            true => Failure::new(format!("{who}: {name}: other bytes than were written; allowed: the same")),
            false => Failure::new(format!("{who}: {name}: no line of JSON was printed; allowed: one for each part")),
        })
    }

    /// The most of any rank, in the repetition in the middle; 0 of what is not told.
    pub fn max(&self, name: &str) -> f64 {
        self.max.get(name).and_then(|all| median(all)).unwrap_or(0.0)
    }

    /// The least of all repetitions of the most of any rank.
    pub fn least(&self, name: &str) -> f64 {
        self.max.get(name).into_iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }

    /// The sum over ranks, likewise.
    pub fn sum(&self, name: &str) -> f64 {
        self.told_sum(name).unwrap_or(0.0)
    }

    /// The sum over ranks, where it is told.
    pub fn told_sum(&self, name: &str) -> Option<f64> {
        self.sum.get(name).and_then(|all| median(all))
    }

    /// Whether anything was repeated.
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
        let parts = Part::all(text);
        let write = Part::find(&parts, "write", "x").unwrap();
        assert_eq!((write.calls, write.max("wall"), write.sum("cpu"), write.max("cpu")), (2, 2.0, 4.0, 0.0));
        assert_eq!((write.told_sum("cpu"), write.told_sum("pss")), (Some(4.0), None));
        assert!(write.is_measured());
        let said = |name| Part::find(&parts, name, "gio").unwrap_err().to_string();
        assert!(said("read").starts_with("gio: read: other bytes"));
        assert!(said("floor-write").starts_with("gio: floor-write: no line of JSON"));
    }
}
