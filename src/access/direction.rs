//! The direction of a call.

use serde::{Deserialize, Serialize};
use tributary_base::wire;

/// Direction of a call: write or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Bytes go from memory to the file.
    Write,
    /// Bytes go from the file to memory.
    Read,
}

wire::fields!(enum Direction { 0 Write, 1 Read, });

impl Direction {
    /// Returns the name of the direction: `write` or `read`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}
