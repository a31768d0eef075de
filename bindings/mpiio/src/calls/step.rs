//! The step of a call at the individual file pointer.

use std::sync::Arc;

use crate::abi::MPI_Offset;
use crate::files::SharedFile;
use crate::pointer::Advance;

/// A call at the pointer, which has moved on already: two threads that call at once get different bytes. Unless the call is
/// [kept](Step::keep), also after an exception, the pointer moves back.
pub struct Step {
    file: Arc<SharedFile>,
    /// Where the call begins, in etypes.
    pub offset: MPI_Offset,
    etypes: MPI_Offset,
    etype: u64,
}

impl Step {
    /// Moves the pointer on by `bytes`. None if the pointer is MPI's.
    pub fn take(file: &Arc<SharedFile>, bytes: u64) -> Option<Self> {
        let Advance { offset, etypes, etype } = file.pointer().advance(bytes)?;
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
            self.file.pointer().go_back(self.etypes);
        }
    }
}
