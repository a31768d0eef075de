//! This rank's individual file pointer.
//!
//! The library keeps it, in etypes, for each file whose view it knows. MPI's own pointer is wrong in MPICH for views with lower
//! bounds. So a call at the pointer becomes MPI's call at an explicit offset when MPI runs it. With any other view, and in
//! sequential mode, the pointer is MPI's. A new view sets both pointers to 0, so neither needs to know the other.

use std::sync::Arc;

use crate::abi::MPI_Offset;
use crate::view::KnownView;

/// The individual file pointer of an open file.
#[derive(Debug, Default)]
pub struct Pointer {
    /// In etypes of the view.
    position: MPI_Offset,
    /// The view, if the pointer is ours.
    view: Option<Arc<KnownView>>,
}

impl Pointer {
    /// Creates a pointer of ours, at `position` of `view`.
    pub fn new(position: MPI_Offset, view: Arc<KnownView>) -> Self {
        Self { position, view: Some(view) }
    }

    /// Returns the position in etypes and the view; none if the pointer is MPI's.
    pub fn own(&self) -> Option<(MPI_Offset, Arc<KnownView>)> {
        Some((self.position, self.view.clone()?))
    }

    /// Moves a pointer of ours.
    pub fn seek(&mut self, position: MPI_Offset) {
        self.position = position;
    }

    /// Moves a pointer of ours on by `bytes`. None if the
    /// pointer is MPI's.
    pub fn advance(&mut self, bytes: u64) -> Option<Advance> {
        let etype = self.view.as_ref()?.etype();
        let offset = self.position;
        let etypes = bytes.checked_div(etype).and_then(|etypes| MPI_Offset::try_from(etypes).ok()).unwrap_or_default();
        let etypes = if offset.checked_add(etypes).is_some() { etypes } else { 0 };
        self.position += etypes;
        Some(Advance { offset, etypes, etype })
    }

    /// Moves a pointer of ours back by so many etypes.
    pub fn go_back(&mut self, etypes: MPI_Offset) {
        self.position -= etypes;
    }
}

/// A movement of the pointer.
#[derive(Debug, Clone, Copy)]
pub struct Advance {
    /// The position before, in etypes.
    pub offset: MPI_Offset,
    /// By how many etypes it moved.
    pub etypes: MPI_Offset,
    /// Bytes of an etype.
    pub etype: u64,
}
