//! The state of one file that the program has open.

use std::path::Path;
use std::sync::Arc;

use tributary::engine::Direction;
use tributary::hints::FileHints;
use tributary_abi::constants;

use crate::abi::MPI_Offset;
use crate::backend::{Backend, Runner};
use crate::calls::split::Split;
use crate::own_handle::OwnHandle;
use crate::pending::CallQueue;
use crate::pointer::Pointer;
use crate::view::{KnownView, View};

/// A file that the program opened. The MPI library keeps its own file open, for calls that the engine does not run.
pub struct OpenFile {
    /// Library that runs the file's collective calls.
    pub backend: Backend,
    /// This rank's file view.
    pub view: View,
    /// Hints that were set on this rank, with their sources.
    pub asked: FileHints,
    /// This library's own handle for independent calls, if the file is on NFS.
    pub own: Option<Arc<OwnHandle>>,
    /// True if PnetCDF opened the file by MPI-IO because this library added the hint `nc_driver`.
    pub is_of_pnetcdf: bool,
    /// True if the program set atomic mode.
    pub is_atomic: bool,
    /// Split collective that the program has begun and not ended.
    pub split: Option<Split>,
    /// Collective calls in flight on this file.
    pub queue: CallQueue,
}

impl OpenFile {
    /// Creates the state of a newly opened file, whose view is all bytes.
    pub fn new(backend: Backend, asked: FileHints, own: Option<OwnHandle>) -> Self {
        let view = View::Engine(Arc::new(KnownView::all()));
        Self {
            backend,
            view,
            asked,
            own: own.map(Arc::new),
            is_of_pnetcdf: false,
            is_atomic: false,
            split: None,
            queue: CallQueue::default(),
        }
    }

    /// Returns the reason why MPI must run calls of this direction; None if the engine can run them. All ranks get
    /// the same answer.
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

    /// Returns the individual file pointer at `position`, in etypes. This library keeps the pointer if it knows the
    /// view and the file was not opened in sequential mode; otherwise MPI keeps it.
    pub fn pointer_at(&self, position: MPI_Offset) -> Pointer {
        match &self.view {
            View::Engine(view) if self.backend.amode & constants().mode_sequential == 0 => {
                Pointer::new(position, view.clone())
            }
            View::Engine(_) | View::Foreign { .. } => Pointer::default(),
        }
    }

    /// Returns a placeholder that replaces a file after it was closed.
    pub fn closed() -> Self {
        let runner = Runner::Mpi("closed".to_string());
        Self::new(Backend::new(Path::new("").into(), 0, false, runner, None), FileHints::default(), None)
    }
}
