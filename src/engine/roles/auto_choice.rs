//! The kernel that `auto` took for the exchange of a call, or two layers that were not possible: a value, which reports print as a
//! phrase.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

use crate::exchange::BALANCED;

/// The kernel that `auto` took for a call, in the phases that the hints leave to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AutoChoice {
    /// The kernel.
    pub kernel: AutoKernel,
    /// Whether it is that of the metadata phase.
    pub metadata: bool,
    /// Whether it is that of the data phase.
    pub data: bool,
}

impl AutoChoice {
    /// Whether the flat kernel was predicted to be the best, as for most calls. Reports do not mention that.
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
            AutoKernel::NoNodeMemory => write!(f, "no two_layer for {phases}: {}", self.kernel),
            kernel => write!(f, "{kernel} for {phases}, as predicted to be faster"),
        }
    }
}

/// The kernels between which `auto` chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoKernel {
    /// Every rank sends to every aggregator itself.
    #[default]
    Flat,
    /// Through local aggregators.
    TwoLayer {
        /// How many of them each node has.
        per_node: usize,
    },
    /// Flat, although two layers were chosen, by `auto` or by a hint: the ranks of a node share no memory.
    NoNodeMemory,
}

impl Display for AutoKernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Flat => f.write_str(BALANCED.name),
            Self::NoNodeMemory => f.write_str("the ranks of a node share no memory"),
            Self::TwoLayer { per_node } => write!(f, "two_layer with {per_node} local aggregators a node"),
        }
    }
}
