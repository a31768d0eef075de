//! Calls the program's error handler of a file. A C++ exception may leave the handler, so no lock is held and no
//! panic is caught around the call. [`returning`] makes MPI return errors instead.

use std::ffi::c_int;

use tributary_abi::{function_name, handles};

use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::interposition;
use crate::mpi::next::InterposedFunction;

/// Raises an error of an open file and returns the code. Calls the file's error handler, which may not return, unless
/// Open MPI calls the handler when the component returns the code.
pub fn raise(file: Word, code: c_int) -> Word {
    if interposition::is_component() { to_word(code) } else { raise_now(file, code) }
}

/// Calls the error handler of an open file, which may not return, and returns the code.
pub fn raise_now(file: Word, code: c_int) -> Word {
    static CALL_ERRHANDLER: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_call_errhandler"));
    CALL_ERRHANDLER.call(&[file, to_word(code)]);
    to_word(code)
}

/// Runs a call of MPI on a file such that MPI returns errors and does not call the program's error handler. Local,
/// except for what `call` does.
pub fn returning<T>(file: Word, call: impl FnOnce() -> T) -> T {
    static GET: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_get_errhandler"));
    static SET: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_set_errhandler"));
    static FREE: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Errhandler_free"));
    // Functions of Open MPI's components call no error handler.
    if interposition::is_component() {
        return call();
    }
    let mut program: Word = 0;
    let place = (&raw mut program) as Word;
    let returns = handles().errors_return.as_word();
    if GET.call(&[file, place]) as c_int != SUCCESS || program == returns {
        return call();
    }
    SET.call(&[file, returns]);
    let result = call();
    SET.call(&[file, program]);
    FREE.call(&[place]);
    result
}
