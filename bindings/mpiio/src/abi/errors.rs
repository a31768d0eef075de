//! What an error is called in MPI: its class. (A code of our own would carry words, but MPICH 4.0 mixes up the words of
//! codes that are added to its own classes.)

use std::ffi::c_int;

use tributary::Error;
use tributary::error::IoClass;

/// Classes of errors, in the order of `trib_error_classes` in constants.c.
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
}

unsafe extern "C" {
    static trib_error_classes: [c_int; 12];
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
            Error::Argument { what, .. } => match what.as_str() {
                "count" => Self::Count,
                "datatype" => Self::Type,
                _ => Self::Argument,
            },
            Error::Hint { .. } => Self::InfoValue,
            Error::Codec { .. } | Error::Fabric(_) | Error::Internal { .. } => Self::Other,
        }
    }

    /// The number that this MPI library has for it.
    pub fn number(self) -> c_int {
        // SAFETY: a constant of constants.c, with as many entries as there are classes.
        unsafe { trib_error_classes[self as usize] }
    }
}
