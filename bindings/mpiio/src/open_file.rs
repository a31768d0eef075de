//! One open file of the program.

use std::path::Path;
use std::sync::Arc;

use tributary::engine::Direction;
use tributary::hints::FileHints;
use tributary_abi::constants;

use crate::abi::MPI_Offset;
use crate::backend::{Backend, Runner};
use crate::calls::split::Split;
use crate::pending::Queue;
use crate::pointer::Pointer;
use crate::view::{KnownView, View};

/// A file that the program opened. The MPI library keeps its own file open, for calls that the engine does not run.
pub struct OpenFile {
    /// What runs collective calls.
    pub backend: Backend,
    /// This rank's file view.
    pub view: View,
    /// The hints on this rank, with their sources.
    pub asked: FileHints,
    /// True if the program set atomic mode.
    pub is_atomic: bool,
    /// The split collective that was begun and not ended.
    pub split: Option<Split>,
    /// Collective calls in flight.
    pub queue: Queue,
}

impl OpenFile {
    /// Creates a newly opened file, whose view is all bytes.
    pub fn new(backend: Backend, asked: FileHints) -> Self {
        let view = View::Engine(Arc::new(KnownView::all()));
        Self { backend, view, asked, is_atomic: false, split: None, queue: Queue::default() }
    }

    /// The reason why MPI must run calls of this direction; none if the engine can. The same on all ranks.
    pub fn refusal(&self, direction: Direction) -> Option<&'static str> {
        match direction {
            Direction::Write if self.backend.amode & constants().mode_rdonly != 0 => {
                Some("opened with MPI_MODE_RDONLY")
            }
            Direction::Read if self.backend.amode & constants().mode_wronly != 0 => Some("opened with MPI_MODE_WRONLY"),
            _ if self.is_atomic => Some("atomic mode"),
            _ => None,
        }
    }

    /// Returns the pointer at `position`: ours, if the view is known, and the file has individual pointers.
    pub fn pointer_at(&self, position: MPI_Offset) -> Pointer {
        match &self.view {
            View::Engine(view) if self.backend.amode & constants().mode_sequential == 0 => {
                Pointer::new(position, view.clone())
            }
            View::Engine(_) | View::Foreign { .. } => Pointer::default(),
        }
    }

    /// Returns the placeholder of a file that was closed.
    pub fn closed() -> Self {
        let runner = Runner::Mpi("closed".to_string());
        Self::new(Backend::new(Path::new("").into(), 0, false, runner, None), FileHints::default())
    }
}
