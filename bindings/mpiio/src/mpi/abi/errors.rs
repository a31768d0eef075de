//! Translates errors of the engine to MPI error classes and back. (No code of our own is added to a class, because
//! MPICH 4.0 mixes up the messages of added codes.)

use std::ffi::c_int;
use std::path::Path;

use tributary::Error;
use tributary::error::{About, FileOperation, IoCause, IoClass};
use tributary_abi::{MPI_Error_class, constants};

use crate::mpi::abi::SUCCESS;

/// Turns the return code of MPI function `call` on the file at `path` into a result that ranks can agree on. `rank`
/// is this rank.
///
/// # Errors
/// The error of the call, if `code` is not success.
pub fn io_outcome(call: &str, code: c_int, rank: usize, path: &Path) -> Result<(), Error> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::Io {
        rank,
        operation: FileOperation::mpi(call),
        path: path.display().to_string(),
        offset: None,
        class: io_class(code),
        cause: IoCause::from_text(format!("the MPI library returned {code}")),
    })
}

/// Returns the MPI error class of an error. Ranks with the same error get the same class.
pub fn class(error: &Error) -> c_int {
    let all = constants();
    match error {
        Error::Io { class, .. } => match class {
            IoClass::NoSpace => all.err_no_space,
            IoClass::Quota => all.err_quota,
            IoClass::ReadOnly => all.err_read_only,
            IoClass::Access => all.err_access,
            IoClass::NoSuchFile => all.err_no_such_file,
            IoClass::BadFile => all.err_bad_file,
            IoClass::TooLarge | IoClass::UsedUp | IoClass::Other => all.err_io,
        },
        Error::Argument { about, .. } | Error::State { about, .. } => match about {
            About::Count => all.err_count,
            About::Datatype => all.err_type,
            _ => all.err_arg,
        },
        Error::CallsDiffer { .. } => all.err_arg,
        Error::Hint { .. } | Error::UnknownHint { .. } => all.err_info_value,
        Error::NoMemory { .. } => all.err_no_mem,
        Error::Refused { .. } | Error::Codec { .. } | Error::Fabric { .. } | Error::Internal { .. } => all.err_other,
    }
}

/// Returns true if an MPI error code says that there is no such file.
pub fn is_no_such_file(code: c_int) -> bool {
    code != SUCCESS && io_class(code) == IoClass::NoSuchFile
}

/// Returns the class of an MPI error code; [`IoClass::Other`] if the class is not one of file I/O.
fn io_class(code: c_int) -> IoClass {
    // A code of Open MPI's own, which its components return, and which MPI_Error_class does not take.
    if code < 0 {
        return IoClass::Other;
    }
    let mut class = code;
    // SAFETY: a code of MPI's; writes one int.
    unsafe { MPI_Error_class(code, &mut class) };
    let all = constants();
    match class {
        c if c == all.err_no_space => IoClass::NoSpace,
        c if c == all.err_quota => IoClass::Quota,
        c if c == all.err_read_only => IoClass::ReadOnly,
        c if c == all.err_access => IoClass::Access,
        c if c == all.err_no_such_file => IoClass::NoSuchFile,
        c if c == all.err_bad_file => IoClass::BadFile,
        _ => IoClass::Other,
    }
}
