//! This rank's individual file pointer.
//!
//! This library keeps the pointer, in etypes, for each file whose view it knows. MPI's own pointer is wrong in MPICH
//! for views with lower bounds. So a call at the pointer becomes MPI's call at an explicit offset when MPI runs the
//! call. With any other view, and in sequential mode, MPI keeps the pointer. A new view sets both pointers to 0, so
//! neither pointer has to follow the other.

use std::sync::Arc;

use crate::mpi::abi::MPI_Offset;
use crate::view::KnownView;

/// The individual file pointer of an open file.
#[derive(Debug, Default)]
pub struct Pointer {
    /// Position in etypes of the view.
    position: MPI_Offset,
    /// The view, if this library keeps the pointer; None if MPI keeps it.
    view: Option<Arc<KnownView>>,
}

impl Pointer {
    /// Creates a pointer that this library keeps, at `position` (in etypes) of `view`.
    pub fn new(position: MPI_Offset, view: Arc<KnownView>) -> Self {
        Self { position, view: Some(view) }
    }

    /// Returns the position in etypes and the view; None if MPI keeps the pointer.
    pub fn own(&self) -> Option<(MPI_Offset, Arc<KnownView>)> {
        Some((self.position, self.view.clone()?))
    }

    /// Sets the pointer to `position`, in etypes, if this library keeps the pointer.
    pub fn seek(&mut self, position: MPI_Offset) {
        self.position = position;
    }

    /// Advances the pointer by `bytes` bytes. Returns the position before and the number of etypes by which the pointer
    /// moved, and the size of an etype in bytes; None if MPI keeps the pointer.
    pub fn advance(&mut self, bytes: u64) -> Option<(MPI_Offset, MPI_Offset, u64)> {
        let etype = self.view.as_ref()?.etype();
        let offset = self.position;
        let etypes = bytes.checked_div(etype).and_then(|etypes| MPI_Offset::try_from(etypes).ok()).unwrap_or_default();
        let etypes = if offset.checked_add(etypes).is_some() { etypes } else { 0 };
        self.position += etypes;
        Some((offset, etypes, etype))
    }

    /// Moves the pointer back by `etypes` etypes.
    pub fn go_back(&mut self, etypes: MPI_Offset) {
        self.position -= etypes;
    }
}
