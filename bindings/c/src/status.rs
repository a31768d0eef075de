//! Error codes, their descriptions, and the guard around every function.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use tributary::error::IoClass;
use tributary::{Error, Result};
use tributary_bindings::guard::caught;

/// Result of a function. Collective functions return the same on every rank.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum trib_status {
    /// No error.
    TRIB_OK = 0,
    /// An argument is not allowed.
    TRIB_ERR_ARGUMENT = 1,
    /// A hint has a bad value, or an unknown key begins with trib_.
    TRIB_ERR_HINT = 2,
    /// The file system is full (ENOSPC).
    TRIB_ERR_NO_SPACE = 3,
    /// The quota is used up (EDQUOT).
    TRIB_ERR_QUOTA = 4,
    /// The file would exceed the size limit of a process or of the file system (EFBIG).
    TRIB_ERR_TOO_LARGE = 5,
    /// The file system is mounted read-only, or the file was opened for reading only.
    TRIB_ERR_READ_ONLY = 6,
    /// Permission denied.
    TRIB_ERR_ACCESS = 7,
    /// There is no such file or directory.
    TRIB_ERR_NO_SUCH_FILE = 8,
    /// The path is not a regular file, or not one that can be used as asked (a directory, for example).
    TRIB_ERR_BAD_FILE = 9,
    /// An operating-system call on the file returned another error.
    TRIB_ERR_IO = 10,
    /// MPI returned an error. Other ranks may not know of it. The file can only be closed.
    TRIB_ERR_FABRIC = 11,
    /// Tributary has a defect. Other ranks may not know of this error. Please report it.
    TRIB_ERR_INTERNAL = 12,
    /// A rank could not allocate the memory for its part of the call.
    TRIB_ERR_NO_MEMORY = 13,
}

use trib_status::*;

/// Every status and its description, in the order of the codes.
const DESCRIPTIONS: [(trib_status, &CStr); 14] = [
    (TRIB_OK, c"no error"),
    (TRIB_ERR_ARGUMENT, c"bad argument"),
    (TRIB_ERR_HINT, c"bad hint"),
    (TRIB_ERR_NO_SPACE, c"no space left on the file system"),
    (TRIB_ERR_QUOTA, c"quota exceeded"),
    (TRIB_ERR_TOO_LARGE, c"file too large"),
    (TRIB_ERR_READ_ONLY, c"file or file system is for reading only"),
    (TRIB_ERR_ACCESS, c"permission denied"),
    (TRIB_ERR_NO_SUCH_FILE, c"no such file or directory"),
    (TRIB_ERR_BAD_FILE, c"not a file that can be used so"),
    (TRIB_ERR_IO, c"input/output error"),
    (TRIB_ERR_FABRIC, c"error of MPI"),
    (TRIB_ERR_INTERNAL, c"internal error of Tributary"),
    (TRIB_ERR_NO_MEMORY, c"no memory"),
];

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Describes a status in a few words. `code` may be any number. Not collective. The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn trib_error_string(code: c_int) -> *const c_char {
    let known = DESCRIPTIONS.iter().find(|(status, _)| *status as c_int == code);
    known.map_or(c"not a status of Tributary", |(_, description)| description).as_ptr()
}

/// Describes the error of the last function that failed on this thread. The sentence names the argument or file, its
/// value and what is allowed; it is empty if no function has failed. Not collective. The text lives until the next
/// function fails on this thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn trib_last_error_message() -> *const c_char {
    // A thread that is ending may have destroyed its text already.
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, such as "0.1.0". Not collective. The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn trib_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Runs the body of a function. An error becomes a code and the thread's last error message; a panic becomes an internal
/// error.
pub fn guarded(body: impl FnOnce() -> Result<()>) -> trib_status {
    match caught(body) {
        Ok(()) => TRIB_OK,
        Err(error) => {
            let text = error.to_string().replace('\0', "\\0");
            let _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
            code(&error)
        }
    }
}

fn code(error: &Error) -> trib_status {
    match error {
        Error::Argument { .. } | Error::State { .. } | Error::CallsDiffer { .. } | Error::Refused { .. } => {
            TRIB_ERR_ARGUMENT
        }
        Error::Hint { .. } | Error::UnknownHint { .. } => TRIB_ERR_HINT,
        Error::Fabric { .. } => TRIB_ERR_FABRIC,
        Error::NoMemory { .. } => TRIB_ERR_NO_MEMORY,
        Error::Codec { .. } | Error::Internal { .. } => TRIB_ERR_INTERNAL,
        Error::Io { class, .. } => match class {
            IoClass::NoSpace => TRIB_ERR_NO_SPACE,
            IoClass::Quota => TRIB_ERR_QUOTA,
            IoClass::TooLarge => TRIB_ERR_TOO_LARGE,
            IoClass::ReadOnly => TRIB_ERR_READ_ONLY,
            IoClass::Access => TRIB_ERR_ACCESS,
            IoClass::NoSuchFile => TRIB_ERR_NO_SUCH_FILE,
            IoClass::BadFile => TRIB_ERR_BAD_FILE,
            IoClass::UsedUp | IoClass::Other => TRIB_ERR_IO,
        },
    }
}
