//! Defines the error codes of GIO: numbers and names of GIO's header, and descriptions. Guards every function that can
//! fail: turns an error into its code, and lets no panic into C.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

use tributary::error::{About, IoClass};
use tributary::{Error, Result};
use tributary_bindings::guard::caught;

use crate::MPI_Offset;

/// Defines codes by rows: the name without its prefix, the number and the description.
macro_rules! codes {
    ($($name:ident $number:literal $description:literal;)+) => {
        $(#[doc = concat!("`GIO_", stringify!($name), "`: ", $description, ".")] pub const $name: c_int = $number;)+

        /// Every code, its name and its description, which end with 0.
        const CODES: &[(c_int, &str, &str)] =
            &[$(($name, concat!("GIO_", stringify!($name), "\0"), concat!($description, "\0"))),+];
    };
}

codes! {
    NOERR                     0 "no error";
    EEXIST                  -35 "the file exists already";
    EINVAL                  -36 "invalid argument";
    EPERM                   -37 "write to a file opened for reading only";
    ENOMEM                  -61 "out of memory";
    EACCESS                 -77 "permission denied";
    EFILE                  -204 "an operation on the file failed";
    ENEGATIVECNT           -210 "a count below 0";
    ENOENT                 -220 "no such file";
    EINTOVERFLOW           -221 "a number does not fit in a 4-byte integer";
    ENOTENABLED            -222 "not enabled in this build";
    EBAD_FILE              -223 "bad file name";
    ENO_SPACE              -224 "no space left on the device";
    EQUOTA                 -225 "quota exceeded";
    EFSTYPE                -241 "bad type of file system";
    EMULTIDEFINE_AMODE     -251 "the ranks gave different access modes";
    EMULTIDEFINE_FNC_ARGS  -269 "the ranks gave different arguments to a collective function";
    EMULTIDEFINE_HINTS     -274 "the ranks gave different hints";
    EFILEVIEW              -275 "offsets in the file do not ascend, or overlap";
}

/// Returns the GIO code of an error. Ranks with the same error get the same code.
pub fn of(error: &Error) -> c_int {
    match error {
        Error::Argument { about, .. } | Error::State { about, .. } => match about {
            About::Path => EBAD_FILE,
            About::AccessMode => EMULTIDEFINE_AMODE,
            About::FileSize | About::Terms => EMULTIDEFINE_FNC_ARGS,
            About::ListOrder => EFILEVIEW,
            About::ListLength => ENEGATIVECNT,
            About::Count | About::Datatype | About::Other => EINVAL,
        },
        Error::CallsDiffer { .. } => EMULTIDEFINE_FNC_ARGS,
        Error::Hint { .. } | Error::UnknownHint { .. } | Error::Refused { .. } => EINVAL,
        Error::Io { class, cause, .. } => cause.errno().and_then(of_system).unwrap_or_else(|| of_class(*class)),
        Error::NoMemory { .. } => ENOMEM,
        Error::Codec { .. } | Error::Fabric { .. } | Error::Internal { .. } => EFILE,
    }
}

fn of_system(errno: c_int) -> Option<c_int> {
    match errno {
        libc::EEXIST => Some(EEXIST),
        libc::ENOENT => Some(ENOENT),
        libc::ENOTDIR | libc::EISDIR | libc::ENAMETOOLONG => Some(EBAD_FILE),
        libc::ENOMEM => Some(ENOMEM),
        libc::EINVAL => Some(EFILE),
        _ => None,
    }
}

fn of_class(class: IoClass) -> c_int {
    match class {
        IoClass::NoSpace => ENO_SPACE,
        IoClass::Quota => EQUOTA,
        IoClass::ReadOnly => EPERM,
        IoClass::Access => EACCESS,
        IoClass::NoSuchFile => ENOENT,
        IoClass::BadFile => EBAD_FILE,
        IoClass::TooLarge | IoClass::UsedUp | IoClass::Other => EFILE,
    }
}

/// Runs the body of a function that returns a code.
pub(crate) fn status(function: &str, body: impl FnOnce() -> Result<()>) -> c_int {
    moved(function, || body().map(|()| 0)) as c_int
}

/// Runs the body of a function that returns a number of bytes, or a code.
pub(crate) fn moved(function: &str, body: impl FnOnce() -> Result<u64>) -> MPI_Offset {
    match caught(body) {
        Ok(bytes) => bytes as MPI_Offset,
        Err(error) => {
            let code = of(&error);
            // These codes have many causes, so the message is printed. Callers expect all other codes, or report them themselves.
            let too_little = matches!(code, EINVAL | EFILE | EFILEVIEW | ENEGATIVECNT);
            if too_little || matches!(error, Error::CallsDiffer { .. }) {
                tributary::say(format_args!("{function}: {error}"));
            }
            MPI_Offset::from(code)
        }
    }
}

/// Returns the version of GIO's interface, with the name and version of this library. The text lives as long as the
/// program.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_libvers() -> *const c_char {
    const VERSION: &str = concat!("1.0.0 of Tributary ", env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Describes a code or, above 0, an error number of the operating system. The text lives as long as the program, except
/// for a number that is neither: until this thread's next such call.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_strerror(code: c_int) -> *const c_char {
    if code > 0 {
        return of_number(&std::io::Error::from_raw_os_error(code).to_string());
    }
    let known = CODES.iter().find(|(number, ..)| *number == code);
    known.map_or_else(
        || of_number(&format!("{code} is no error code of GIO")),
        |(_, _, description)| description.as_ptr().cast(),
    )
}

/// Returns the name of a code. The text lives as long as the text of [`GIO_strerror`].
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_strerrno(code: c_int) -> *const c_char {
    if code > 0 {
        return of_number(&format!("system error {code} ({})", std::io::Error::from_raw_os_error(code)));
    }
    let known = CODES.iter().find(|(number, ..)| *number == code);
    known.map_or_else(|| of_number(&format!("unknown code {code}")), |(_, name, _)| name.as_ptr().cast())
}

/// Would return the memory in use, as GIO does if it was configured for debugging. Always returns GIO_ENOTENABLED and does
/// not change `size`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_malloc_size(_size: *mut MPI_Offset) -> c_int {
    ENOTENABLED
}

