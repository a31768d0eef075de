//! Defines a kernel, which is a row of the registry. Help texts, hints and documentation are made from the row.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Exchange, KERNELS, ReceiverIndex};
use crate::error::{Error, Result};
use crate::schedule::{SendMode, Throttle, ThrottleMode};
use crate::topology::Rank;

/// Maximum number of outstanding messages under a sliding limit, if no hint gives one. The value is Cray's; of 32,
/// 50, 64 and 128 it was the best in the simulator.
pub const SLIDING_LIMIT: u32 = 50;

/// A kernel: the order, the send mode and the throttle of the messages from all senders to the receivers.
///
/// Kernels are equal if their names are. The text form (hints, JSON) is the name.
pub struct Kernel {
    /// The name in hints and reports: letters, digits and `_`, in lower case.
    pub name: &'static str,
    /// Description of the kernel in one line, which begins in lower case and ends without a full stop.
    pub about: &'static str,
    /// Source of the kernel: paper, then section, Algorithm, equation or figure, separated by `, `; further sources
    /// follow `; `. `None` if the kernel is from no paper.
    pub source: Option<&'static str>,
    /// Time in the one-port model, in t_s (start of a message) and t_w (a byte).
    pub cost: &'static str,
    /// Advice when to use the kernel, in whole sentences.
    pub when: &'static str,
    /// Send mode: decides when a send counts as finished.
    pub mode: SendMode,
    /// Maximum number of messages in a batch if no hint gives one, as in the main paper; `None` posts all messages at
    /// once.
    pub default_limit: Option<u32>,
    /// True if a step's send and receive must both finish before the next step starts (MPI_Sendrecv). The throttle is then a
    /// batch of one.
    pub coupled: bool,
    /// Function that returns the step (the position in the common order) of the message from `sender` to `receiver`.
    /// The messages of one sender have different steps, and so do the messages of one receiver. The step must be the
    /// same on all ranks.
    pub step: fn(exchange: &Exchange<'_>, sender: Rank, receiver: ReceiverIndex) -> u64,
}

impl Kernel {
    /// Returns the names of all kernels in the order of the registry, separated by `|`.
    pub fn names() -> String {
        KERNELS.iter().map(|kernel| kernel.name).collect::<Vec<_>>().join("|")
    }

    /// Returns the throttle to use if no hint gives a limit: batches of [`Kernel::default_limit`], or a sliding limit
    /// of [`SLIDING_LIMIT`].
    pub fn default_throttle(&self, mode: ThrottleMode) -> Throttle {
        self.throttle(match (self.default_limit, mode) {
            (None, _) => Throttle::NONE,
            (Some(limit), ThrottleMode::Batch) => Throttle::batch(limit),
            (Some(_), ThrottleMode::Sliding) => Throttle::sliding(SLIDING_LIMIT),
        })
    }

    /// Returns the throttle to use if the hints say `requested`: a coupled kernel always has a batch of one.
    pub fn throttle(&self, requested: Throttle) -> Throttle {
        if self.coupled { Throttle::batch(1) } else { requested }
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for &'static Kernel {
    type Err = Error;

    /// # Errors
    /// The name is not in the registry.
    fn from_str(text: &str) -> Result<Self> {
        let name = text.to_ascii_lowercase();
        let kernel = KERNELS.iter().copied().find(|kernel| kernel.name == name);
        kernel.ok_or_else(|| Error::argument("kernel", text, Kernel::names()))
    }
}

impl Serialize for Kernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Kernel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation, pictures and hints are made from the rows, so every field must be filled.
    #[test]
    fn every_row_is_complete() {
        for (index, kernel) in KERNELS.iter().enumerate() {
            let Kernel { name, about, source, cost, when, default_limit, coupled, .. } = kernel;
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(
                !name.is_empty() && name.chars().all(is_word),
                "{name}: a name is letters, digits and _, in lower case"
            );
            assert!(!KERNELS[..index].contains(kernel), "{name}: two kernels have this name");
            assert!(*name != crate::exchange::two_layer::NAME, "{name}: this is the word for two layers");
            for (field, text) in [("about", about), ("cost", cost), ("when", when)] {
                assert!(!text.is_empty() && !text.contains('\n'), "{name}: its `{field}` must be one line");
            }
            assert!(!about.ends_with('.'), "{name}: `about` ends without a full stop");
            assert!(when.ends_with('.'), "{name}: `when` is whole sentences");
            let is_line = |source: &str| !source.is_empty() && !source.contains('\n');
            assert!(
                source.is_none_or(is_line),
                "{name}: `source` is None, or Some(\"Paper, section, equation\"), several separated by `; `"
            );
            assert!(*default_limit != Some(0), "{name}: `default_limit` is None for no limit, or 1 and more");
            assert!(!coupled || *default_limit == Some(1), "{name}: a coupled kernel's `default_limit` is Some(1)");
            assert_eq!(name.to_ascii_uppercase().parse(), Ok(*kernel));
        }
        assert!("bruck".parse::<&Kernel>().unwrap_err().to_string().contains(&Kernel::names()));
    }
}
