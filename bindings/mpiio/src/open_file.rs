//! One open file of the program.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;

use tributary::engine::Direction;
use tributary::hints::FileHints;

use crate::abi::amode;
use crate::backend::{Backend, Runner};
use crate::calls::split::Split;
use crate::pending::Queue;
use crate::view::{KnownView, View};

/// A file that the program opened. The MPI library's own file is open below it, for all that the engine does not do.
pub struct OpenFile {
    /// Who runs collective calls.
    pub backend: Backend,
    /// What this rank of the program sees of the file.
    pub view: View,
    /// What is asked of the file on this rank, and where it was asked for.
    pub asked: FileHints,
    /// Whether the program asked for atomic mode.
    pub is_atomic: bool,
    /// A collective call between its begin and its end.
    pub split: Option<Split>,
    /// Collective calls that were started and have not ended.
    pub queue: Queue,
}

impl OpenFile {
    /// A file with the view that MPI gives every file: all bytes.
    pub fn new(path: Arc<Path>, amode: c_int, is_first: bool, runner: Runner, asked: FileHints) -> Self {
        let view = View::Engine(KnownView::all());
        let backend = Backend::new(path, amode, is_first, runner);
        Self { backend, view, asked, is_atomic: false, split: None, queue: Queue::default() }
    }

    /// Why MPI runs calls of this direction, whoever runs the others; none if nothing is against the engine. The same on
    /// all ranks.
    pub fn refusal(&self, direction: Direction) -> Option<&'static str> {
        match direction {
            Direction::Write if self.backend.amode & amode::rdonly() != 0 => Some("opened with MPI_MODE_RDONLY"),
            Direction::Read if self.backend.amode & amode::wronly() != 0 => Some("opened with MPI_MODE_WRONLY"),
            _ if self.is_atomic => Some("atomic mode"),
            _ => None,
        }
    }

    /// What is left under a handle whose file is closed.
    pub fn closed() -> Self {
        Self::new(Path::new("").into(), 0, false, Runner::Mpi("closed".to_string()), FileHints::default())
    }
}
