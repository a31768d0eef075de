//! MPI_File_set_errhandler: records whether the program asks for the codes of errors.

use std::ffi::c_int;

use tributary_abi::{MPI_Errhandler, handles};

use crate::abi::SUCCESS;
use crate::abi::word::Word;
use crate::entry::Answer;
use crate::failures;
use crate::files;
use crate::next::InterposedFunction;

/// Handles MPI_File_set_errhandler: MPI sets the handler, and this library records whether it is MPI_ERRORS_RETURN. Local.
pub fn set_errhandler(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [file, handler] = *arguments else { return Answer::Pass };
    Answer::call(function, arguments, move |code| {
        if code as c_int == SUCCESS {
            let returns = MPI_Errhandler::from_word(handler) == handles().errors_return;
            match files::find(file) {
                Some(shared) => shared.counts().failures.set_returning(returns),
                None if file == handles().file_null.0 => failures::set_default(returns),
                None => {}
            }
        }
        Answer::Return(code)
    })
}
