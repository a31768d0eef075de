//! The MPI error class of an error. (A code of our own could have a message, but MPICH 4.0 mixes up the messages of codes
//! that are added to its classes.)

use std::ffi::c_int;
use std::path::Path;

use tributary::Error;
use tributary::error::{About, IoClass};
use tributary_abi::{MPI_Error_class, constants};

use super::SUCCESS;

/// Returns the result of a call on the file at `path` on this rank, in a form that ranks can agree on.
///
/// # Errors
/// The error of the call, if `code` is not success.
pub fn io_outcome(call: &str, code: c_int, rank: usize, path: &Path) -> Result<(), Error> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::Io {
        rank,
        operation: call.to_string(),
        path: path.display().to_string(),
        offset: None,
        class: io_class(code),
        cause: format!("the MPI library returned {code}"),
    })
}

/// Returns the class of an error; the same on every rank that has the same error.
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
        Error::Hint { .. } | Error::UnknownHint { .. } => all.err_info_value,
        Error::NoMemory { .. } => all.err_no_mem,
        Error::Refused { .. } | Error::Codec { .. } | Error::Fabric(_) | Error::Internal { .. } => all.err_other,
    }
}

/// Returns the class of an I/O error code of the MPI library; [`IoClass::Other`] if there is no such class here.
fn io_class(code: c_int) -> IoClass {
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
