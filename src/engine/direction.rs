//! The direction of a call.

use serde::{Deserialize, Serialize};

/// The direction of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From memory to the file.
    Write,
    /// From the file to memory.
    Read,
}

impl Direction {
    /// `write` or `read`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }

    /// The hint that switches collective buffering.
    pub(in crate::engine) fn switch_key(self) -> &'static str {
        match self {
            Self::Write => "romio_cb_write",
            Self::Read => "romio_cb_read",
        }
    }
}
