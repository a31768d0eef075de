//! The MPI error class of an error. (A code of our own could have a message, but MPICH 4.0 mixes up the messages of codes
//! that are added to its classes.)

use std::ffi::c_int;
use std::path::Path;

use tributary::Error;
use tributary::error::{About, IoClass};
use tributary_abi::{MPI_Error_class, constants};

use super::SUCCESS;

/// Classes of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// MPI_ERR_NO_SPACE.
    NoSpace,
    /// MPI_ERR_QUOTA.
    Quota,
    /// MPI_ERR_READ_ONLY.
    ReadOnly,
    /// MPI_ERR_ACCESS.
    Access,
    /// MPI_ERR_NO_SUCH_FILE.
    NoSuchFile,
    /// MPI_ERR_BAD_FILE.
    BadFile,
    /// MPI_ERR_IO.
    Io,
    /// MPI_ERR_COUNT.
    Count,
    /// MPI_ERR_TYPE.
    Type,
    /// MPI_ERR_ARG.
    Argument,
    /// MPI_ERR_INFO_VALUE.
    InfoValue,
    /// MPI_ERR_OTHER.
    Other,
    /// MPI_ERR_NO_MEM.
    NoMemory,
}

/// The result of a call on the file at `path` on this rank, in a form that ranks can agree on.
///
/// # Errors
/// The call's.
pub fn io_outcome(call: &str, code: c_int, rank: usize, path: &Path) -> Result<(), Error> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::Io {
        rank,
        operation: call.to_string(),
        path: path.display().to_string(),
        offset: 0,
        class: Class::io(code),
        cause: format!("the MPI library returned {code}"),
    })
}

impl Class {
    /// The class of an error; the same on every rank that has the same error.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Io { class, .. } => match class {
                IoClass::NoSpace => Self::NoSpace,
                IoClass::Quota => Self::Quota,
                IoClass::ReadOnly => Self::ReadOnly,
                IoClass::Access => Self::Access,
                IoClass::NoSuchFile => Self::NoSuchFile,
                IoClass::BadFile => Self::BadFile,
                IoClass::TooLarge | IoClass::Other => Self::Io,
            },
            Error::Argument { about, .. } => match about {
                About::Count => Self::Count,
                About::Datatype => Self::Type,
                _ => Self::Argument,
            },
            Error::Hint { .. } => Self::InfoValue,
            Error::NoMemory { .. } => Self::NoMemory,
            Error::Refused { .. } | Error::Codec { .. } | Error::Fabric(_) | Error::Internal { .. } => Self::Other,
        }
    }

    /// The class of an I/O error code of the MPI library; [`IoClass::Other`] if there is no such class here.
    fn io(code: c_int) -> IoClass {
        let mut class = code;
        // SAFETY: a code of MPI's; writes one int.
        unsafe { MPI_Error_class(code, &mut class) };
        let known = [
            (Self::NoSpace, IoClass::NoSpace),
            (Self::Quota, IoClass::Quota),
            (Self::ReadOnly, IoClass::ReadOnly),
            (Self::Access, IoClass::Access),
            (Self::NoSuchFile, IoClass::NoSuchFile),
            (Self::BadFile, IoClass::BadFile),
        ];
        known.into_iter().find(|(own, _)| own.number() == class).map_or(IoClass::Other, |(_, io)| io)
    }

    /// Its number in this MPI library.
    pub fn number(self) -> c_int {
        let all = constants();
        match self {
            Self::NoSpace => all.err_no_space,
            Self::Quota => all.err_quota,
            Self::ReadOnly => all.err_read_only,
            Self::Access => all.err_access,
            Self::NoSuchFile => all.err_no_such_file,
            Self::BadFile => all.err_bad_file,
            Self::Io => all.err_io,
            Self::Count => all.err_count,
            Self::Type => all.err_type,
            Self::Argument => all.err_arg,
            Self::InfoValue => all.err_info_value,
            Self::Other => all.err_other,
            Self::NoMemory => all.err_no_mem,
        }
    }
}
