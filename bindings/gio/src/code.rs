//! Error codes: numbers and names of GIO's header, and their descriptions.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use tributary::Error;
use tributary::error::{About, IoClass};

/// No error.
pub const NOERR: c_int = 0;
/// The file exists already.
pub const EEXIST: c_int = -35;
/// A bad argument.
pub const EINVAL: c_int = -36;
/// A write to a file that was opened for reading only.
pub const EPERM: c_int = -37;
/// Out of memory.
pub const ENOMEM: c_int = -61;
/// Permission denied.
pub const EACCESS: c_int = -77;
/// Any other error of an operation on the file.
pub const EFILE: c_int = -204;
/// A negative count.
pub const ENEGATIVECNT: c_int = -210;
/// No such file.
pub const ENOENT: c_int = -220;
/// A number that does not fit in 4 bytes.
pub const EINTOVERFLOW: c_int = -221;
/// A feature that is not in this build.
pub const ENOTENABLED: c_int = -222;
/// A bad file name.
pub const EBAD_FILE: c_int = -223;
/// No space on the device.
pub const ENO_SPACE: c_int = -224;
/// The quota is used up.
pub const EQUOTA: c_int = -225;
/// A bad type of file system.
pub const EFSTYPE: c_int = -241;
/// Ranks gave different access modes.
pub const EMULTIDEFINE_AMODE: c_int = -251;
/// Ranks gave different arguments.
pub const EMULTIDEFINE_FNC_ARGS: c_int = -269;
/// Ranks gave different hints.
pub const EMULTIDEFINE_HINTS: c_int = -274;
/// Offsets in the file do not ascend.
pub const EFILEVIEW: c_int = -275;

/// Every code, its name and its description.
const CODES: [(c_int, &CStr, &CStr); 19] = [
    (NOERR, c"GIO_NOERR", c"no error"),
    (EEXIST, c"GIO_EEXIST", c"the file exists already"),
    (EINVAL, c"GIO_EINVAL", c"invalid argument"),
    (EPERM, c"GIO_EPERM", c"write to a file opened for reading only"),
    (ENOMEM, c"GIO_ENOMEM", c"out of memory"),
    (EACCESS, c"GIO_EACCESS", c"permission denied"),
    (EFILE, c"GIO_EFILE", c"an operation on the file failed"),
    (ENEGATIVECNT, c"GIO_ENEGATIVECNT", c"a count below 0"),
    (ENOENT, c"GIO_ENOENT", c"no such file"),
    (EINTOVERFLOW, c"GIO_EINTOVERFLOW", c"a number does not fit in a 4-byte integer"),
    (ENOTENABLED, c"GIO_ENOTENABLED", c"not enabled in this build"),
    (EBAD_FILE, c"GIO_EBAD_FILE", c"bad file name"),
    (ENO_SPACE, c"GIO_ENO_SPACE", c"no space left on the device"),
    (EQUOTA, c"GIO_EQUOTA", c"quota exceeded"),
    (EFSTYPE, c"GIO_EFSTYPE", c"bad type of file system"),
    (EMULTIDEFINE_AMODE, c"GIO_EMULTIDEFINE_AMODE", c"the ranks gave different access modes"),
    (
        EMULTIDEFINE_FNC_ARGS,
        c"GIO_EMULTIDEFINE_FNC_ARGS",
        c"the ranks gave different arguments to a collective function",
    ),
    (EMULTIDEFINE_HINTS, c"GIO_EMULTIDEFINE_HINTS", c"the ranks gave different hints"),
    (EFILEVIEW, c"GIO_EFILEVIEW", c"offsets in the file do not ascend, or overlap"),
];

/// The code of an error; the same on every rank that has the same error.
pub fn of(error: &Error) -> c_int {
    match error {
        Error::Argument { about, .. } => match about {
            About::Path => EBAD_FILE,
            About::AccessMode => EMULTIDEFINE_AMODE,
            About::FileSize | About::Terms => EMULTIDEFINE_FNC_ARGS,
            About::ListOrder => EFILEVIEW,
            About::ListLength => ENEGATIVECNT,
            About::Count | About::Datatype | About::DeviceMemory | About::Other => EINVAL,
        },
        Error::Hint { .. } | Error::Refused { .. } => EINVAL,
        Error::Io { class, cause, .. } => errno(cause).and_then(of_system).unwrap_or_else(|| of_class(*class)),
        Error::NoMemory { .. } => ENOMEM,
        Error::Codec { .. } | Error::Fabric(_) | Error::Internal { .. } => EFILE,
    }
}

/// The operating system's error number, which ends its message.
fn errno(cause: &str) -> Option<c_int> {
    cause.strip_suffix(')')?.rsplit_once("(os error ")?.1.parse().ok()
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
        IoClass::TooLarge | IoClass::Other => EFILE,
    }
}

/// The version of GIO's interface, with the name and version of this library. The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn GIO_inq_libvers() -> *const c_char {
    const VERSION: &str = concat!("1.0.0 of Tributary ", env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Describes a code or, above 0, an error number of the operating system. The text lives as long as the program, except
/// for a number that is neither: until this thread's next such call.
#[unsafe(no_mangle)]
pub extern "C" fn GIO_strerror(code: c_int) -> *const c_char {
    if code > 0 {
        return of_number(&std::io::Error::from_raw_os_error(code).to_string());
    }
    let known = CODES.iter().find(|(number, ..)| *number == code);
    known.map_or_else(|| of_number(&format!("{code} is no error code of GIO")), |(_, _, words)| words.as_ptr())
}

/// The name of a code. The text lives as that of [`GIO_strerror`].
#[unsafe(no_mangle)]
pub extern "C" fn GIO_strerrno(code: c_int) -> *const c_char {
    if code > 0 {
        return of_number(&format!("system error {code} ({})", std::io::Error::from_raw_os_error(code)));
    }
    let known = CODES.iter().find(|(number, ..)| *number == code);
    known.map_or_else(|| of_number(&format!("unknown code {code}")), |(_, name, _)| name.as_ptr())
}

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
}

/// Keeps a text that was made for a number.
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
    use std::path::Path;

    use super::*;

    #[test]
    fn system_errors_have_the_codes_that_gio_gives_them() {
        let of_errno = |errno| of(&Error::io(0, "open", Path::new("f"), 0, &std::io::Error::from_raw_os_error(errno)));
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
    fn every_code_has_a_name_and_words() {
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
