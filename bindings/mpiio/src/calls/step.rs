//! Advances this library's individual file pointer for one call, and moves it back if the call fails.

use std::ffi::c_int;
use std::sync::Arc;

use crate::entry::Answer;
use crate::file::arguments::CallArguments;
use crate::file::files::SharedFile;
use crate::mpi::abi::word::Word;
use crate::mpi::abi::{MPI_Offset, SUCCESS};

/// The movement of the individual file pointer for one call. The pointer moves at once, so that two threads that call
/// at the same time get different bytes. Unless the step is [kept](Step::keep), dropping it moves the pointer back,
/// also after an exception.
pub struct Step {
    file: Arc<SharedFile>,
    /// Position of the file pointer at which the call begins, in etypes.
    pub offset: MPI_Offset,
    etypes: MPI_Offset,
    etype: u64,
}

impl Step {
    /// Advances the pointer of `file` by the bytes of a call, unless the call has an explicit offset. Returns None also if MPI
    /// keeps the pointer.
    pub fn of(call: &CallArguments, file: &Arc<SharedFile>) -> Option<Self> {
        if call.offset.is_none() { Self::take(file, call.asked()) } else { None }
    }

    /// Advances the pointer of `file` by `bytes` bytes. Returns None if MPI keeps the pointer.
    pub fn take(file: &Arc<SharedFile>, bytes: u64) -> Option<Self> {
        let (offset, etypes, etype) = file.pointer().advance(bytes)?;
        Some(Self { file: file.clone(), offset, etypes, etype })
    }

    /// Commits the advance of the pointer, after the call has moved its bytes or has begun to.
    pub fn keep(mut self) {
        self.etypes = 0;
    }

    /// Keeps the step if MPI's return code is success. Returns the answer to the program.
    pub fn kept_if(self, code: Word) -> Answer {
        if code as c_int == SUCCESS {
            self.keep();
        }
        Answer::Return(code)
    }

    /// Commits the advance over the first `bytes` bytes of the call, and moves the pointer back over the rest.
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
