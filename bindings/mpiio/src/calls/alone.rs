//! Handles independent blocking reads and writes: through this library's own handle of the file, if it has one (NFS),
//! otherwise by MPI.

use super::collective::{CallArguments, Ending, Form};
use crate::abi::SUCCESS;
use crate::abi::status;
use crate::abi::word::Word;
use crate::entry::Answer;
use crate::files;
use crate::view::View;

/// Runs an independent call of the form `form` through the own handle. Returns None if MPI must run the call, as it does if
/// the call does not block; then nothing has happened. Local.
pub fn run(form: Form, arguments: &[Word]) -> Option<Answer> {
    if form.ending != Ending::Now {
        return None;
    }
    let handle = *arguments.first()?;
    let shared = files::find(handle)?;
    let own = shared.own.clone().filter(|own| own.is_used())?;
    let call = CallArguments::parse(form, arguments)?;
    let (_, view) = shared.pointer().own()?;
    shared.wait_for_writes(|| None);
    // A step that is dropped moves the file pointer back.
    let (access, step) = call.access(&View::Engine(view), &shared);
    let access = access.ok().filter(|access| access.bytes() > 0)?;
    // SAFETY: the program's buffer is valid for its count and datatype, and nothing else uses it during the call.
    let moved = unsafe { own.transfer(form.direction, &access) }?;
    shared.counts().ran_alone();
    Some(match moved {
        Ok(bytes) => {
            // SAFETY: the status of the program's call.
            unsafe { status::set(call.result as *mut _, bytes) };
            // ROMIO's pointer stops at the end of the file.
            step.into_iter().for_each(|step| step.keep_part(bytes));
            Answer::code(SUCCESS)
        }
        Err(error) => {
            // SAFETY: as above.
            unsafe { status::set(call.result as *mut _, 0) };
            Answer::Raise { file: handle, error, speaks: true }
        }
    })
}
