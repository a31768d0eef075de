//! The kernel that `auto` took for the exchange of a call, or two layers that were not possible: a value, which reports print as a
//! phrase.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

use crate::exchange::BALANCED;

/// The kernel that `auto` chose for a call, in the phases for which the hints leave the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AutoChoice {
    /// Chosen kernel.
    pub kernel: AutoKernel,
    /// True if the metadata phase uses this kernel.
    pub metadata: bool,
    /// True if the data phase uses this kernel.
    pub data: bool,
}

impl AutoChoice {
    /// Returns true if the flat kernel was predicted to be the best, as for most calls. Reports do not mention the flat
    /// kernel.
    pub fn is_usual(&self) -> bool {
        self.kernel == AutoKernel::Flat
    }
}

impl Display for AutoChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let phases = match (self.metadata, self.data) {
            (true, false) => "metadata",
            (false, true) => "data",
            _ => "metadata and data",
        };
        match self.kernel {
            AutoKernel::NoNodeMemory | AutoKernel::NoMembers => write!(f, "no two_layer for {phases}: {}", self.kernel),
            kernel => write!(f, "{kernel} for {phases}, as predicted to be faster"),
        }
    }
}

/// A kernel between which `auto` chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoKernel {
    /// Every rank sends directly to every aggregator.
    #[default]
    Flat,
    /// Messages go through local aggregators.
    TwoLayer {
        /// Number of local aggregators on each node.
        per_node: usize,
    },
    /// Flat, although two layers were chosen, by `auto` or by a hint: the ranks of a node share no memory.
    NoNodeMemory,
    /// Flat, although a hint chose two layers: no local aggregator has members, by the hint for their number or by the
    /// order of ranks on nodes.
    NoMembers,
}

impl Display for AutoKernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Flat => f.write_str(BALANCED.name),
            Self::NoMembers => f.write_str("every rank is its own local aggregator"),
            Self::NoNodeMemory => f.write_str("the ranks of a node share no memory"),
            Self::TwoLayer { per_node } => write!(f, "two_layer with {per_node} local aggregators a node"),
        }
    }
}
