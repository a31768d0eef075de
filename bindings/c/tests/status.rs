//! Tests cases that no C program can cause: every class of error has its code, and no panic leaves a function.

use std::ffi::CStr;

use tributary::Error;
use tributary::error::{FileOperation, IoCause, IoClass};
use tributary_c::hints::trib_check_hints;
use tributary_c::status::trib_status::{self, *};
use tributary_c::status::{guarded, trib_error_string, trib_last_error_message};

fn last() -> String {
    // SAFETY: the text belongs to this thread and is copied before the next call.
    unsafe { CStr::from_ptr(trib_last_error_message()) }.to_string_lossy().into_owned()
}

fn io(class: IoClass) -> Error {
    let (operation, path) = (FileOperation::Write, "file".to_string());
    let cause = IoCause::from_text(format!("{class:?}"));
    Error::Io { rank: 3, operation, path, offset: Some(7), class, cause }
}

#[test]
fn every_error_has_a_code_and_its_words() {
    let codec = Error::codec(1, "cut");
    let internal = Error::internal(0, "no");
    let cases: [(Error, trib_status); 14] = [
        (Error::argument("count", -1, "0 or more"), TRIB_ERR_ARGUMENT),
        (Error::hint("cb_nodes", "many", "a number"), TRIB_ERR_HINT),
        (io(IoClass::NoSpace), TRIB_ERR_NO_SPACE),
        (io(IoClass::Quota), TRIB_ERR_QUOTA),
        (io(IoClass::TooLarge), TRIB_ERR_TOO_LARGE),
        (io(IoClass::ReadOnly), TRIB_ERR_READ_ONLY),
        (io(IoClass::Access), TRIB_ERR_ACCESS),
        (io(IoClass::NoSuchFile), TRIB_ERR_NO_SUCH_FILE),
        (io(IoClass::BadFile), TRIB_ERR_BAD_FILE),
        (io(IoClass::Other), TRIB_ERR_IO),
        (Error::fabric("gone"), TRIB_ERR_FABRIC),
        (Error::NoMemory { rank: 0, bytes: 7, what: "windows".to_string() }, TRIB_ERR_NO_MEMORY),
        (codec, TRIB_ERR_INTERNAL),
        (internal, TRIB_ERR_INTERNAL),
    ];
    let mut words = std::collections::BTreeSet::new();
    for (error, code) in cases {
        assert_eq!(guarded(|| Err(error.clone())), code);
        assert_eq!(last(), error.to_string());
        assert_eq!(guarded(|| Ok(())), TRIB_OK);
        assert_eq!(last(), error.to_string(), "the last error stays");
        // SAFETY: a text of the program.
        words.insert(unsafe { CStr::from_ptr(trib_error_string(code as i32)) });
    }
    assert_eq!(words.len(), 13, "a text for each code");
}

#[test]
fn a_panic_is_an_internal_error() {
    assert_eq!(guarded(|| panic!("on purpose, {}", 7)), TRIB_ERR_INTERNAL);
    assert!(last().contains("panic: on purpose, 7"), "{}", last());
    assert_eq!(guarded(|| std::panic::panic_any(5)), TRIB_ERR_INTERNAL);
    assert!(last().contains("no message"), "{}", last());
}

#[test]
fn each_thread_has_its_last_error() {
    guarded(|| Err(Error::fabric("of one thread")));
    std::thread::spawn(|| assert_eq!(last(), "")).join().unwrap();
    assert_eq!(last(), "communication failed: of one thread");
    guarded(|| Err(Error::fabric("with a \0 in it")));
    assert_eq!(last(), "communication failed: with a \\0 in it");
}

#[test]
fn hints_are_checked_before_a_file_is_opened() {
    for (text, due, says) in [
        (c"cb_nodes=2; romio_cb_alltoall=disable; nc_header_align_size=4", TRIB_OK, ""),
        (c"cb_node=2", TRIB_ERR_HINT, "hint cb_node does not exist; did you mean cb_nodes?"),
        (c"cb_nodes=many", TRIB_ERR_HINT, "hint cb_nodes: `many` is not allowed"),
        (c"cb_nodes", TRIB_ERR_ARGUMENT, "hints: cb_nodes; allowed: key=value"),
        (c"cb_nodes=\xff", TRIB_ERR_ARGUMENT, "allowed: UTF-8 text"),
    ] {
        // SAFETY: the text ends with 0.
        assert_eq!(unsafe { trib_check_hints(text.as_ptr()) }, due, "{text:?}");
        assert!(due == TRIB_OK || last().contains(says), "{}", last());
    }
    // SAFETY: NULL is an error.
    assert_eq!(unsafe { trib_check_hints(std::ptr::null()) }, TRIB_ERR_ARGUMENT);
}