/// Would return the peak of memory in use. Always returns GIO_ENOTENABLED and does not change `size`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_malloc_max_size(_size: *mut MPI_Offset) -> c_int {
    ENOTENABLED
}

/// Would print the allocations that are not freed yet. Always returns GIO_ENOTENABLED.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GIO_inq_malloc_list() -> c_int {
    ENOTENABLED
}

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
}

/// Keeps a text about an unknown number until this thread's next such call, and returns its address.
fn of_number(text: &str) -> *const c_char {
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending may have destroyed its text already.
    let kept = TEXT.try_with(|kept| {
        *kept.borrow_mut() = text;
        kept.borrow().as_ptr()
    });
    kept.unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::path::Path;

    use super::*;
    use tributary::error::FileOperation;

    #[test]
    fn system_errors_have_the_codes_that_gio_gives_them() {
        let of_errno = |errno| {
            of(&Error::io(0, FileOperation::Open, Path::new("f"), None, &std::io::Error::from_raw_os_error(errno)))
        };
        let pairs = [
            (libc::EACCES, EACCESS),
            (libc::ENOSPC, ENO_SPACE),
            (libc::EDQUOT, EQUOTA),
            (libc::ENOENT, ENOENT),
            (libc::EEXIST, EEXIST),
            (libc::ENAMETOOLONG, EBAD_FILE),
            (libc::ENOTDIR, EBAD_FILE),
            (libc::EISDIR, EBAD_FILE),
            (libc::EIO, EFILE),
            (libc::EFBIG, EFILE),
        ];
        for (errno, code) in pairs {
            assert_eq!(of_errno(errno), code, "errno {errno}");
        }
    }

    #[test]
    fn every_code_has_a_name_and_a_description() {
        // SAFETY: texts that end with 0, used at once.
        let text = |at| unsafe { CStr::from_ptr(at) }.to_str().unwrap().to_string();
        assert_eq!(text(GIO_strerrno(EFILEVIEW)), "GIO_EFILEVIEW");
        assert_eq!(text(GIO_strerror(NOERR)), "no error");
        assert!(text(GIO_strerror(libc::ENOENT)).contains("No such file"));
        assert!(text(GIO_strerror(-1)).contains("-1"));
        assert!(text(GIO_strerrno(-1)).contains("-1"));
        assert!(text(GIO_inq_libvers()).starts_with("1.0.0 of Tributary"));
    }
}
