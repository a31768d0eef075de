//! The settings of an open file that reading and writing depend on.

use std::path::PathBuf;
use std::sync::Arc;

use crate::drivers::{Identity, Layout, Mode};
use crate::engine::io::call_cost::CallCost;
use crate::engine::io::sieve::{KnownBytes, Sieve};
use crate::hints::Hints;
use crate::topology::Topology;

/// Settings that do not change while a file is open; equal on all ranks.
pub struct FileTerms {
    /// Path of the file.
    pub path: PathBuf,
    /// Mode in which the file was opened.
    pub mode: Mode,
    /// Hints in force, checked.
    pub hints: Hints,
    /// Nodes of the ranks.
    pub topology: Topology,
    /// Layout of the file on its file system: stripes or blocks.
    pub layout: Layout,
    /// True if there are several hosts and each caches the file independently (NFS).
    pub caches_incoherent: bool,
    /// Facts that can be known about the bytes of the file without reading them.
    pub known: KnownBytes,
    /// What a write and a read of the file cost this process. Unlike the rest, not equal on all ranks.
    pub call_costs: [Arc<CallCost>; 2],
    /// Identity of the file on rank 0, if ranks are on several hosts, may write, and the file system belongs to one
    /// machine; otherwise `None`.
    pub identity: Option<Identity>,
}

impl FileTerms {
    /// Returns the sieve of a write. `is_sole` is true if nobody else can be writing the file during the call.
    pub fn write_sieve(&self, is_sole: bool) -> Sieve {
        Sieve::of_write(self.hints.ds_write, self.call_costs[0].clone(), is_sole, self.known)
    }

    /// Returns the sieve of a read.
    pub fn read_sieve(&self) -> Sieve {
        Sieve::new(self.hints.ds_read, self.call_costs[1].clone())
    }
}
