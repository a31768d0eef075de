//! This rank's individual file pointer.
//!
//! The library keeps it, in etypes, for each file whose view it knows. MPI's own pointer is wrong in MPICH for views with lower
//! bounds. So a call at the pointer becomes MPI's call at an explicit offset when MPI runs it. With any other view, and in
//! sequential mode, the pointer is MPI's. A new view sets both pointers to 0, so neither needs to know the other.

use std::sync::Arc;

use crate::abi::MPI_Offset;
use crate::files::Shared;
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
    /// A pointer of ours, at `position` of `view`.
    pub fn new(position: MPI_Offset, view: Arc<KnownView>) -> Self {
        Self { position, view: Some(view) }
    }

    /// The position in etypes and the view; none if the pointer is MPI's.
    pub fn own(&self) -> Option<(MPI_Offset, Arc<KnownView>)> {
        Some((self.position, self.view.clone()?))
    }

    /// Moves a pointer of ours.
    pub fn seek(&mut self, position: MPI_Offset) {
        self.position = position;
    }
}

/// A call at the pointer, which has moved on already: two threads that call at once get different bytes. Unless the call is
/// [kept](Step::keep), also after an exception, the pointer moves back.
pub struct Step {
    file: Arc<Shared>,
    /// Where the call begins, in etypes.
    pub offset: MPI_Offset,
    etypes: MPI_Offset,
    etype: u64,
}

impl Step {
    /// Moves the pointer on by `bytes`. None if the pointer is MPI's.
    pub fn of(file: &Arc<Shared>, bytes: u64) -> Option<Self> {
        let mut pointer = file.pointer();
        let etype = pointer.view.as_ref()?.etype();
        let etypes = bytes.checked_div(etype).and_then(|etypes| MPI_Offset::try_from(etypes).ok()).unwrap_or_default();
        let offset = pointer.position;
        let etypes = if offset.checked_add(etypes).is_some() { etypes } else { 0 };
        pointer.position += etypes;
        Some(Self { file: file.clone(), offset, etypes, etype })
    }

    /// Leaves the pointer behind the call, which has moved its bytes or begun to.
    pub fn keep(mut self) {
        self.etypes = 0;
    }

    /// Leaves the pointer behind the first `bytes` bytes of the call.
    pub fn keep_part(mut self, bytes: u64) {
        let kept = bytes.checked_div(self.etype).and_then(|etypes| MPI_Offset::try_from(etypes).ok());
        self.etypes -= kept.unwrap_or_default().min(self.etypes);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if self.etypes != 0 {
            self.file.pointer().position -= self.etypes;
        }
    }
}
