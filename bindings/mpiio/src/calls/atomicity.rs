//! MPI_File_set_atomicity: in atomic mode the MPI library runs every call.

use std::ffi::c_int;

use tributary::engine::CallKind;

use super::between::between;
use crate::abi::SUCCESS;
use crate::abi::word::Word;
use crate::abi::word::from_word;
use crate::entry::Answer;
use crate::files;
use crate::next::InterposedFunction;
use crate::open_file::OpenFile;
use crate::unopened::CallOfUnopened;

/// Handles MPI_File_set_atomicity: passes the call to MPI, and records the mode if MPI succeeds. The calls of the two modes
/// are run by two libraries, so the ranks agree before and after the change if the engine has opened the file.
pub fn set_atomicity(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, flag] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    // SAFETY: the argument is an int.
    let is_atomic = unsafe { from_word::<c_int>(flag) } != 0;
    let known = shared.clone();
    let record = move |file: &mut OpenFile| {
        file.is_atomic = is_atomic;
        known.sieving.iter().for_each(|sieving| sieving.set_atomic(is_atomic));
        if let Some(own) = &file.own {
            own.set_atomic(is_atomic);
        }
    };
    let unopened = Some(CallOfUnopened::SetAtomicity);
    match between(&shared, CallKind::SetAtomicity, unopened, (function, arguments), record.clone()) {
        Some(Ok(())) => Answer::code(SUCCESS),
        Some(Err(answer)) => answer,
        None => Answer::call(function, arguments, move |code| {
            if code as c_int == SUCCESS {
                record(&mut shared.lock());
            }
            Answer::Return(code)
        }),
    }
}
